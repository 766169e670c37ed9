"""Records what an executor gives for every vector, and reads such records back."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.vectors.kernels import BLOCK, Vector

Bytes = npt.NDArray[np.uint8]
_INDEX = "index.json"


@dataclass(frozen=True)
class Record:
    """Outputs of the vectors of one instruction: bytes [rows, bytes a thread stores] by the vector's name."""

    made_on: str                                     # device and driver
    inputs: Mapping[str, str]                        # hash of kernel and columns, by name
    outputs: Mapping[str, Bytes]


def fingerprint(vector: Vector) -> str:
    """Of the kernel's text, the words it reads and its launch: a record is of no use for another kernel."""
    digest = hashlib.sha256(vector.ptx.encode())
    if vector.block != BLOCK or vector.seen != "out" or vector.unordered:
        digest.update(f"{vector.block} {vector.seen} {vector.unordered}".encode())
    if vector.launch is not None:
        digest.update(f"{vector.launch}".encode())
    for words in (*vector.columns, *vector.cells):
        digest.update(words.tobytes())
    return digest.hexdigest()[:16]


def write_record(folder: Path, name: str, made_on: str, found: Sequence[tuple[Vector, Bytes]]) -> Path:
    """`NAME.zip`: an index and one array a vector, compressed with LZMA; the same bytes for the same record."""
    outputs = [(vector.name, fingerprint(vector), output) for vector, output in found]
    return write_outputs(folder / f"{name}.zip", made_on, outputs)


def write_outputs(path: Path, made_on: str, outputs: Sequence[tuple[str, str, Bytes]]) -> Path:
    """A record of outputs by names and fingerprints."""
    path.parent.mkdir(parents=True, exist_ok=True)
    index = {"made_on": made_on, "vectors": [[name, mark] for name, mark, _ in outputs]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(_entry(_INDEX), json.dumps(index, indent=0), zipfile.ZIP_LZMA)
        for number, (_, _, output) in enumerate(outputs):
            buffer = io.BytesIO()
            # Column by column: bytes of one kind side by side compress better.
            np.save(buffer, np.asfortranarray(output), allow_pickle=False)
            archive.writestr(_entry(f"{number}.npy"), buffer.getvalue(), zipfile.ZIP_LZMA)
    return path


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))


def read_record(path: Path) -> Record:
    """Raises ValueError for what is no record."""
    try:
        with zipfile.ZipFile(path) as archive:
            index = json.loads(archive.read(_INDEX))
            named = index["vectors"]
            outputs = {
                name: np.ascontiguousarray(np.load(io.BytesIO(archive.read(f"{number}.npy")), allow_pickle=False))
                for number, (name, _) in enumerate(named)
            }
            return Record(index["made_on"], dict(named), outputs)
    except (OSError, EOFError, KeyError, TypeError, ValueError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is no record of vectors: {error}") from None


def records(folder: Path) -> Iterator[tuple[str, Record]]:
    """Instruction and record, by name."""
    for path in sorted(folder.glob("*.zip")):
        yield path.stem, read_record(path)
