"""Where two executors may differ, and where they do.

Everything is the same to the bit but approximate instructions, whose errors the PTX manual bounds. A bound on a
type of its own is that of the manual and half a unit in the last place, because the emulator's result is rounded too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.vectors.kernels import Vector

Bytes = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]

#: Relative and absolute error: rcp and rsqrt, div, sqrt, ex2, lg2, sin, cos, tanh as the manual's sections have them.
#: Of rsqrt.f64 the manual says nothing; CUDA's own bound is one unit.
ALLOWED: dict[str, tuple[float, float]] = {
    "rcp": (2.0**-22, 2.0**-147), "sqrt": (2.0**-22, 0.0), "rsqrt": (2.0**-22, 0.0), "div": (2.0**-21, 2.0**-147),
    "ex2": (2.0**-21, 2.0**-147), "lg2": (2.0**-21, 2.0**-21), "sin": (0.0, 2.0**-14), "cos": (0.0, 2.0**-14),
    "tanh": (2.0**-10, 2.0**-10), "tanh.f16": (0.0, 2.0**-10.987 + 2.0**-12), "tanh.bf16": (0.0, 2.0**-8 + 2.0**-9),
    "ex2.f16": (2.0**-9.9 + 2.0**-11, 2.0**-24), "ex2.bf16": (2.0**-7 + 2.0**-8, 2.0**-133),
    "rsqrt.f64": (2.0**-52, 0.0), "rsqrt.ftz.f64": (2.0**-20, 0.0), "rcp.ftz.f64": (2.0**-20, 0.0),
}  # fmt: skip
#: Where the recording GPU and the manual differ, and the emulator follows the manual: names that begin so, and why.
DEVIATIONS: dict[str, str] = {
    f"{name}.u32.u32.u32.": "ptxas's replacement code takes unsigned 32-bit words for signed ones"
    for name in ("vadd", "vsub", "vshl", "vmad")
}
_APPROXIMATE = frozenset({"approx", "full"})
#: Beyond this angle the manual promises nothing of sin and cos.
_FARTHEST_ANGLE = 314.0


def is_exact(vector: Vector) -> bool:
    """Whether results must be the same to the bit."""
    return _APPROXIMATE.isdisjoint(vector.expansion.opcode.split("."))


def differences(vector: Vector, ours: Bytes, theirs: Bytes) -> npt.NDArray[np.intp]:
    """Rows on which two outputs [rows, bytes] differ by more than the instruction allows."""
    apart = (ours != theirs).any(axis=1)
    if not is_exact(vector) and apart.any():
        apart &= ~_near(vector, ours, theirs)
        if vector.expansion.name in {"sin", "cos"}:
            angle = vector.columns[0].astype(np.uint32).view(np.float32)
            apart &= ~(np.abs(angle) > _FARTHEST_ANGLE)
    return np.flatnonzero(apart)


def deviation(vector: Vector) -> str:
    """Why the recording GPU may differ on this vector; "" where it may not."""
    return next((cause for name, cause in DEVIATIONS.items() if vector.name.startswith(name)), "")


def explain(vector: Vector, row: int, ours: Bytes, theirs: Bytes) -> str:
    """One row that differs: its words, and both results."""
    words = " ".join(f"{int(words[row]):x}" for words in (*vector.columns, *vector.cells)[:6])
    return f"{words}: {_hex(ours[row], vector.result_bits)}, recorded {_hex(theirs[row], vector.result_bits)}"


def _hex(row: Bytes, bits: Sequence[int]) -> str:
    words, at = [], 0
    for width in bits:
        words.append(row[at : at + width // 8][::-1].tobytes().hex())
        at += width // 8
    return " ".join(words)


def _near(vector: Vector, ours: Bytes, theirs: Bytes) -> npt.NDArray[np.bool_]:
    """Both finite and no farther apart than allowed, or the same; each element of packed types on its own."""
    name, type_name = vector.expansion.name, vector.expansion.operands[0].type
    element = type_name.removesuffix("x2")
    flushed = f"{name}.ftz.{element}" if "ftz" in vector.expansion.opcode.split(".") else ""
    relative, absolute = ALLOWED.get(flushed) or ALLOWED.get(f"{name}.{element}") or ALLOWED[name]
    a, b = _values(ours, element), _values(theirs, element)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= absolute + relative * np.maximum(np.abs(a), np.abs(b))
        near &= np.isfinite(a) & np.isfinite(b)
    width = {"f64": 8, "f32": 4}.get(element, 2)
    same = (ours.reshape(len(ours), -1, width) == theirs.reshape(len(theirs), -1, width)).all(axis=2)
    return np.asarray((near | same).all(axis=1))


def _values(raw: Bytes, element: str) -> Doubles:
    """The elements of each row as numbers."""
    flat = np.ascontiguousarray(raw)
    if element == "bf16":
        return (flat.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return flat.view({"f64": np.float64, "f32": np.float32, "f16": np.float16}[element]).astype(np.float64)
