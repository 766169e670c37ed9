"""printf writes numbers as C does."""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing.emulator import library

FLAGS = st.text("-+ #0", max_size=3)
WIDTH = st.one_of(st.just(""), st.integers(1, 12).map(str))
PRECISION = st.one_of(st.just(""), st.integers(0, 9).map(lambda digits: f".{digits}"))


def by_c(text: str, argument: Any) -> str:
    try:
        write = ctypes.CDLL(None).snprintf
    except (OSError, AttributeError, TypeError):
        pytest.skip("no C library to compare with")
    room = ctypes.create_string_buffer(400)
    write(room, ctypes.c_size_t(400), text.encode(), argument)
    return room.value.decode()


def by_emulator(text: str, argument: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    def memory(m: object, lane: int, address: int, size: int, what: str) -> bytes:
        return argument[address : address + size]

    monkeypatch.setattr(library, "_bytes", memory)
    return library._format(cast(Any, SimpleNamespace()), 0, text, 0)[0]


@settings(max_examples=300, deadline=None)
@given(FLAGS, WIDTH, PRECISION,
       st.sampled_from(["d", "i", "u", "x", "X", "o", "lld", "llu", "llx", "llo", "hd", "hhu"]),
       st.one_of(st.just(0), st.integers(0, 255), st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers(flags: str, width: str, precision: str, kind: str, value: int) -> None:
    text = f"<%{flags}{width}{precision}{kind}>"
    wide = kind.startswith("ll")
    word = value & (2**64 - 1 if wide else 2**32 - 1)
    with pytest.MonkeyPatch.context() as patch:
        mine = by_emulator(text, struct.pack("<Q" if wide else "<I", word), patch)
    assert mine == by_c(text, ctypes.c_uint64(word) if wide else ctypes.c_uint32(word))


@settings(max_examples=200, deadline=None)
@given(FLAGS, WIDTH, PRECISION, st.sampled_from("eEfFgG"), st.floats(-1e9, 1e9))
def test_floats(flags: str, width: str, precision: str, kind: str, value: float) -> None:
    text = f"<%{flags}{width}{precision}{kind}>"
    with pytest.MonkeyPatch.context() as patch:
        mine = by_emulator(text, struct.pack("<d", value), patch)
    assert mine == by_c(text, ctypes.c_double(value))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from("aA"), st.floats(allow_nan=False, allow_subnormal=False))
def test_hexadecimal_floats(kind: str, value: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mine = by_emulator(f"%{kind}", struct.pack("<d", value), patch)
    assert mine == by_c(f"%{kind}", ctypes.c_double(value))
