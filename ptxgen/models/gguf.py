"""Reading a GGUF file's header, to refuse what is no model or only part of one before llama.cpp sees it.

Layout and type sizes follow the GGUF specification (github.com/ggml-org/ggml, docs/gguf.md) and ggml's
block formats. Versions 2 and 3, little endian.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from ptxgen.models.failures import ModelError

_MAGIC = b"GGUF"
#: (elements a block, bytes a block) by ggml type number; types not listed are not measured
_BLOCKS: dict[int, tuple[int, int]] = {
    # F32, F16
    0: (1, 4), 1: (1, 2),
    # Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1
    2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    # Q2_K to Q8_K
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    # IQ2_XXS, IQ2_XS, IQ3_XXS, IQ1_S, IQ4_NL, IQ3_S, IQ2_S, IQ4_XS, IQ1_M
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110),
    22: (256, 82), 23: (256, 136), 29: (256, 56),
    # I8, I16, I32, I64, F64, BF16
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
    # TQ1_0, TQ2_0, MXFP4
    34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
#: struct format of a metadata value by its type number; 8 is a string, 9 an array
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
#: no tensor or key has a name this long, and no file this many; a header that says so is damaged
_COUNT_LIMIT = 1 << 20
_NAME_LIMIT = 1 << 16

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """`metadata` holds the scalar and string keys (arrays are left out); sizes in bytes."""

    version: int
    tensors: int
    metadata: dict[str, Value]
    needed_bytes: int
    file_bytes: int

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))


class _Damaged(Exception):
    """The bytes cannot be a header."""


def read_header(path: Path) -> GgufHeader:
    """Read and check the header. Raises ModelError for anything llama.cpp could not load whole:
    no such file, another format, an unknown version, a damaged header, no tensors, missing data."""
    where = str(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
            if start != _MAGIC:
                raise ModelError(
                    "this file is no GGUF model",
                    where=where,
                    why="it is empty" if not start else f"it begins with {start!r}, not {_MAGIC!r}",
                    fix="name a .gguf file, or fetch the default one: ptxgen-local models fetch",
                )
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                header = _Reader(data).header()
    except FileNotFoundError:
        fix = "list the models that are there: ptxgen-local models"
        raise ModelError("the model file does not exist", where=where, fix=fix) from None
    except IsADirectoryError:
        raise ModelError("a folder was named where a model file is wanted", where=where) from None
    except PermissionError:
        raise ModelError("the model file may not be read", where=where, fix="mend its permissions") from None
    except (_Damaged, struct.error, UnicodeDecodeError) as error:
        why = str(error) or "its header is cut off"
        raise ModelError("this GGUF file is damaged", where=where, why=why, fix="fetch it again") from None
    if header.tensors == 0:
        raise ModelError("this GGUF file holds no weights", where=where, fix="name the whole model's file")
    if header.needed_bytes > header.file_bytes:
        raise ModelError(
            "this GGUF file is truncated",
            where=where,
            why=f"its tensors need {header.needed_bytes:,} bytes and it has {header.file_bytes:,}",
            fix="fetch it again; the download was cut off",
        )
    return header


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._size = len(data)
        self._at = 4

    def header(self) -> GgufHeader:
        version = self._scalar("I")
        if version not in (2, 3):
            raise _Damaged(f"its format version is {version}; 2 and 3 are known")
        tensors, keys = self._scalar("Q"), self._scalar("Q")
        if tensors > _COUNT_LIMIT or keys > _COUNT_LIMIT:
            raise _Damaged(f"it claims {tensors} tensors and {keys} keys")
        metadata: dict[str, Value] = {}
        for _ in range(keys):
            key = self._string(_NAME_LIMIT)
            value = self._value(self._scalar("I"))
            if value is not None:
                metadata[key] = value
        ends = [self._tensor_end() for _ in range(tensors)]
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise _Damaged("its alignment is no positive number")
        data_start = -(-self._at // alignment) * alignment
        return GgufHeader(version, tensors, metadata, data_start + max(ends, default=0), self._size)

    def _scalar(self, kind: str) -> int:
        size = struct.calcsize("<" + kind)
        self._require(size)
        value: int = struct.unpack_from("<" + kind, self._data, self._at)[0]
        self._at += size
        return value

    def _string(self, limit: int | None = None) -> str:
        length = self._scalar("Q")
        if limit is not None and length > limit:
            raise _Damaged(f"a name in its header is {length} bytes long")
        self._require(length)
        text = self._data[self._at : self._at + length].decode("utf-8", errors="replace")
        self._at += length
        return text

    def _value(self, kind: int) -> Value | None:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind not in _SCALARS:
            raise _Damaged(f"a key has the unknown type {kind}")
        return self._scalar(_SCALARS[kind])

    def _skip_array(self) -> None:
        kind, count = self._scalar("I"), self._scalar("Q")
        if kind in _SCALARS:
            size = struct.calcsize("<" + _SCALARS[kind]) * count
            self._require(size)
            self._at += size
        elif kind == _STRING:
            # A vocabulary is some hundred thousand strings: no more work for each than stepping over it.
            unpack, data, at, size = struct.Struct("<Q").unpack_from, self._data, self._at, self._size
            for _ in range(count):
                if at + 8 > size:
                    raise _Damaged("its header is cut off")
                at += 8 + unpack(data, at)[0]
            self._at = at
            self._require(0)
        else:
            raise _Damaged(f"a list has elements of the unknown type {kind}")

    def _tensor_end(self) -> int:
        """Offset of the tensor's last byte within the data section."""
        self._string(_NAME_LIMIT)
        dimensions = self._scalar("I")
        if not 1 <= dimensions <= 8:
            raise _Damaged(f"a tensor has {dimensions} dimensions")
        elements = 1
        for _ in range(dimensions):
            elements *= self._scalar("Q")
        kind, offset = self._scalar("I"), self._scalar("Q")
        block = _BLOCKS.get(kind)
        return offset + (elements // block[0] * block[1] if block else 0)

    def _require(self, size: int) -> None:
        if self._at + size > self._size:
            raise _Damaged("its header is cut off")
