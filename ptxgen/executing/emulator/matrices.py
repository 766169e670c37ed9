"""Products of small matrices, as mma and wmma form them, of all types but the floats of an sm_90.

Integer products are exact. f64 is a chain of fused multiply-adds in the order of k, in the direction that the opcode
names. Of the floats of newer targets, whose order and rounding the manual leaves open and no GPU has shown, the
products are exact, summed up in float64 in the order of k after the third matrix, and rounded to nearest once.
"""

from __future__ import annotations

import numpy as np

from ptxgen.executing.emulator import floats, rounding, smallfloats
from ptxgen.executing.emulator.rounding import FORMATS
from ptxgen.executing.emulator.values import BITS, Array


def numbers(elements: Array, type_name: str, *, central: bool = False) -> Array:
    """float64 (or int64) values of unsigned elements. `central`: four bits lie in the middle of eight."""
    if type_name in smallfloats.SMALL:
        return smallfloats.decode(elements >> 2 if central and type_name == "e2m1" else elements, type_name)
    if type_name == "tf32":
        return rounding.widen((elements & np.uint32(0xFFFFE000)).astype(np.uint32), FORMATS["f32"])
    if type_name in FORMATS:
        fmt = FORMATS[type_name]
        return rounding.widen(elements.astype(fmt.word, copy=False), fmt)
    value = elements.astype(np.int64)
    if type_name.startswith("s"):
        top = 1 << BITS[type_name] - 1
        value = ((value & 2 * top - 1) ^ top) - top
    return value


def element_bits(type_name: str, *, container: bool = False) -> int:
    """Bits that one element takes of its register; in a container every small float takes eight."""
    return 8 if container and type_name in smallfloats.SMALL else BITS[type_name]


def multiply(a: Array, b: Array, c: Array, places: Array | None = None) -> Array:
    """a @ b + c over (warps, rows, columns) of float64 or int64, in the order of k; `places`: of a sparse matrix."""
    if places is not None:
        a = expand(a, places)
    if a.dtype.kind == "i":
        return _whole(a, b) + c
    total = c.astype(a.dtype)
    for k in range(a.shape[2]):
        total = total + a[:, :, k, None] * b[:, None, k, :]
    return total


def multiply_doubles(a: Array, b: Array, c: Array, mode: str) -> Array:
    """The same over words of f64, one fused multiply-add after the other."""
    total = np.ascontiguousarray(c)
    shape = total.shape
    fma = floats.chosen_nan(lambda x, y, z: rounding.fma(x, y, z, FORMATS["f64"], mode))
    for k in range(a.shape[2]):
        left = np.broadcast_to(a[:, :, k, None], shape).reshape(-1)
        right = np.broadcast_to(b[:, None, k, :], shape).reshape(-1)
        total = fma(left, right, total.reshape(-1)).reshape(shape)
    return total


def _whole(a: Array, b: Array) -> Array:
    """a @ b of small int64 numbers; of float64 NumPy makes it many times faster, and sums below 2^53 are exact."""
    return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)


def multiply_bits(a: Array, b: Array, c: Array, operation: str) -> Array:
    """Set bits of `a and b` or `a xor b`, row by column, added to `c`; int64 matrices of bits."""
    both = _whole(a, b)
    if operation == "and":
        return both + c
    return a.sum(axis=2)[:, :, None] + b.sum(axis=1)[:, None, :] - 2 * both + c


def words(total: Array, type_name: str, *, saturate: bool = False) -> Array:
    """Words of the sums in the result's type."""
    if type_name == "s32":
        if saturate:
            total = np.clip(total, -(2**31), 2**31 - 1)
        return total.astype(np.uint32)
    return rounding.narrow(total + 0.0, FORMATS[type_name], "rn")


def places(metadata: Array, type_name: str, half: int, selector: int, *, container: bool) -> Array:
    """The columns of the `half` elements of each row that a sparse matrix holds, (warps, 16, half).

    `metadata` is the register of each lane, (warps, 32). Every four bits place the elements of one chunk of columns:
    two of four, for tf32 one of two, for 4-bit types two pairs of eight (unless they lie in a `container` of 8 bits).
    `selector` says which lanes of each four take part. Of types of 16 and 32 bits, a lane's lower half holds four
    chunks of row lane/4, its upper half those of the row eight below. Of narrower ones a lane holds eight chunks,
    even lanes of one row, odd ones of the other.
    """
    pair = 2 if BITS[type_name] == 4 and not container else 1
    kept = 1 if type_name == "tf32" else 2
    chunks = half // (kept * pair)
    found = np.zeros((metadata.shape[0], 16, half), np.intp)
    for chunk in range(chunks):
        codes = _codes(metadata, chunk, chunks, selector, narrow=BITS[type_name] <= 8)
        for number in range(kept):
            place = codes >> 2 * number & 3
            if kept == 1:
                place = place >> 1
            for element in range(pair):
                found[:, :, (chunk * kept + number) * pair + element] = (
                    (chunk * 2 * kept + place) * pair + element
                )
    return found


def expand(packed: Array, columns: Array) -> Array:
    """The sparse matrix (warps, 16, k) whose other elements are zero; `packed` and its `columns` are half as wide."""
    warps, rows, half = packed.shape
    matrix = np.zeros((warps, rows, 2 * half), packed.dtype)
    np.put_along_axis(matrix, columns, packed, axis=2)
    return matrix


def _codes(metadata: Array, chunk: int, chunks: int, selector: int, *, narrow: bool) -> Array:
    """Four bits of metadata for each of the 16 rows, (warps, 16)."""
    four = np.arange(8) * 4
    if narrow:
        first = four + selector * 2 + chunk // 8 * 2
        both = [metadata[:, first + below] >> np.uint32(chunk % 8 * 4) for below in (0, 1)]
    else:
        words = metadata[:, four + selector * -(-chunks // 4) + chunk // 4] >> np.uint32(chunk % 4 * 4)
        both = [words, words >> np.uint32(16)]
    return np.concatenate(both, axis=1).astype(np.intp) & 15
