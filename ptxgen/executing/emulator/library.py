"""What device code calls in the driver's library: vprintf, malloc and free, and __assertfail."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.executing.emulator import access, heap
from ptxgen.executing.emulator.lanes import Lanes, count, lane_at
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import GENERIC_BIAS, Region, window_of
from ptxgen.executing.emulator.program import Run, Step
from ptxgen.executing.emulator.scope import VariableSymbol
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.stack import read_word, write_word
from ptxgen.executing.emulator.values import Array
from ptxgen.ptx.tree import Name, Operand

if TYPE_CHECKING:
    from ptxgen.executing.emulator.building import Builder

FUNCTIONS = frozenset({"vprintf", "__assertfail", "malloc", "free"})
_PIECE = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|z|j|t|L)?([diouxXeEfFgGaAcsp%])")
_LONGEST = 4096
#: Characters of `Outcome.printed`; a GPU keeps a megabyte.
_MOST_PRINTED = 1 << 24
_CUT = "\n… more was printed than is kept\n"
_Getter = Callable[[Machine, Lanes], Array]


def call(
    site: Site, name: str, returned: tuple[Operand, ...], given: tuple[Operand, ...], builder: Builder
) -> Step:
    """A call of one of these functions as a step."""
    getters = [_argument(site, operand, builder) for operand in given]
    wanted = {"vprintf": 2, "malloc": 1, "free": 1}.get(name, len(getters))
    if len(getters) != wanted:
        raise site.unsupported(f"{name} takes {wanted} arguments")
    if name == "free":
        return Step("plain", site.line, site.instruction.opcode, lambda m, lanes: heap.free(m, lanes, getters[0]))
    if name == "malloc":
        if not returned:
            raise site.unsupported("malloc gives an address")
        place, keep = builder.heap(), _result(site, returned[0], builder, 8)
        site.accesses.append(("global", 8, "write"))
        run: Run = lambda m, lanes: keep(m, lanes, heap.allocate(m, lanes, place, getters[0]))  # noqa: E731
        return Step("plain", site.line, site.instruction.opcode, run)
    if name == "vprintf":
        put = _result(site, returned[0], builder, 4) if returned else None
        return Step("plain", site.line, site.instruction.opcode, lambda m, lanes: _print(m, lanes, getters, put))
    return Step("plain", site.line, site.instruction.opcode, lambda m, lanes: _fail(m, lanes, getters))


def _argument(site: Site, operand: Operand, builder: Builder) -> _Getter:
    symbol = site.scope.find(operand.text) if isinstance(operand, Name) else None
    if not isinstance(symbol, VariableSymbol):
        return site.bits(operand, "b64")
    place, size = builder.place_of(symbol), symbol.size
    return lambda m, lanes: read_word(m, lanes, place, size)


def _result(site: Site, operand: Operand, builder: Builder, size: int) -> Callable[[Machine, Lanes, Array], None]:
    symbol = site.scope.find(operand.text) if isinstance(operand, Name) else None
    if not isinstance(symbol, VariableSymbol):
        return site.put(operand, f"b{size * 8}")
    place = builder.place_of(symbol)
    return lambda m, lanes, value: write_word(m, lanes, place, size, value)


def _find(m: Machine, lane: int, address: int) -> tuple[Region, int] | None:
    """The region that a generic address leads to, and the place in its bytes."""
    window = window_of(address)
    region = m.regions.get(window or "global")
    if region is None:
        return None
    inside = np.array([address - (GENERIC_BIAS[window] if window else 0)], np.int64)
    place = int(access.offsets(m, region, inside, np.array([lane]))[0])
    return (region, place) if 0 <= place < region.data.size else None


def _bytes(m: Machine, lane: int, address: int, size: int, what: str) -> bytes:
    found = _find(m, lane, address)
    if found is None:
        m.fault("out-of-bounds", f"vprintf reads {what} from where there is no memory", lane, address=address)
        return b""
    region, place = found
    return region.data[place : place + size].tobytes()


def _text(m: Machine, lane: int, address: int) -> str:
    return _bytes(m, lane, address, _LONGEST, "a string").split(b"\0")[0].decode("utf-8", "replace")


def _print(
    m: Machine, lanes: Lanes, getters: list[_Getter], put: Callable[[Machine, Lanes, Array], None] | None
) -> None:
    formats, buffers = (np.broadcast_to(get(m, lanes), (count(lanes),)) for get in getters)
    written = np.zeros(count(lanes), np.uint32)
    for number, (text, buffer) in enumerate(zip(formats, buffers, strict=True)):
        lane = lane_at(lanes, number)
        line, arguments = _format(m, lane, _text(m, lane, int(text)), int(buffer))
        _keep(m, line)
        written[number] = arguments
    if put is not None:
        put(m, lanes, written)


def _keep(m: Machine, line: str) -> None:
    """Add to what was printed, up to the most that is kept."""
    report = m.report
    if report.printed_size < _MOST_PRINTED:
        report.printed.append(line[: _MOST_PRINTED - report.printed_size])
        if report.printed_size + len(line) > _MOST_PRINTED:
            report.printed.append(_CUT)
    report.printed_size += len(line)


def _format(m: Machine, lane: int, text: str, buffer: int) -> tuple[str, int]:
    """The text with its arguments in place, and how many there were. They lie in `buffer`, aligned to their sizes."""
    where = 0
    arguments = 0

    def take(size: int) -> bytes:
        nonlocal where, arguments
        where = -(-where // size) * size
        found = _bytes(m, lane, buffer + where, size, "an argument").ljust(size, b"\0")
        where += size
        arguments += 1
        return found

    def star(given: str | None) -> str:
        number = struct.unpack("<i", take(4))[0] if given == "*" else int(given) if given else None
        return "" if number is None else str(max(-_LONGEST, min(number, _LONGEST)))

    def piece(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        wide, exactly = star(width), None if precision is None else star(precision)
        if exactly and int(exactly) < 0:
            exactly = None                          # as in C, a negative one counts as none
        head = f"%{flags}{wide}" + ("" if exactly is None else f".{exactly}")
        if kind in "eEfFgGaA":
            number = struct.unpack("<d", take(8))[0]
            return _hexadecimal(number, kind) if kind in "aA" else str((head + kind) % number)
        if kind == "s":
            return (head + "s") % _text(m, lane, struct.unpack("<Q", take(8))[0])
        if kind == "p":
            return (head + "s") % hex(struct.unpack("<Q", take(8))[0])
        size = 8 if length in {"l", "ll", "z", "j", "t"} else 4
        value = int.from_bytes(take(size), "little", signed=kind in "dic")
        if kind == "c":
            return (head + "c") % chr(value & 0xFF)
        bits = {"hh": 8, "h": 16}.get(length or "", size * 8)
        value &= (1 << bits) - 1
        if kind in "di" and value >> bits - 1:
            value -= 1 << bits
        return _integer(flags, int(wide or 0), None if exactly is None else int(exactly or 0), kind, value)

    return _PIECE.sub(piece, text), arguments


def _integer(flags: str, width: int, precision: int | None, kind: str, value: int) -> str:
    """A whole number as C writes it: no 0x before a zero, one 0 before octal digits."""
    digits = format(abs(value), kind if kind in "xXo" else "d")
    if precision is not None:
        digits = digits.zfill(precision) if precision or value else ""
    prefix = ""
    if kind in "di":
        prefix = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    elif "#" in flags and kind == "o" and not digits.startswith("0"):
        digits = "0" + digits
    elif "#" in flags and kind in "xX" and value:
        prefix = "0" + kind
    if width < 0 or "-" in flags:
        return (prefix + digits).ljust(abs(width))
    if "0" in flags and precision is None:
        digits = digits.zfill(width - len(prefix))
    return (prefix + digits).rjust(width)


def _hexadecimal(number: float, kind: str) -> str:
    """A float in hexadecimal, with no more digits than it has."""
    head, mark, power = number.hex().partition("p")
    if "." in head:
        head = head.rstrip("0").rstrip(".")
    text = head + mark + power
    return text.upper() if kind == "A" else text


def _fail(m: Machine, lanes: Lanes, getters: list[_Getter]) -> None:
    """A failed assertion stops the kernel as a trap does."""
    lane = lane_at(lanes, 0)
    words = [np.broadcast_to(get(m, lanes), (count(lanes),)) for get in getters]
    message = _text(m, lane, int(words[0][0])) if words else ""
    m.fault("trap", f"an assertion failed: {message}", lane)
