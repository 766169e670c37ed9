"""Contended atomics: the threads of two blocks at one place, with results that no order changes.

Each form has two places. At the first all threads bring the same operand, so that the old values are the same set in
any order (of exchanges, with what is left at the end); at the second each brings its own, so that what is left is the
same. Sums of floats are of small whole numbers. A compare-and-swap counts up in a loop of one thread in eight. A form
with the scope of a block, or in its block's shared memory, has a place in each block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bench.vectors.inputs import FORMATS, Words, column, word_bits
from bench.vectors.kernels import Vector
from bench.vectors.whole import CLUSTER, MEET, forms_of, statement, whole
from ptxgen.isa import Expansion, Operand, Table

_BLOCK = 32
ROWS = 2 * _BLOCK
#: Forms in one kernel, and bytes of a form's two places.
_TOGETHER, _PLACES = 12, 64
_KINDS = {"global": {"global"}, "shared": {"shared", "shared::cta", "shared::cluster"}, "generic": {"global"}}
_OPERATIONS = ("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas")


def atomic_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """A kernel for every dozen forms of `atom` and `red`, by place."""
    for name in ("atom", "red"):
        every = [e for e in forms_of(table, arch, name) if "async" not in e.opcode]
        for kind in ("global", "shared", "generic"):
            # A form without a space is also shown in shared memory, where sums of f32 are others.
            chosen = [e for e in every if (_space(e) in _KINDS[kind]) and _anywhere(e) >= (kind == "generic")]
            for start in range(0, len(chosen), _TOGETHER):
                number = start // _TOGETHER
                yield _vector(chosen[start : start + _TOGETHER], arch, f"{name} contended {kind} {number}")


def _space(expansion: Expansion) -> str:
    """Where the form's places lie, if no other place is asked for."""
    return next((word for word in expansion.opcode.split(".") if word.startswith("shared")), "global")


def _anywhere(expansion: Expansion) -> bool:
    """Scalar forms with generic addresses; vectors are for global memory alone."""
    address = next(operand for operand in expansion.operands if "address" in operand.kinds)
    return address.space == "" and all(operand.vector == 1 for operand in expansion.operands)


def _vector(forms: Sequence[Expansion], arch: str, name: str) -> Vector:
    writer = _Writer(name, "generic" in name)
    for number, expansion in enumerate(forms):
        writer.form(expansion, number)
    body = f"""setp.eq.u32 %p1, %thread, 0;
and.b32 %r22, %thread, 7; setp.ne.u32 %p4, %r22, 0; setp.eq.u32 %p2, %index, 0;
{"".join(writer.declarations)}{"".join(writer.first)}{MEET}{"".join(writer.middle)}{MEET}{"".join(writer.last)}{MEET}"""
    return whole(
        forms[0], arch, body, writer.results, name=name, columns=writer.columns, rows=ROWS, block=_BLOCK,
        attributes=CLUSTER, others=forms[1:], unordered=True,
    )  # fmt: skip


class _Writer:
    """A kernel under way: what comes before all atomics, the atomics, and what is looked at after them."""

    def __init__(self, name: str, generic: bool) -> None:
        self.name = name
        self.generic = generic                       # in shared memory, by addresses that do not say so
        self.declarations: list[str] = []
        self.first: list[str] = []
        self.middle: list[str] = []
        self.last: list[str] = []
        self.columns: list[Words] = []
        self.results: list[str] = []

    def form(self, expansion: Expansion, number: int) -> None:
        """The addresses are %dx (the first place) and %dy (the second) of the form's number."""
        words = expansion.opcode.split(".")
        operation = next(word for word in _OPERATIONS if word in words)
        space = _space(expansion)
        narrow = self.generic or "cta" in words or space in ("shared", "shared::cta")
        x, y = f"%dx{number}", f"%dy{number}"
        self.declarations.append(f".reg .b64 {x}, {y};\n")
        place = number * _PLACES
        if self.generic:
            base = f"cvt.u64.u32 {x}, %tile; cvta.shared.u64 {x}, {x};"
        elif space == "global":
            base = f"mov.u64 {x}, %cells;" if not narrow else f"mad.wide.u32 {x}, %block, 2048, %cells;"
        else:
            base = f"cvt.u64.u32 {x}, %tile;"
            if not narrow:
                base = f"mapa.shared::cluster.u32 %r21, %tile, 0; cvt.u64.u32 {x}, %r21;"
        self.first.append(f"{base} add.u64 {x}, {x}, {place}; add.u64 {y}, {x}, {_PLACES // 2};\n")
        space = "" if self.generic else space
        plain = "shared::cluster" if space == "shared::cluster" else space.removesuffix("::cta")
        value = next(operand for operand in expansion.operands if operand.name == "b")
        scalar = value.type.partition("x")[0]
        kind, bits = _kind(value.type)
        beginning = _constant(scalar, value.type, 3 if operation != "and" else 0x7FFFFFFF)
        self._initialise(plain, (x, y), kind, bits, value, beginning, one_thread="%p1" if narrow else "%p2")
        if operation == "cas":
            self._count(expansion, x, plain, kind, bits, number)
            self._look(x, plain, kind, bits, 1, number)
            return
        same = self._registers(f"c{number}", kind, value.vector)
        small = {"inc": 100, "dec": 100, "and": 0x0FF0FF0F, "exch": 5}.get(operation, 1)
        self.middle += [f"mov.b{bits} {register}, {_constant(scalar, value.type, small)};\n" for register in same]
        old = self._registers(f"o{number}", kind, value.vector)
        # A count with bounds that differ comes out otherwise in another order.
        bounded = operation in ("inc", "dec")
        mine = same if bounded else [self._mine(kind, bits, value.type, operation) for _ in range(value.vector)]
        if operation == "exch":
            # One thread takes what is left.
            mine_first = mine
            guard, after = "@!%p1 " if narrow else "@!%p2 ", True
        else:
            mine_first, guard, after = same, "", False
        self.middle.append(guard + self._statement(expansion, x, old, mine_first) + "\n")
        scratch = self._registers(f"s{number}", kind, value.vector)
        if not after:
            self.middle.append(self._statement(expansion, y, scratch, mine) + "\n")
            self._look(y, plain, kind, bits, value.vector, number)
            self._look(x, plain, kind, bits, value.vector, number + 100)
        elif expansion.name == "atom":
            self.last.append(f"@{guard[2:]}" + self._load(plain, x, old, bits) + "\n")
        if expansion.name == "atom" and expansion.operands[0].kinds != {"sink"}:
            self._give(old, kind)

    def _statement(self, expansion: Expansion, address: str, old: Sequence[str], value: Sequence[str]) -> str:
        text = value[0] if len(value) == 1 else "{" + ", ".join(value) + "}"
        into = old[0] if len(old) == 1 else "{" + ", ".join(old) + "}"
        return statement(expansion, d=into, a=address, b=text)

    def _registers(self, name: str, kind: str, count: int) -> list[str]:
        width = {"h": 16, "r": 32, "d": 64, "q": 128}[kind]
        found = [f"%{kind}{name}{index}" for index in range(count)]
        self.declarations.append(f".reg .b{width} {', '.join(found)};\n")
        return found

    def _initialise(self, space: str, places: Sequence[str], kind: str, bits: int, value: Operand, word: str,
                    *, one_thread: str) -> None:  # fmt: skip
        for place in places:
            for index in range(value.vector):
                if kind == "q":
                    for half in (0, 8):
                        self.first.append(f"@{one_thread} st{_dot(space)}.b64 [{place}+{half}], 3;\n")
                elif kind == "h":
                    store = f"@{one_thread} st{_dot(space)}.b16 [{place}+{2 * index}], %h1;\n"
                    self.first.append(f"mov.b16 %h1, {word}; {store}")
                else:
                    offset = index * bits // 8
                    self.first.append(f"@{one_thread} st{_dot(space)}.b{bits} [{place}+{offset}], {word};\n")

    def _mine(self, kind: str, bits: int, type_name: str, operation: str) -> str:
        """The thread's own operand. Of sums of floats three quarters are 0, so that all sums on the way are exact."""
        name = f"{self.name}:{len(self.columns)}"
        words = column(name, "b64" if kind == "q" else type_name, ROWS, whole=True)
        if operation == "add" and type_name.partition("x")[0] in FORMATS:
            words = np.where(np.arange(ROWS) % 4 == 0, words, np.uint64(0))
        place = 8 * len(self.columns)
        register = self._registers(f"m{len(self.columns)}", kind, 1)[0]
        self.columns.append(words)
        if kind == "q":
            self.first.append(f"ld.global.b64 %d1, [%in+{place}]; mov.b128 {register}, {{%d1, %d1}};\n")
        else:
            self.first.append(f"ld.global.b{bits} {register}, [%in+{place}];\n")
        return register

    def _load(self, space: str, place: str, into: Sequence[str], bits: int) -> str:
        if bits == 128:
            return f"ld{_dot(space)}.b128 {into[0]}, [{place}];"
        if len(into) == 1:
            return f"ld{_dot(space)}.b{bits} {into[0]}, [{place}];"
        return "\n".join(f"ld{_dot(space)}.b{bits} {one}, [{place}+{i * bits // 8}];" for i, one in enumerate(into))

    def _look(self, place: str, space: str, kind: str, bits: int, count: int, number: int) -> None:
        """What is left at a place, as results."""
        found = self._registers(f"f{number}", kind, count)
        self.last.append(self._load(space, place, found, bits) + "\n")
        self._give(found, kind)

    def _give(self, registers: Sequence[str], kind: str) -> None:
        if kind != "q":
            self.results += registers
            return
        for register in registers:
            low, high = f"%dl{len(self.results)}", f"%dh{len(self.results)}"
            self.declarations.append(f".reg .b64 {low}, {high};\n")
            self.last.append(f"mov.b128 {{{low}, {high}}}, {register};\n")
            self.results += [low, high]

    def _count(self, expansion: Expansion, place: str, space: str, kind: str, bits: int, number: int) -> None:
        """Each thread adds 1 in a loop, and keeps the number that it found."""
        seen, new, old = (self._registers(f"{name}{number}", kind, 1)[0] for name in ("v", "n", "w"))
        if kind == "q":
            add = f"""mov.b128 {{%d1, %d2}}, {seen}; add.u64 %d1, %d1, 1; mov.b128 {new}, {{%d1, %d2}};
"""
            same = f"mov.b128 {{%d3, %d4}}, {old}; sub.u64 %d1, %d1, 1; setp.ne.u64 %p3, %d3, %d1;"
        else:
            add = f"add.u{bits} {new}, {seen}, 1;\n"
            same = f"setp.ne.b{bits} %p3, {old}, {seen};"
        scope = "gpu" if space == "global" else "cluster" if "cluster" in space else "cta"
        strong = f"ld.relaxed.{scope}{_dot(space)}"
        nothing = f"mov.b{bits} {old}, 0;" if kind != "q" else f"mov.u64 %d5, 0; mov.b128 {old}, {{%d5, %d5}};"
        load = f"{strong}.b{bits} {seen}, [{place}];" if kind != "q" else (
            f"{strong}.b64 %d5, [{place}]; mov.u64 %d6, 3; mov.b128 {seen}, {{%d5, %d6}};"
        )
        call = statement(expansion, d=old, a=place, b=seen, c=new)
        self.middle.append(f"""{nothing}
@%p4 bra $L_{number}_no;
{load}
$L_{number}:
{add}{call}
{same}
mov.b{bits} {seen}, {old};
@%p3 bra $L_{number};
$L_{number}_no:
""")
        self._give([old], kind)


def _dot(space: str) -> str:
    return f".{space}" if space else ""


def _kind(type_name: str) -> tuple[str, int]:
    bits = word_bits(type_name)
    return {16: "h", 32: "r", 64: "d", 128: "q"}[bits], bits


def _constant(scalar: str, type_name: str, number: int) -> str:
    """A whole number in each element."""
    bits = word_bits(scalar)
    if scalar in FORMATS:
        number = min(number, 1) if number > 5 else number
        exponent, fraction = FORMATS[scalar]
        bias = (1 << exponent - 1) - 1
        word = {1: bias << fraction, 3: (bias + 1 << fraction) | 1 << fraction - 1}[number]
    else:
        word = number & (1 << min(bits, 64)) - 1
    whole_word = sum(word << bits * index for index in range(max(word_bits(type_name) // bits, 1)))
    return f"0x{whole_word:x}"
