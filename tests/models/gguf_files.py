"""Small GGUF files, written by the layout in the format's specification."""

from __future__ import annotations

import struct


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def key(name: str, kind: int, value: bytes) -> bytes:
    return string(name) + struct.pack("<I", kind) + value


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    return string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def gguf(*, version: int = 3, keys: tuple[bytes, ...] = (), tensors: tuple[bytes, ...] = (), data: int = 0) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + b"\1" * data


KEYS = (
    key("general.architecture", 8, string("llama")),
    key("general.name", 8, string("tiny")),
    key("llama.context_length", 4, struct.pack("<I", 64)),
    key("rope", 6, struct.pack("<f", 0.5)),
    key("tokens", 9, struct.pack("<IQ", 8, 3) + string("a") + string("bc") + string("")),
    key("scores", 9, struct.pack("<IQ3f", 6, 3, 0.0, 1.0, 2.0)),
)
#: 64 f32 (256 bytes) and 512 elements of Q4_K (2 blocks of 144 bytes)
TENSORS = (tensor("norm", (64,), 0, 0), tensor("weights", (256, 2), 12, 256))
DATA = 256 + 288
WHOLE = gguf(keys=KEYS, tensors=TENSORS, data=DATA)
