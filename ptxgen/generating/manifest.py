"""The manifest: all that is needed to make a kernel again, and what became of every candidate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

from ptxgen.errors import UsageError
from ptxgen.generating.candidates import Candidate, Generation, Recipe
from ptxgen.generating.environment import environment
from ptxgen.generating.options import Options, check_options
from ptxgen.generating.output import manifest_path
from ptxgen.spec import Spec
from ptxgen.verifying import Failure

SCHEMA = 1


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """One candidate as `generate --json` and the manifest tell it."""
    verdict = candidate.verdict
    return {
        "index": candidate.index,
        "status": candidate.status,
        "trouble": candidate.trouble,
        "repairs": candidate.recipe.parent,
        "seed": candidate.recipe.seed,
        "temperature": candidate.recipe.temperature,
        "turn": candidate.recipe.turn,
        "complete": candidate.complete,
        "tokens": candidate.tokens,
        "forced_tokens": candidate.forced_tokens,
        "statements": candidate.statements,
        "decode_seconds": round(candidate.decode_seconds, 4),
        "mask_seconds": round(candidate.mask_seconds, 4),
        "judge_seconds": round(candidate.judge_seconds, 4),
        "ptxas": [
            {
                "arch": assembly.arch,
                "ok": assembly.ok,
                "registers": assembly.registers,
                "spill_bytes": assembly.spill_bytes,
                "messages": [
                    {"line": message.line, "severity": message.severity, "text": message.text}
                    for message in assembly.messages
                ],
            }
            for assembly in candidate.assemblies
        ],
        "verify": None
        if verdict is None
        else {
            "executor": verdict.executor,
            "examples": verdict.examples,
            "ok": verdict.ok,
            "failures": [failure_json(failure) for failure in verdict.failures],
        },
    }


def failure_json(failure: Failure) -> dict[str, Any]:
    """A failure with numbers as JSON can hold them: infinities and NaN as their names."""
    return {
        "check": failure.check,
        "sizes": {name: int(size) for name, size in failure.sizes.items()},
        "output": failure.output,
        "index": _plain(failure.index),
        "expected": _plain(failure.expected),
        "actual": _plain(failure.actual),
        "message": failure.message,
    }


def generation_json(generation: Generation, out: Path, manifest: Path) -> dict[str, Any]:
    """The document of `generate --json`."""
    return {
        "schema_version": SCHEMA,
        "status": generation.status,
        "ptx": str(out),
        "manifest": str(manifest),
        "kernel": generation.kernel,
        "level": generation.options.level,
        "seed": generation.options.seed,
        "model": _model_json(generation),
        "best": generation.best.index if generation.best else None,
        "tokens": generation.tokens,
        "prompt_tokens": generation.prompt_tokens,
        "prompt_seconds": round(generation.prompt_seconds, 3),
        "seconds": round(generation.seconds, 3),
        "candidates": [candidate_json(candidate) for candidate in generation.candidates],
    }


def build_manifest(generation: Generation, spec: Spec, out: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Everything of `generation_json`, and what a replay needs: `recipe` is that of the kernel written."""
    options, best = generation.options, generation.best
    return {
        **generation_json(generation, out, manifest_path(out)),
        "arguments": list(arguments),
        "ptx_sha256": text_hash(best.ptx) if best else "",
        "spec": {"path": str(Path(spec.path).resolve()), "sha256": text_hash(spec.text)},
        "prompt_sha256": generation.prompt_sha256,
        "arch": list(options.arch),
        "executor": generation.executor,
        "ptxas": list(generation.ptxas),
        "sampling": {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "candidates": options.candidates,
            "repair": options.repair,
            "max_tokens": options.max_tokens,
            "threads": options.threads,
        },
        "recipe": asdict(best.recipe) if best else None,
        "environment": environment(),
    }


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a replay reads of a manifest."""

    path: Path
    status: str
    ptx: Path
    ptx_sha256: str
    spec: Path
    spec_sha256: str
    prompt_sha256: str
    model_name: str
    model_path: str
    model_sha256: str
    options: Options
    recipe: Recipe
    environment: dict[str, str]


def read_manifest(path: Path) -> Manifest:
    """Raises UsageError for a file that is missing, no manifest, or of a run that wrote nothing whole."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError("this is no manifest", where=str(path), why="it is no regular file")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError("cannot read the manifest", where=str(path), why=error.strerror or "") from error
    except (ValueError, RecursionError) as error:
        raise UsageError("this is no manifest", where=str(path), why=f"not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA or "recipe" not in data:
        raise UsageError(
            "this is no manifest that this version knows",
            where=str(path),
            fix="give the file NAME.manifest.json that generate wrote beside NAME.ptx",
        )
    if data["recipe"] is None or data.get("status") == "unfinished":
        raise UsageError(
            "nothing to make again: that run was interrupted", where=str(path), fix="run generate again"
        )
    try:
        return _manifest(path, _typed(data))
    except (KeyError, TypeError, UsageError) as error:
        why = error.what if isinstance(error, UsageError) else f"wrong or missing: {error}"
        raise UsageError(
            "the manifest is damaged", where=str(path), why=why, fix="restore it, or run generate again"
        ) from error


#: the types of what a replay reads, by the words that lead there
_TYPES: dict[str, type | tuple[type, ...]] = {
    "status": str, "ptx": str, "ptx_sha256": str, "prompt_sha256": str, "level": str, "seed": int, "arch": list,
    "spec path": str, "spec sha256": str, "model name": str, "model path": str, "model sha256": str,
    "sampling temperature": (int, float), "sampling top_p": (int, float), "sampling candidates": int,
    "sampling repair": int, "sampling max_tokens": int, "sampling threads": int, "recipe index": int,
    "recipe seed": int, "recipe temperature": (int, float), "recipe turn": (int, NoneType),
    "recipe parent": (int, NoneType), "recipe parent_ptx": str, "recipe report": str, "environment": dict,
}  # fmt: skip


def _typed(data: dict[str, Any]) -> dict[str, Any]:
    """The manifest again. Raises KeyError for what is missing of it, TypeError for what is of another type."""
    for words, wanted in _TYPES.items():
        value: Any = data
        for word in words.split():
            value = value[word]
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise TypeError(f"`{words}` is {value!r:.40}")
    for text in (*data["arch"], *data["environment"].values()):
        if not isinstance(text, str):
            raise TypeError(f"{text!r:.40} is no text")
    if not data["arch"]:
        raise TypeError("`arch` is empty")
    return data


def _manifest(path: Path, data: dict[str, Any]) -> Manifest:
    sampling, recipe, model = data["sampling"], data["recipe"], data["model"]
    options = Options(
        model=model["path"] or model["name"],
        level=data["level"],
        temperature=sampling["temperature"],
        top_p=sampling["top_p"],
        seed=data["seed"],
        candidates=sampling["candidates"],
        repair=sampling["repair"],
        max_tokens=sampling["max_tokens"],
        arch=tuple(data["arch"]),
        threads=sampling["threads"],
    )
    check_options(options)
    check_options(replace(options, seed=recipe["seed"], temperature=recipe["temperature"]))
    return Manifest(
        path=path,
        status=data["status"],
        ptx=Path(data["ptx"]),
        ptx_sha256=data["ptx_sha256"],
        spec=Path(data["spec"]["path"]),
        spec_sha256=data["spec"]["sha256"],
        prompt_sha256=data["prompt_sha256"],
        model_name=model["name"],
        model_path=model["path"],
        model_sha256=model["sha256"],
        options=options,
        recipe=Recipe(**recipe),
        environment=dict(data["environment"]),
    )


def text_hash(text: str) -> str:
    """sha256 of the text's UTF-8 bytes, hex."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()


def _model_json(generation: Generation) -> dict[str, str] | None:
    return asdict(generation.model) if generation.model else None


def _plain(value: Any) -> Any:
    """A number, tuple or name as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
