"""Compiled texts on disk: one `.tar.xz` a compiler, whose first member says which compiler it was."""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[2] / "tests/ptx/compiled"
_ABOUT = "COMPILER"


@dataclass(frozen=True, slots=True)
class Compiled:
    """One module as a compiler wrote it. `name` is `source.target[.variant].ptx`."""

    compiler: str
    name: str
    text: str

    @property
    def source(self) -> str:
        return self.name.split(".")[0]

    @property
    def target(self) -> str:
        return self.name.split(".")[1]


def record(compiler: str, about: str, files: Iterable[Compiled], folder: Path = RECORDED) -> Path:
    """Writes the archive, byte for byte the same for the same texts."""
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        members = [(_ABOUT, about + "\n"), *sorted((f.name, f.text) for f in files)]
        for name, text in members:
            data = text.encode("utf-8")
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{compiler}.tar.xz"
    path.write_bytes(lzma.compress(inside.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    return path


def recorded(compiler: str, folder: Path = RECORDED) -> tuple[Compiled, ...]:
    """The archive's modules, by name."""
    return tuple(
        Compiled(compiler, name, text) for name, text in _members(folder / f"{compiler}.tar.xz") if name != _ABOUT
    )


def about(compiler: str, folder: Path = RECORDED) -> str:
    """Which compiler wrote the archive."""
    return dict(_members(folder / f"{compiler}.tar.xz"))[_ABOUT].strip()


def compilers(folder: Path = RECORDED) -> tuple[str, ...]:
    """Whose archives there are."""
    return tuple(sorted(path.name.removesuffix(".tar.xz") for path in folder.glob("*.tar.xz")))


def _members(path: Path) -> list[tuple[str, str]]:
    out = []
    with tarfile.open(path, mode="r:xz") as archive:
        for entry in archive:
            stream = archive.extractfile(entry)
            assert stream is not None, "an archive of the corpus holds plain files only"
            out.append((entry.name, stream.read().decode("utf-8")))
    return out
