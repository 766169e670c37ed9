"""What is no whole GGUF model is refused before llama.cpp sees it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.models import ModelError
from ptxgen.models.gguf import read_header

from .gguf_files import DATA, KEYS, TENSORS, WHOLE, gguf, key, string, tensor


@pytest.fixture
def put(tmp_path: Path) -> object:
    def write(data: bytes) -> Path:
        path = tmp_path / "model.gguf"
        path.write_bytes(data)
        return path

    return write


def test_a_whole_file_is_read(put: object) -> None:
    header = read_header(put(WHOLE))
    assert header.version == 3
    assert header.tensors == 2
    assert header.architecture == "llama"
    assert header.metadata["llama.context_length"] == 64
    assert header.metadata["rope"] == 0.5
    assert "tokens" not in header.metadata
    assert header.needed_bytes == header.file_bytes == len(WHOLE)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "no GGUF model"),
        (b"GG", "no GGUF model"),
        (b"PK\3\4 a zip file", "no GGUF model"),
        (b"\x7fELF" * 100, "no GGUF model"),
        (b"GGUF", "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "damaged"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**63), "damaged"),
        (gguf(keys=KEYS), "no weights"),
        (gguf(keys=(key("k", 77, b""),), tensors=TENSORS, data=DATA), "damaged"),
        (gguf(keys=(key("k", 9, struct.pack("<IQ", 9, 1)),), tensors=TENSORS, data=DATA), "damaged"),
        (gguf(keys=(key("k", 9, struct.pack("<IQ", 10, 2**61)),), tensors=TENSORS, data=DATA), "damaged"),
        (gguf(keys=(key("k", 9, struct.pack("<IQ", 8, 9) + string("x") * 2),)), "damaged"),
        (gguf(keys=(key("general.alignment", 4, struct.pack("<I", 0)),), tensors=TENSORS), "damaged"),
        (gguf(tensors=(tensor("t", (), 0, 0),)), "damaged"),
        (gguf(tensors=(tensor("t", (2**40, 2**40), 0, 0),)), "truncated"),
        (WHOLE[:-1], "truncated"),
        (WHOLE[:-DATA], "truncated"),
    ],
)
def test_what_is_no_whole_model_is_refused_in_words(put: object, data: bytes, complaint: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_header(put(data))
    assert complaint in caught.value.what
    assert caught.value.where.endswith("model.gguf")
    assert caught.value.exit_code == 2


def test_cut_anywhere_it_is_refused(put: object) -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(ModelError):
            read_header(put(WHOLE[:length]))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_ends_in_anything_but_words(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    damaged = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(4, len(WHOLE) - DATA - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(bytes(damaged))
    try:
        header = read_header(path)
    except ModelError:
        return
    assert header.needed_bytes <= header.file_bytes


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="folder"):
        read_header(tmp_path)


def test_an_unreadable_file_is_told(put: object, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(WHOLE)

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")  # root may read everything, so this is pretended

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelError, match="may not be read"):
        read_header(path)
