"""PTX for integers, one thread after the other, in Python's own numbers: slow, and simple enough to be believed.

It knows the registers, jumps, loads, stores, atomics and barriers of kernels that are made with `scalar_only`, and
nothing of the package: lines are taken apart by regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_LINE = re.compile(r"(?:@(!?)(\S+) )?([a-z][\w.:]*)(?: (.*))?;")
_SHARED, _LOCAL, _BUFFERS = 1 << 32, 2 << 32, 4 << 32
_COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
}  # fmt: skip


def _bits(kind: str) -> int:
    return 1 if kind == "pred" else int(kind[1:])


def _number(word: int, kind: str) -> int:
    """The low bits of a word as a number of the type."""
    bits = _bits(kind)
    word &= (1 << bits) - 1
    return word - (1 << bits) if kind[0] == "s" and word >> bits - 1 else word


def _clamped(value: int, kind: str) -> int:
    bits = _bits(kind)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass
class Thread:
    """Registers, as bits, and local memory."""

    registers: dict[str, int] = field(default_factory=dict)
    local: bytearray = field(default_factory=lambda: bytearray(1 << 12))


@dataclass
class Block:
    number: tuple[int, int, int]
    shared: bytearray = field(default_factory=lambda: bytearray(1 << 16))


class Machine:
    """One kernel over buffers, which are changed in place."""

    def __init__(self, text: str, buffers: Sequence[bytearray]) -> None:
        body = text[text.index(".visible .entry") :]
        self.lines = [line.strip() for line in body[body.index("{") + 1 : body.rindex("}")].splitlines()]
        self.params = re.findall(r"\.param \.u64 (\w+)", body[: body.index("{")])
        self.labels = {line[:-1]: n for n, line in enumerate(self.lines) if re.fullmatch(r"\$\w+:", line)}
        self.tables = {
            found[1]: [label.strip() for label in found[2].split(",")]
            for line in self.lines if (found := re.fullmatch(r"(\$\w+): \.branchtargets (.*);", line))
        }  # fmt: skip
        self.names = {"dynamic": _SHARED + 4096, "array": _LOCAL}
        at = _SHARED
        for line in self.lines:
            if found := re.fullmatch(r"\.shared \.align \d+ \.b(\d+) (\w+)\[(\d+)\];", line):
                self.names[found[2]] = at
                at += (int(found[1]) // 8 * int(found[3]) + 15) // 16 * 16
        self.buffers = buffers

    def run(self, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        for number in _places(grid):
            here = Block(number)
            running = [self._thread(here, place, grid, block) for place in _places(block)]
            came = [next(thread, None) for thread in running]
            while any(said is not None for said in came):
                votes = [said for said in came if said is not None]
                came = [
                    None if said is None else _next(thread, votes)
                    for thread, said in zip(running, came, strict=True)
                ]

    def _thread(
        self, block: Block, place: tuple[int, int, int], grid: tuple[int, int, int], size: tuple[int, int, int]
    ) -> Generator[bool, list[bool], None]:
        """Runs to the next barrier, gives its predicate there, and is sent the predicates of all."""
        t = Thread()
        for name, values in (("tid", place), ("ntid", size), ("ctaid", block.number), ("nctaid", grid)):
            for axis, value in zip("xyz", values, strict=True):
                t.registers[f"%{name}.{axis}"] = value
        counter = 0
        while counter < len(self.lines):
            line = self.lines[counter]
            counter += 1
            if not line or line.startswith(".") or line.endswith(":") or ".branchtargets" in line:
                continue
            found = _LINE.fullmatch(line)
            assert found, line
            negated, guard, opcode, rest = found.groups()
            if guard and (t.registers[guard] == 1) == bool(negated):
                continue
            operands = [o.strip() for o in re.split(r",(?![^{]*})", rest)] if rest else []
            words = opcode.split(".")
            if words[0] == "bra":
                counter = self.labels[operands[0]]
            elif words[0] == "brx":
                counter = self.labels[self.tables[operands[1]][self._value(t, operands[0], "u32")]]
            elif words[0] in ("ret", "exit"):
                return
            elif words[0] in ("bar", "barrier"):
                reducing = "red" in words
                votes = yield reducing and self._predicate(t, operands[2])
                if reducing:
                    count = sum(votes)
                    word = {"popc": count, "and": count == len(votes), "or": count > 0}
                    t.registers[operands[0]] = int(next(word[w] for w in words if w in word))
            elif words[0] in ("ld", "st", "atom", "red"):
                self._memory(t, block, words, operands)
            else:
                self._plain(t, words, operands)

    def _predicate(self, t: Thread, operand: str) -> bool:
        return (t.registers[operand.lstrip("!")] == 1) != operand.startswith("!")

    def _value(self, t: Thread, operand: str, kind: str) -> int:
        if operand in self.names:
            return self.names[operand]
        if operand[0] == "%":
            return _number(t.registers[operand], kind)
        return _number(int(operand, 0), kind)

    def _plain(self, t: Thread, words: list[str], operands: list[str]) -> None:
        name, kind = words[0], words[-1]
        target, *rest = operands
        if kind == "pred" or name in ("setp", "selp"):
            self._logical(t, words, operands)
            return
        if name == "cvt":
            value = self._value(t, rest[0], kind)
            into = words[-2]
            value = _clamped(value, into) if "sat" in words else _number(value, into)
            t.registers[target] = value & (1 << self._width(target)) - 1
            return
        if name == "cvta":
            t.registers[target] = self._value(t, rest[0], "u64")
            return
        amount = name in ("shl", "shr")
        given = [self._value(t, o, "u32" if amount and n else kind) for n, o in enumerate(rest)]
        if "wide" in words and name == "mad":
            given[2] = self._value(t, rest[2], kind[0] + str(2 * _bits(kind)))
        result = _COMPUTE[name](words, kind, _bits(kind), given)
        width = 2 * _bits(kind) if "wide" in words else 32 if name in ("popc", "clz", "bfind") else _bits(kind)
        t.registers[target] = result & (1 << width) - 1

    def _width(self, register: str) -> int:
        found = re.match(r"%t?b(\d+)_", register)
        return int(found[1]) if found else 64 if register == "%hash" else 32

    def _logical(self, t: Thread, words: list[str], operands: list[str]) -> None:
        name, kind = words[0], words[-1]
        target, *rest = operands
        if name == "selp":
            chosen = rest[0] if self._predicate(t, rest[2]) else rest[1]
            t.registers[target] = self._value(t, chosen, "b" + kind[1:])
        elif name == "setp":
            holds = _COMPARE[words[1]](*(self._value(t, o, kind) for o in rest[:2]))
            if len(rest) == 3:
                other = self._predicate(t, rest[2])
                holds = {"and": holds and other, "or": holds or other, "xor": holds != other}[words[2]]
            t.registers[target] = int(holds)
        else:
            given = [self._predicate(t, o) if o[0] in "%!" else int(o) & 1 == 1 for o in rest]
            t.registers[target] = int({
                "mov": lambda a: a, "not": lambda a: not a, "and": lambda a, b: a and b, "or": lambda a, b: a or b,
                "xor": lambda a, b: a != b,
            }[name](*given))  # fmt: skip

    def _bytes(self, t: Thread, block: Block, address: int) -> tuple[bytearray, int]:
        if address >= _BUFFERS:
            return self.buffers[(address >> 32) - 4], address & 0xFFFFFFFF
        return (t.local if address >= _LOCAL else block.shared), address & 0xFFFFFFFF

    def _memory(self, t: Thread, block: Block, words: list[str], operands: list[str]) -> None:
        where = next(o for o in operands if o[0] == "[")
        name, _, offset = where[1:-1].partition("+")
        if name in self.params:
            t.registers[operands[0]] = _BUFFERS + (self.params.index(name) << 32)
            return
        memory, at = self._bytes(t, block, self._value(t, name, "u64") + int(offset or 0))
        kind, size = words[-1], _bits(words[-1]) // 8
        if words[0] in ("ld", "st"):
            parts = [o.strip("{} ") for o in (operands[0] if words[0] == "ld" else operands[1]).split(",")]
            for n, part in enumerate(parts):
                here = slice(at + n * size, at + (n + 1) * size)
                if words[0] == "st":
                    memory[here] = (self._value(t, part, kind) & (1 << 8 * size) - 1).to_bytes(size, "little")
                else:
                    value = _number(int.from_bytes(memory[here], "little"), kind)
                    t.registers[part] = value & (1 << self._width(part)) - 1
            return
        given = [self._value(t, o, kind) for o in operands[1 if words[0] == "red" else 2 :]]
        old = _number(int.from_bytes(memory[at : at + size], "little"), kind)
        operation = next(w for w in words if w in _ATOMIC)
        new = _ATOMIC[operation](old, *given)
        memory[at : at + size] = (new & (1 << 8 * size) - 1).to_bytes(size, "little")
        if words[0] == "atom" and operands[0] != "_":
            t.registers[operands[0]] = old & (1 << 8 * size) - 1


def _next(thread: Generator[bool, list[bool], None], votes: list[bool]) -> bool | None:
    try:
        return thread.send(votes)
    except StopIteration:
        return None


def _places(size: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    for z in range(size[2]):
        for y in range(size[1]):
            for x in range(size[0]):
                yield x, y, z


def _product(words: list[str], kind: str, bits: int, given: list[int]) -> int:
    product = given[0] * given[1]
    if "hi" in words:
        product >>= bits
    total = product + (given[2] if len(given) > 2 else 0)
    return _clamped(total, kind) if "sat" in words else total


def _highest(words: list[str], kind: str, bits: int, given: list[int]) -> int:
    value = ~given[0] if given[0] < 0 else given[0]
    place = value.bit_length() - 1
    return bits - 1 - place if "shiftamt" in words and place >= 0 else place


def _least_or_most(pick: Callable[[list[int]], int]) -> Callable[[list[str], str, int, list[int]], int]:
    return lambda w, k, n, v: max(pick(v), 0) if "relu" in w else pick(v)


_COMPUTE: Mapping = {
    "mov": lambda w, k, n, v: v[0],
    "add": lambda w, k, n, v: _clamped(v[0] + v[1], k) if "sat" in w else v[0] + v[1],
    "sub": lambda w, k, n, v: _clamped(v[0] - v[1], k) if "sat" in w else v[0] - v[1],
    "mul": _product, "mad": _product,
    "div": lambda w, k, n, v: _truncated(v[0], v[1]),
    "rem": lambda w, k, n, v: v[0] - v[1] * _truncated(v[0], v[1]),
    "sad": lambda w, k, n, v: v[2] + abs(v[0] - v[1]),
    "min": _least_or_most(min), "max": _least_or_most(max),
    "abs": lambda w, k, n, v: abs(v[0]), "neg": lambda w, k, n, v: -v[0],
    "and": lambda w, k, n, v: v[0] & v[1], "or": lambda w, k, n, v: v[0] | v[1],
    "xor": lambda w, k, n, v: v[0] ^ v[1], "not": lambda w, k, n, v: ~v[0],
    "cnot": lambda w, k, n, v: int(v[0] == 0),
    "shl": lambda w, k, n, v: v[0] << v[1] if v[1] < n else 0,
    "shr": lambda w, k, n, v: v[0] >> min(v[1], n),
    "popc": lambda w, k, n, v: v[0].bit_count(),
    "clz": lambda w, k, n, v: n - v[0].bit_length(),
    "brev": lambda w, k, n, v: int(f"{v[0]:0{n}b}"[::-1], 2),
    "bfind": _highest,
}  # fmt: skip
_ATOMIC: Mapping = {
    "add": lambda old, a: old + a, "min": min, "max": max, "and": lambda old, a: old & a,
    "or": lambda old, a: old | a, "xor": lambda old, a: old ^ a, "exch": lambda old, a: a,
    "inc": lambda old, a: 0 if old >= a else old + 1,
    "dec": lambda old, a: a if old == 0 or old > a else old - 1,
    "cas": lambda old, a, b: b if old == a else old,
}  # fmt: skip
