"""Kernels that put one instruction form before an executor: each thread loads its operands and stores the results.

A thread has a cell of memory for forms that load or store: 64 bytes of their own in global or shared memory, so that
what the form leaves there is seen. Forms that need more than a cell and registers are whole kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from bench.vectors.inputs import FORMATS, Words, column, every_word, word_bits
from ptxgen.executing import Buffer, Executor, Launch
from ptxgen.executing.emulator.instructions import needs_gpu
from ptxgen.isa import Expansion, Operand, Table, Version
from ptxgen.isa.conformance import covering

#: The machine's driver takes PTX up to this.
NEWEST = Version(9, 0)
CELL = 64
BLOCK = 128
ROWS = 512
#: Instructions of which every lane's operands must be whole numbers, so that sums are the same in any order.
_SUMMED = frozenset({"mma", "wmma"})
#: What only a whole kernel can show, all of its forms.
_LEFT = frozenset({
    "cp", "barrier", "bar", "fence", "membar", "bra", "brx", "ret", "exit", "call", "trap", "brkpt", "pmevent",
    "nanosleep", "setmaxnreg", "griddepcontrol", "createpolicy", "cvta", "mapa", "getctarank", "alloca", "stacksave",
    "stackrestore", "mbarrier", "prefetch", "prefetchu", "applypriority", "discard", "activemask", "elect", "wmma",
    "ldmatrix", "stmatrix", "isspacep",
})  # fmt: skip
_CARRIES_IN = frozenset({"addc", "subc", "madc"})
#: Whose word on other lanes is only defined where all take part.
_MASKS = frozenset({"membermask"})
#: `every_form` by version of the table and target.
_EVERY: dict[tuple[str, str], tuple[Expansion, ...]] = {}
#: A word that only an instruction can make.
_POLICY = "cache-policy"
_SPACES = {"": "global", "global": "global", "shared": "shared", "shared::cta": "shared"}

#: What is seen of a launch: what each thread stored; that and its cell; the kind of the fault that ends it; what was
#: printed.
Seen = Literal["out", "cells", "fault", "printed"]


@dataclass(frozen=True)
class Vector:
    """One kernel: its text, the columns it reads, and how many bytes a thread writes."""

    name: str                                        # opcode, what its operands are, and which constants they have
    expansion: Expansion
    ptx: str
    columns: tuple[Words, ...] = field(repr=False)   # one word a thread each
    cells: tuple[Words, ...] = field(repr=False)     # what the threads' cells hold at the start, 64 bits each
    rows: int
    result_bits: tuple[int, ...]                     # of what a thread stores
    block: int = BLOCK                              # threads
    others: tuple[Expansion, ...] = ()               # forms that the kernel shows as well
    seen: Seen = "out"
    unordered: bool = False                          # which thread has which result may differ
    launch: Launch | None = None                     # None: `rows` threads in one dimension


@dataclass
class _Writer:
    """A kernel under way: declarations, loads before the instruction, stores after it."""

    name: str
    whole: bool
    rows: int = ROWS
    registers: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    columns: list[Words] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    cell: str = ""                                   # its state space
    cells: list[Words] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)

    def register(self, kind: str) -> str:
        self.registers.append(f".reg .{kind} %x{len(self.registers)};")
        return f"%x{len(self.registers) - 1}"

    def source(self, type_name: str) -> str:
        """A register that holds this thread's word of a new column."""
        bits = word_bits(type_name)
        name = f"{self.name}:{len(self.columns)}"
        words = every_word(bits) if self.rows > ROWS else column(name, type_name, self.rows, self.whole)
        if type_name == "pred":
            word, predicate = self.loaded(words, 32), self.register("pred")
            self.before.append(f"setp.ne.b32 {predicate}, {word}, 0;")
            return predicate
        if bits > 64:
            low, high = self.loaded(words, 64), self.loaded(column(f"{name}/high", "b64", self.rows), 64)
            both = self.register("b128")
            self.before.append(f"mov.b128 {both}, {{{low}, {high}}};")
            return both
        return self.loaded(words, bits)

    def metadata(self, alternating: bool) -> str:
        """A register with two different indices in order in each four bits; 1 of 2 elements knows only two such."""
        nibbles = np.array([0x4, 0xE] if alternating else [0x4, 0x8, 0xC, 0x9, 0xD, 0xE], np.uint64)
        random = column(f"{self.name}:metadata", "b64", self.rows)
        word = np.zeros(self.rows, np.uint64)
        for index in range(8):
            choice = (random >> np.uint64(8 * index)) & np.uint64(0xFF)
            word |= nibbles[choice % np.uint64(len(nibbles))] << np.uint64(4 * index)
        return self.loaded(word, 32)

    def loaded(self, words: Words, bits: int) -> str:
        """A register with this thread's word of a column."""
        register = self.register(f"b{_register_bits(bits)}")
        self.before.append(f"ld.global.b{_register_bits(bits)} {register}, [%in+{8 * len(self.columns)}];")
        self.columns.append(words)
        return register

    def result(self, type_name: str) -> str:
        """A register whose word is stored when the instruction is done."""
        bits = word_bits(type_name)
        if type_name == "pred":
            predicate, word = self.register("pred"), self.register("b32")
            self.after.append(f"selp.b32 {word}, 1, 0, {predicate};")
            self.store(word, 32)
            return predicate
        if bits > 64:
            low, high, both = self.register("b64"), self.register("b64"), self.register("b128")
            self.after.append(f"mov.b128 {{{low}, {high}}}, {both};")
            self.store(low, 64)
            self.store(high, 64)
            return both
        register = self.register(f"b{_register_bits(bits)}")
        self.store(register, _register_bits(bits))
        return register

    def store(self, register: str, bits: int) -> None:
        self.after.append(f"st.global.b{bits} [%out+{8 * len(self.results)}], {register};")
        self.results.append(bits)


def _register_bits(bits: int) -> int:
    return next(width for width in (8, 16, 32, 64) if width >= bits)


def vectors(table: Table, arch: str) -> Iterator[Vector]:
    """A kernel, or a few with different constants, for every form that one cell and registers can show."""
    for expansion in forms(table, arch):
        yield from vectors_of(expansion, arch)


def forms(table: Table, arch: str) -> tuple[Expansion, ...]:
    """Those that a kernel of one instruction may show."""
    return tuple(expansion for expansion in every_form(table, arch) if expansion.name not in _LEFT)


def every_form(table: Table, arch: str) -> tuple[Expansion, ...]:
    """The covering expansions and the profile that a target has and the emulator runs; of those that differ in
    constants alone, one."""
    known = _EVERY.get((table.version, arch))
    if known is None:
        found: dict[tuple[str, str], Expansion] = {}
        for expansion in (*covering(table), *table.offered()):
            if table.unavailable(expansion, arch, NEWEST) is None and not needs_gpu(expansion.opcode):
                found.setdefault(form_key(expansion), expansion)
        known = _EVERY[table.version, arch] = tuple(found.values())
    return known


def form_key(expansion: Expansion) -> tuple[str, str]:
    """What tells a form from others: its opcode and what its operands are."""
    return expansion.opcode, _signature(expansion)


def _signature(expansion: Expansion) -> str:
    return ", ".join(_operand_signature(operand) for operand in expansion.operands)


def _operand_signature(operand: Operand) -> str:
    if operand.parts and "pair" in operand.kinds:
        return "|".join(_operand_signature(part) for part in operand.parts)
    inner = f"{operand.type}{f'*{operand.vector}' if operand.vector > 1 else ''}"
    if "address" in operand.kinds:
        return f"[{inner}]"
    return "#" if operand.kinds == {"imm"} else inner


def vectors_of(expansion: Expansion, arch: str) -> Iterator[Vector]:
    """Kernels of one form: one, or up to four with other constants; none where no register, constant or cell can
    stand for an operand."""
    unary = [o for o in expansion.operands if o.access == "read" and o.kinds & {"reg", "pred"}]
    wide = len(unary) == 1 == len(expansion.operands) - 1 and word_bits(unary[0].type) == 16
    constants = any(operand.kinds == {"imm"} for operand in expansion.operands)
    made = set()
    for turn in range(4 if constants else 1):
        writer = _Writer(f"{expansion.opcode} {_signature(expansion)}", expansion.name in _SUMMED)
        if wide and not any("address" in operand.kinds for operand in expansion.operands):
            writer.rows = 1 << 16
        try:
            operands = [_operand(writer, expansion, operand, turn) for operand in expansion.operands]
        except _NotShown:
            return
        _carries(writer, expansion)
        name = " ".join([writer.name, *writer.constants])
        if name in made:
            continue
        made.add(name)
        statement = f"{expansion.opcode} {', '.join(operands)};"
        yield Vector(name, expansion, _text(writer, statement, arch), tuple(writer.columns), tuple(writer.cells),
                     writer.rows, tuple(writer.results))  # fmt: skip


class _NotShown(Exception):
    """An operand that no register, constant or cell can stand for."""


def _operand(writer: _Writer, expansion: Expansion, operand: Operand, turn: int) -> str:
    if operand.name in _MASKS:
        return "0xffffffff"
    if operand.name == _POLICY:
        policy = writer.register("b64")
        writer.before.append(f"createpolicy.fractional.L2::evict_first.b64 {policy}, 1.0;")
        return policy
    if "pair" in operand.kinds:
        return "|".join(_operand(writer, expansion, part, turn) for part in operand.parts)
    if "address" in operand.kinds:
        return _address(writer, operand)
    if "vector" in operand.kinds:
        make, element = _maker(writer, operand), element_of(expansion, operand)
        return "{" + ", ".join(make(element) for _ in range(operand.vector)) + "}"
    if _is_metadata(expansion, operand):
        return writer.metadata("tf32" in expansion.opcode)
    if operand.kinds & {"reg", "pred"}:
        return _maker(writer, operand)(element_of(expansion, operand))
    if "imm" in operand.kinds:
        return _constant(writer, operand, turn)
    raise _NotShown


def element_of(expansion: Expansion, operand: Operand) -> str:
    """The operand's type; for words of a matrix whose elements are floats, that of the elements, packed."""
    if expansion.name != "mma" or operand.type not in ("b32", "u32") or operand.name not in ("a", "b"):
        return operand.type
    types = [word for word in expansion.opcode.split(".") if word in FORMATS]
    element = types[1 if operand.name == "a" else 2] if len(types) > 2 else operand.type
    return f"{element}x{32 // word_bits(element)}" if element in FORMATS else element


def _is_metadata(expansion: Expansion, operand: Operand) -> bool:
    """The word that says which elements of a sparse matrix are there."""
    return expansion.name == "mma" and operand.name == "e"


def _maker(writer: _Writer, operand: Operand) -> Callable[[str], str]:
    if operand.access == "update":
        raise _NotShown
    return writer.result if operand.access == "write" else writer.source


def _constant(writer: _Writer, operand: Operand, turn: int) -> str:
    """The bounds and something between; up to four turns."""
    low, high = operand.low or 0, 255 if operand.high is None else operand.high
    chosen = (low, high, (2 * low + high) // 3, (low + 3 * high) // 4)[turn]
    writer.constants.append(str(chosen))
    return str(chosen)


def _address(writer: _Writer, operand: Operand) -> str:
    """The thread's cell, filled from columns; which of its bits the form changed is a result."""
    space = _SPACES.get(operand.space or "")
    if space is None or operand.parts or writer.cell:
        raise _NotShown
    writer.cell = space
    filler = operand.type if operand.type and word_bits(operand.type) <= 64 else "b64"
    width = _register_bits(word_bits(filler))
    if operand.access == "read" and space == "global":
        _fill(writer, filler, width)
        return "[%cell]"
    for index in range(CELL * 8 // width):
        register = writer.source(filler)
        writer.before.append(f"st.{space}.b{width} [%cell+{index * width // 8}], {register};")
    if operand.access != "read":
        for index in range(CELL // 8):
            old, new = writer.register("b64"), writer.register("b64")
            writer.before.append(f"ld.{space}.b64 {old}, [%cell+{index * 8}];")
            writer.after += [f"ld.{space}.b64 {new}, [%cell+{index * 8}];", f"xor.b64 {new}, {new}, {old};"]
            writer.store(new, 64)
    return "[%cell]"


def _fill(writer: _Writer, filler: str, width: int) -> None:
    """Cells filled before the launch: what the kernel itself wrote, `.nc` need not see."""
    for index in range(CELL // 8):
        word = np.zeros(writer.rows, np.uint64)
        for part in range(64 // width):
            element = column(f"{writer.name}:cell/{index}/{part}", filler, writer.rows)
            word |= element << np.uint64(part * width)
        writer.cells.append(word)


def _carries(writer: _Writer, expansion: Expansion) -> None:
    """A carry to read, and the carry that is written."""
    if expansion.name in _CARRIES_IN:
        carry = writer.source("b32")
        scratch = writer.register("b32")
        writer.before.append(f"add.cc.u32 {scratch}, {carry}, -5;")
    if "cc" in expansion.opcode.split("."):
        carry = writer.register("b32")
        writer.after.insert(0, f"addc.u32 {carry}, 0, 0;")
        writer.store(carry, 32)


def _text(writer: _Writer, statement: str, arch: str) -> str:
    version = NEWEST
    shared = f".shared .align 64 .b8 cells[{CELL * BLOCK}];" if writer.cell == "shared" else ""
    cell = {
        "": "",
        "global": f"ld.param.u64 %cell, [cells_at]; mad.wide.u32 %cell, %index, {CELL}, %cell;",
        "shared": f"mov.u64 %cell, cells; mad.wide.u32 %cell, %lane, {CELL}, %cell;",
    }[writer.cell]
    newline = "\n"
    return f""".version {version}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in_at, .param .u64 out_at, .param .u64 cells_at)
{{
{shared}
.reg .b32 %index, %lane, %block; .reg .b64 %in, %out, %cell;
{newline.join(writer.registers)}
mov.u32 %lane, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %index, %block, {BLOCK}, %lane;
ld.param.u64 %in, [in_at]; mad.wide.u32 %in, %index, {8 * max(len(writer.columns), 1)}, %in;
ld.param.u64 %out, [out_at]; mad.wide.u32 %out, %index, {8 * max(len(writer.results), 1)}, %out;
{cell}
{newline.join(writer.before)}
{statement}
{newline.join(writer.after)}
ret;
}}
"""


def run(vector: Vector, executor: Executor) -> tuple[npt.NDArray[np.uint8] | None, str]:
    """What was seen of every thread, bytes [rows, sum of result_bits / 8] and its cell's where that is seen, or one
    row of text; or None and what went wrong."""
    inputs = np.ascontiguousarray(np.stack(vector.columns, axis=1)) if vector.columns else np.zeros((vector.rows, 1))
    cells = np.zeros((vector.rows, CELL // 8), np.uint64)
    for index, words in enumerate(vector.cells):
        cells[:, index] = words
    out = np.zeros((vector.rows, max(len(vector.result_bits), 1)), np.uint64)
    launch = vector.launch or Launch((vector.rows // vector.block, 1, 1), (vector.block, 1, 1))
    outcome = executor.run(vector.ptx, "k", launch, [Buffer(inputs), Buffer(out), Buffer(cells)])
    if outcome.ok == (vector.seen == "fault"):
        return None, "; ".join(fault.message for fault in outcome.faults[:2]) or "no fault"
    if vector.seen in ("fault", "printed"):
        text = outcome.faults[0].kind if outcome.faults else outcome.printed
        return np.frombuffer(text.encode(), np.uint8).reshape(1, -1), ""
    final, kept = outcome.buffers[1], outcome.buffers[2]
    assert final is not None
    assert kept is not None
    words = np.asarray(final, np.uint64).reshape(vector.rows, -1)
    rows = packed(np.sort(words, axis=0) if vector.unordered else words, vector.result_bits)
    if vector.seen == "cells":
        rows = np.concatenate([rows, np.asarray(kept, np.uint64).view(np.uint8).reshape(vector.rows, -1)], axis=1)
    return rows, ""


def packed(words: npt.NDArray[np.uint64], bits: Sequence[int]) -> npt.NDArray[np.uint8]:
    """Each result's own bytes only, side by side."""
    raw = words.view(np.uint8).reshape(len(words), -1)
    taken = [raw[:, 8 * index : 8 * index + width // 8] for index, width in enumerate(bits)]
    return np.ascontiguousarray(np.concatenate(taken, axis=1)) if taken else raw[:, :0]
