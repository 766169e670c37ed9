"""From a file to a checked Spec, every refusal with file and line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from ptxgen.isa import load_table
from ptxgen.spec.lines import key_lines, line_of
from ptxgen.spec.model import Spec
from ptxgen.spec.problems import SpecError, Unfit, nearest
from ptxgen.spec.rules import check_rules
from ptxgen.spec.trial import check_trial_sizes

MAX_BYTES = 1_000_000


def load_spec(path: str | Path) -> Spec:
    """Read and check a spec. Raises SpecError."""
    return parse_spec(_read(Path(path)), Path(path))


def parse_spec(text: str, path: Path = Path("spec.toml")) -> Spec:
    """A Spec from its text; files that it names are looked for beside `path`. Raises SpecError."""
    values = _toml(text, path)
    lines = key_lines(text)
    try:
        spec = Spec.model_validate(values)
    except ValidationError as error:
        raise _refusal(error, lines, path) from None
    spec._path, spec._text, spec._lines = path, text, lines
    spec._expressions = check_rules(spec, load_table())
    check_trial_sizes(spec)
    return spec


def _read(path: Path) -> str:
    where = f"{path}:1"
    try:
        if path.is_dir():
            raise SpecError(f"{path} is a folder", where=where, fix="name the spec's file")
        if not path.exists():
            raise SpecError(f"there is no file {path}", where=where, fix="ptxgen-local init NAME writes one")
        if not path.is_file():
            raise SpecError(f"{path} is not a regular file", where=where, fix="name a text file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpecError(f"cannot read {path}", where=where, why=str(reason)) from None
    if len(data) > MAX_BYTES:
        raise SpecError(f"{path} is larger than {MAX_BYTES} bytes", where=where, fix="a spec is a page of text")
    if b"\0" in data:
        raise SpecError(
            f"{path} is a binary file",
            where=f"{path}:{data[: data.index(0)].count(10) + 1}",
            fix="a spec is TOML text",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(
            f"{path} is not UTF-8 text",
            where=f"{path}:{data[: error.start].count(10) + 1}",
            why=f"byte 0x{data[error.start]:02x} cannot stand there",
        ) from None
    if not text.strip():
        raise SpecError(f"{path} is empty", where=where, fix="ptxgen-local init NAME writes a spec to start from")
    return text


def _toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SpecError("the file is nested too deeply", where=f"{path}:1") from None
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = found[1] if found else str(text.count("\n") + 1) if "end of document" in str(error) else "1"
        raise SpecError("the file is not TOML", where=f"{path}:{line}", why=str(error)[:300]) from None


def _refusal(error: ValidationError, lines: dict[tuple[str | int, ...], int], path: Path) -> SpecError:
    """The first of pydantic's complaints in the file's order, in words about the file."""
    complaints = sorted(error.errors(include_url=False), key=lambda item: line_of(lines, item["loc"]))
    # An unknown key is often the reason why another one is missing, so it is told first.
    complaints.sort(key=lambda item: item["type"] != "extra_forbidden")
    first = complaints[0]
    location = first["loc"]
    what, fix = _words(first["type"], location, first["msg"], first.get("ctx", {}))
    more = f"{len(complaints) - 1} more problem(s) in this file" if len(complaints) > 1 else ""
    return SpecError(what, where=f"{path}:{line_of(lines, location)}", why=more, fix=fix)


def _words(kind: str, location: tuple[str | int, ...], message: str, context: dict[str, Any]) -> tuple[str, str]:
    key = _dotted(location)
    if kind == "extra_forbidden":
        where = f" in [{_dotted(location[:-1])}]" if len(location) > 1 else ""
        return f"unknown key `{str(location[-1])[:60]}`{where}", nearest(str(location[-1]), _keys(location[:-1]))
    if kind == "missing":
        return f"`{key}` is missing", "add it" if len(location) > 1 else f"add a table [{key}]"
    cause = context.get("error")
    if isinstance(cause, Unfit):
        return f"`{key}`: {cause.what}", cause.fix
    if kind == "model_type":
        return f"`{key}` must be a table", f"write [{key}]"
    return f"`{key}`: {message[0].lower()}{message[1:]}".replace("input should", "it should"), ""


def _dotted(location: tuple[str | int, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _keys(location: tuple[str | int, ...]) -> list[str]:
    """The keys that the table at `location` knows."""
    model: type[BaseModel] = Spec
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            inner = _model_in(model.model_fields[part].annotation)
            if inner is None:
                return []
            model = inner
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
