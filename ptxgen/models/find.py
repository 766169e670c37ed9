"""Finding models that are already on the machine: ours, Hugging Face's, LM Studio's, Ollama's."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ptxgen.models.catalogue import CATALOGUE, DEFAULT_MODEL, cache_folder
from ptxgen.models.failures import ModelError

#: Ollama's kind of layer that is the GGUF file itself
_OLLAMA_MODEL_LAYER = "application/vnd.ollama.image.model"
#: folders searched below each place; Hugging Face's files lie four deep
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model file on this machine. `name` is what `--model` takes; `origin` where it was found, in words."""

    name: str
    path: Path
    size: int                    # bytes
    origin: str


def chosen_model(name_or_path: str | None = None) -> tuple[str, str]:
    """Which model is meant, and who said so: the argument, PTXGEN_MODEL, the config file, or the default."""
    if name_or_path:
        return name_or_path, "--model"
    if named := os.environ.get("PTXGEN_MODEL"):
        return named, "PTXGEN_MODEL"
    if configured := configured_model():
        return configured, str(config_file())
    return DEFAULT_MODEL, "the default"


def find_model(name_or_path: str | None = None) -> Path:
    """The file for a path or a name, or for what `chosen_model` says.

    A name is one of the catalogue, the name of a found model, or a unique part of one. Raises ModelError
    where there is none, or several; whether the file is a whole model is not looked at here.
    """
    wanted, said_by = chosen_model(name_or_path)
    path = Path(wanted).expanduser()
    if path.is_file():
        return path.absolute()
    if wanted in CATALOGUE:
        return _catalogued(wanted, said_by)
    if path.exists() and ("/" in wanted or wanted[0] == "~" or not wanted.strip(".")):
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise ModelError(f"{kind} is no model", where=f"{said_by}: {path}", fix="name the .gguf file itself")
    if path.suffix == ".gguf" and len(path.parts) > 1:
        raise ModelError("the model file does not exist", where=f"{said_by}: {path}", fix="correct the path")
    return _by_name(wanted, said_by)


def known_models() -> list[FoundModel]:
    """Every GGUF file in the usual places, each file once, our own cache first."""
    seen: set[Path] = set()
    models: list[FoundModel] = []
    for model in _everywhere():
        real = model.path.resolve()
        if real not in seen:
            seen.add(real)
            models.append(model)
    return models


def config_file() -> Path:
    return Path(platformdirs.user_config_dir("ptxgen-local", appauthor=False), "config.toml")


def configured_model() -> str | None:
    """The key `model` of the config file, None where there is none. Raises ModelError for a broken file."""
    file = config_file()
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError("the config file cannot be read", where=str(file), why=str(error)) from error
    model = document.get("model")
    if model is not None and not isinstance(model, str):
        raise ModelError("`model` in the config file must be a string", where=str(file), fix='model = "qwen"')
    return model


def _catalogued(name: str, said_by: str) -> Path:
    model = CATALOGUE[name]
    path = cache_folder() / model.filename
    if path.is_file():
        return path
    raise ModelError(
        f"the model {name!r} ({said_by}) has not been fetched",
        where=str(path),
        fix=f"ptxgen-local models fetch {name}   ({model.size / 1e6:,.0f} MB), or name another with --model",
    )


def _by_name(wanted: str, said_by: str) -> Path:
    models = known_models()
    exact = [model for model in models if model.name == wanted]
    matching = exact or [model for model in models if wanted.lower() in model.name.lower()]
    if len(matching) == 1 or exact:
        return matching[0].path
    if matching:
        raise ModelError(
            f"several models match {wanted!r}",
            where=said_by,
            why=", ".join(model.name for model in matching[:5]),
            fix="name one of them in full",
        )
    names = [*CATALOGUE, "random", *(model.name for model in models)]
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.4)
    raise ModelError(
        f"no model {wanted!r} was found",
        where=said_by,
        why=f"nearest: {', '.join(close)}" if close else "",
        fix="list the models that are there: ptxgen-local models",
    )


def _everywhere() -> Iterator[FoundModel]:
    yield from _in_folder(cache_folder(), "ptxgen-local")
    yield from _in_folder(_hugging_face(), "Hugging Face")
    home = Path.home()
    for folder in (home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"):
        yield from _in_folder(folder, "LM Studio")
    for folder in _ollama_folders():
        yield from _ollama(folder)


def _in_folder(folder: Path, origin: str) -> Iterator[FoundModel]:
    for path in sorted(_walk(folder, _DEPTH)):
        try:
            yield FoundModel(path.stem, path, path.stat().st_size, origin)
        except OSError:
            continue  # a dangling link: Hugging Face's snapshots are links into its blobs


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.suffix == ".gguf" and not entry.is_dir():
            yield entry
        elif depth and entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry, depth - 1)


def _hugging_face() -> Path:
    if named := os.environ.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "huggingface" / "hub"


def _ollama_folders() -> Iterator[Path]:
    if named := os.environ.get("OLLAMA_MODELS"):
        yield Path(named).expanduser()
    yield Path.home() / ".ollama" / "models"
    yield Path("/usr/share/ollama/.ollama/models")


def _ollama(folder: Path) -> Iterator[FoundModel]:
    """Manifests are JSON at `manifests/HOST/OWNER/MODEL/TAG`; their model layer names a blob by digest."""
    manifests = folder / "manifests"
    try:
        files = sorted(path for path in manifests.glob("*/*/*/*") if path.is_file())
    except OSError:
        return
    for file in files:
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            layers = [layer for layer in document["layers"] if layer["mediaType"] == _OLLAMA_MODEL_LAYER]
            blob = folder / "blobs" / str(layers[0]["digest"]).replace(":", "-")
            size = blob.stat().st_size
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            continue  # another kind of manifest, or a model whose blob is gone
        yield FoundModel(f"{file.parent.name}:{file.name}", blob, size, "Ollama")
