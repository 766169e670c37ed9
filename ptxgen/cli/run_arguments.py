"""The ARGs of `ptxgen-local run`: arrays from files or made here, aliases, scalars; and sizes and coordinates."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ptxgen.errors import UsageError
from ptxgen.executing import Alias, Argument, Buffer, Dim3, Launch, Scalar, Value, unwritten

#: The dtype of an array of each element type; NumPy has no bfloat16, so its words stand for it.
DTYPES: dict[str, str] = {
    "u8": "u1", "s8": "i1", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8",
    "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8",
}
FORMS = (
    "npy:FILE, zeros:DTYPE:COUNT, empty:DTYPE:COUNT, arange:DTYPE:COUNT, random:DTYPE:COUNT[:SEED], same:K, "
    "DTYPE:VALUE or bytes:HEX"
)
_MADE = ("zeros", "empty", "arange", "random")
_MOST_BYTES = 1 << 32
_MOST_HEADER = 1 << 16
_SIZE = re.compile(r"\s*\d{1,10}\s*", re.ASCII)


def parse_dim3(text: str, flag: str) -> Dim3:
    """`X`, `X,Y` or `X,Y,Z`. Raises UsageError."""
    parts = text.split(",")
    if len(parts) > 3 or not all(_SIZE.fullmatch(part) for part in parts):
        raise UsageError(f"{flag} {text!r} is no size", fix=f"give one to three numbers, such as {flag} 4,2")
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    return x, y, z


def parse_thread(text: str, launch: Launch) -> tuple[Dim3, Dim3]:
    """(block, thread) of `BLOCK,THREAD`, each `X`, `X.Y` or `X.Y.Z` from 0. Raises UsageError, also for threads that
    the launch does not have."""
    found: list[Dim3] = []
    for part in text.split(","):
        numbers = part.split(".")
        if len(numbers) > 3 or not all(_SIZE.fullmatch(number) for number in numbers):
            break
        x, y, z = (*(int(number) for number in numbers), 0, 0)[:3]
        found.append((x, y, z))
    if len(found) != 2 or text.count(",") != 1:
        raise UsageError(
            f"--trace {text!r} names no thread", fix="give block and thread, such as --trace 0,5 or --trace 1.0,3.2.0"
        )
    for what, place, extent in (("block", found[0], launch.grid), ("thread", found[1], launch.block)):
        if any(number >= most for number, most in zip(place, extent, strict=True)):
            last = ".".join(str(max(most - 1, 0)) for most in extent)
            raise UsageError(
                f"--trace {text!r}: there is no {what} {'.'.join(map(str, place))}",
                why=f"the last {what} of this launch is {last}",
            )
    block, thread = found
    return block, thread


def parse_argument(text: str, number: int) -> Argument:
    """One ARG of the command line, argument `number`. `empty` is a buffer that counts as unwritten, `bytes` a
    structure by value. Raises UsageError."""
    form, colon, rest = text.partition(":")
    where = f"--arg {text!r} (argument {number})"
    if not colon:
        raise UsageError(f"{where} has no form", fix=f"write {FORMS}")
    if form == "npy":
        return Buffer(read_array(rest, where))
    if form in _MADE:
        array = _made(form, rest, where, number)
        return unwritten(array.shape, array.dtype) if form == "empty" else Buffer(array)
    if form == "bytes":
        try:
            return Value(np.frombuffer(bytes.fromhex(rest), np.uint8))
        except ValueError:
            raise UsageError(f"{where}: {rest!r} is no row of bytes", fix="write bytes:0a000000ff") from None
    if form == "same":
        if not _SIZE.fullmatch(rest):
            raise UsageError(f"{where}: {rest!r} is no argument's number", fix="write same:0 for the first argument")
        return Alias(int(rest))
    if form not in DTYPES:
        raise UsageError(f"{where}: there is no type {form!r}", fix=f"write {FORMS}; types: {', '.join(DTYPES)}")
    try:
        value = float(rest) if "f" in form else int(rest, 0)
    except ValueError:
        raise UsageError(f"{where}: {rest!r} is no {form}") from None
    return Scalar(form, value)


def _made(form: str, rest: str, where: str, number: int) -> npt.NDArray[np.generic]:
    """An array made here. Random floats lie in [-1, 1), random integers anywhere in their type; without a seed the
    argument's number is one."""
    kind, _, more = rest.partition(":")
    count, colon, seed = more.partition(":")
    if kind not in DTYPES:
        raise UsageError(f"{where}: there is no type {kind!r}", fix=f"types: {', '.join(DTYPES)}")
    if not _SIZE.fullmatch(count):
        raise UsageError(f"{where}: {count!r} is no count", fix=f"write {form}:{kind}:1024")
    if colon and (form != "random" or not _SIZE.fullmatch(seed)):
        why = f"{seed!r} is no seed" if form == "random" else f"{form} takes no seed"
        raise UsageError(f"{where}: {why}", fix=f"write random:{kind}:1024:7")
    dtype = np.dtype(DTYPES[kind])
    size = int(count)
    if size * dtype.itemsize > _MOST_BYTES:
        raise _too_large(where)
    if form in ("zeros", "empty"):
        return np.zeros(size, dtype)
    with np.errstate(over="ignore"):
        if form == "arange":
            return _bfloat16(np.arange(size)) if kind == "bf16" else np.arange(size).astype(dtype)
        random = np.random.default_rng(int(seed) if colon else number)
        if "f" in kind:
            floats = random.uniform(-1, 1, size)
            return _bfloat16(floats) if kind == "bf16" else floats.astype(dtype)
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, size, dtype, endpoint=True)


def _too_large(where: str) -> UsageError:
    return UsageError(f"{where} is too large", why=f"a buffer holds at most {_MOST_BYTES >> 30} GiB")


def _bfloat16(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Words of the bfloat16 nearest to each value, ties to even."""
    words = values.astype(np.float32).view(np.uint32)
    return ((words + (words >> 16 & 1) + 0x7FFF) >> 16).astype(np.uint16)


def read_array(path: str, where: str) -> npt.NDArray[np.generic]:
    """The array of a .npy file in the machine's byte order. Raises UsageError."""
    try:
        if Path(path).stat().st_size > _MOST_BYTES + _MOST_HEADER:
            raise _too_large(where)
        array = np.load(path, allow_pickle=False)
    except MemoryError:
        # The header may name any size, whatever the file holds.
        raise _too_large(where) from None
    except OSError as error:
        raise UsageError(f"{where} cannot be read", why=error.strerror or str(error)) from None
    except (ValueError, EOFError) as error:
        raise UsageError(f"{where} is no .npy file of numbers", why=str(error).splitlines()[0]) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "uifb":
        raise UsageError(f"{where} holds no integers or floats", fix="save one array of numbers with numpy.save")
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))
