"""Which form an instruction means: of those that its opcode spells, the one against which least speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from ptxgen.isa import Expansion, Mismatch, Table
from ptxgen.isa import Operand as Wanted
from ptxgen.isa.model import Kind
from ptxgen.ptx.tree import Address, Immediate, Instruction, Name, Operand, Vector
from ptxgen.semantics.checking_scopes import Scope
from ptxgen.semantics.operands import (
    NARROW_SPECIALS,
    Lookup,
    Refusal,
    kinds_of,
    meaning,
    refusals,
)

if TYPE_CHECKING:
    from ptxgen.semantics.checking_instructions import Context

#: Instructions and operands that take registers only; everywhere else a constant may stand for a source.
_REGISTERS_ONLY = frozenset(
    {("mma", "e"), ("mma", "scale-a-data"), ("mma", "scale-b-data"), ("movmatrix", "a"), ("stackrestore", "a"),
     ("wgmma", "sp-meta"), ("cvt", "rbits"), ("cvt", "scale-factor"), ("call", "fptr")}
)
#: Whose result may be `_`.
_DISCARDED = frozenset({"atom", "setp", "lop3"})
#: Whose sources cannot be a function: what they are computed from must be known, or is no plain number.
_NO_FUNCTIONS = frozenset({"bar", "barrier", "match", "vote", "isspacep", "mbarrier", "shfl", "redux"})
#: Operands that may be a variable in shared memory by its name.
_SHARED_NAMES = frozenset({("mapa", "a"), ("getctarank", "a")})
#: Constants that stand in registers, by instruction and operand.
_ALSO_REGISTERS = frozenset({("createpolicy", "fraction")})


def choose(
    instruction: Instruction, scope: Scope, context: Context
) -> tuple[Expansion, list[Refusal]] | Mismatch:
    """The form that is meant and what speaks against its operands, or why no form has such operands."""
    table = context.table
    shapes = tuple(kinds_of(operand, scope.lookup, table) for operand in instruction.operands)
    best: tuple[tuple[int, bool, int], Expansion, list[Refusal]] | None = None
    for expansion in table.candidates(instruction.opcode):
        if not _fits(expansion, instruction, shapes):
            continue
        against = [
            refusal
            for operand, wanted in zip(instruction.operands, expansion.operands, strict=True)
            if not isinstance(operand, Address) or not operand.brackets
            for refusal in (
                *_operand_refusals(operand, wanted, scope, context),
                *_packed_refusals(operand, wanted, expansion, scope),
            )
        ]
        errors = sum(refusal.severity == "error" for refusal in against) + _parts_missing(expansion, instruction)
        rank = (errors, _unavailable(expansion, context), len(against))
        if best is None or rank < best[0]:
            best = (rank, expansion, against)
        if rank == (0, False, 0):
            break
    if best is not None:
        return best[1], best[2]
    found = table.match(instruction.opcode, shapes)
    return found if isinstance(found, Mismatch) else _wrong_kind(found, instruction, shapes)


def _parts_missing(expansion: Expansion, instruction: Instruction) -> int:
    """How many addresses have more or fewer parts behind the first than the form has."""
    return sum(
        len(operand.components) != len(wanted.parts)
        for operand, wanted in zip(instruction.operands, expansion.operands, strict=True)
        if isinstance(operand, Address) and operand.brackets
    )


def _unavailable(expansion: Expansion, context: Context) -> bool:
    if context.target is None or context.version is None:
        return False
    return context.table.unavailable(expansion, context.target, context.version) is not None


def _fits(expansion: Expansion, instruction: Instruction, shapes: Sequence[frozenset[Kind]]) -> bool:
    """Whether every operand is of a kind that may stand there, declarations considered."""
    return len(expansion.operands) == len(shapes) and all(
        wanted.kinds & shape or _leniently(wanted, shape, operand, expansion)
        for wanted, shape, operand in zip(expansion.operands, shapes, instruction.operands, strict=True)
    )


def _wrong_kind(found: Expansion, instruction: Instruction, shapes: Sequence[frozenset[Kind]]) -> Mismatch:
    """The first operand that what its name stands for rules out."""
    at = next(
        i for i, (wanted, shape, operand) in enumerate(zip(found.operands, shapes, instruction.operands, strict=True))
        if not wanted.kinds & shape and not _leniently(wanted, shape, operand, found)
    )  # fmt: skip
    wanted = " or ".join(sorted(found.operands[at].kinds))
    return Mismatch("operand-kind", f"operand {at + 1} of {found.opcode} must be {wanted}", "", at)


def _leniently(wanted: Wanted, shape: frozenset[Kind], operand: Operand, expansion: Expansion) -> bool:
    """What assemblers take beyond the manual: constants, addresses and functions for source registers, and some
    discarded results."""
    place = (expansion.name, wanted.name)
    if "reg" in shape and ("pred" in wanted.kinds or place in _ALSO_REGISTERS):
        return True
    if wanted.access == "read" and "pred" in wanted.kinds and place not in _REGISTERS_ONLY:
        return "not-pred" in shape or ("imm" in shape and not _compares_bf16(expansion))
    if wanted.access == "read" and "reg" in wanted.kinds and ("imm" in shape or is_offset(operand)):
        return place not in _REGISTERS_ONLY and not _is_packed_video(expansion)
    if wanted.access == "read" and "reg" in wanted.kinds and "function" in shape:
        divides = expansion.name in ("div", "rem") and expansion.type in ("u16", "s16", "u64", "s64")
        refused = expansion.name in _NO_FUNCTIONS or divides or _is_packed_video(expansion)
        return wanted.type == expansion.type and not refused
    if place in _SHARED_NAMES and "symbol" in shape:
        return True
    if wanted.access == "write" and "sink" in shape:
        return expansion.name in _DISCARDED or expansion.opcode.startswith("match.all")
    if expansion.opcode in ("mov.u16", "mov.s16") and isinstance(operand, Name):
        return operand.text.partition(".")[0] in NARROW_SPECIALS
    return False


def _compares_bf16(expansion: Expansion) -> bool:
    return expansion.name in ("set", "setp") and not {"bf16", "bf16x2"}.isdisjoint(expansion.slots.values())


def _is_packed_video(expansion: Expansion) -> bool:
    return expansion.name.startswith("v") and expansion.name[-1] in "24"


def _operand_refusals(operand: Operand, wanted: Wanted, scope: Scope, context: Context) -> list[Refusal]:
    if is_offset(operand) and ("symbol" not in wanted.kinds or _is_register(operand, scope)):
        return list(expression_refusals(operand, wanted, scope.lookup, context.table))
    if is_offset(operand) and operand.base is not None:
        # half an address is half a sum: cut off without a word
        against = refusals(operand.base, wanted, scope.lookup, context.table)
        return [replace(r, severity="warning") if r.code == "address-width" else r for r in against]
    if isinstance(operand, Address):
        operand = operand.base or Immediate(str(operand.offset), operand.offset, "int", operand.span)
    if isinstance(operand, Vector) and "vector" not in wanted.kinds and len(operand.elements) == 1:
        operand = operand.elements[0]
    if isinstance(operand, Name) and "symbol" not in wanted.kinds:
        found = meaning(operand.text, scope.lookup)
        if found is not None and found.role == "function" and "reg" in wanted.kinds:
            return [_function_as_data(operand)]
    return list(refusals(operand, wanted, scope.lookup, context.table))


def _is_register(written: Address, scope: Scope) -> bool:
    found = None if written.base is None else meaning(written.base.text, scope.lookup)
    return found is not None and found.role == "register"


def is_offset(operand: Operand) -> TypeGuard[Address]:
    """Whether it is `name+4`: an address without brackets."""
    return isinstance(operand, Address) and not operand.brackets and operand.base is not None


def expression_refusals(written: Address, wanted: Wanted, lookup: Lookup, table: Table) -> Iterator[Refusal]:
    """`name+4` where a register or constant is wanted: assemblers compute it, whatever its width.

    The address of a variable is an integer, `%r1+4` of the register's own kind.
    """
    assert written.base is not None
    known = table.types.get(wanted.type)
    found = meaning(written.base.text, lookup)
    if known is None or found is None:
        return
    kind = "unsigned"
    if found.role == "register":
        given = table.types.get(found.type)
        kind = "bits" if given is None or found.type == "f16x2" else given.kind
    told = f"{written.base.text}+{written.offset}"
    whole = ("signed", "unsigned", "bits")
    integers = known.kind in whole or wanted.type in ("u16x2", "s16x2")
    fits = (integers and kind in whole) or (kind in ("bits", known.kind) and known.kind != "predicate")
    if found.role not in ("register", "variable") or found.vector > 1:
        yield Refusal("operand-kind", f"{written.base.text} is no register and no variable to compute with",
                      span=written.span)
    elif not fits:
        yield Refusal("operand-type", f"{told} cannot stand for .{wanted.type}", "compute it with add first",
                      span=written.span)
    else:
        yield Refusal(
            "undocumented", f"{told} is computed here by assemblers, though the manual has sums only as addresses",
            "compute it with add first", "warning", written.span,
        )


def _packed_refusals(operand: Operand, wanted: Wanted, expansion: Expansion, scope: Scope) -> list[Refusal]:
    """A .f16x2 register is as good as 32 bits where the instruction's own type is wanted, and nowhere else."""
    if not isinstance(operand, Name):
        return []
    found = meaning(operand.text, scope.lookup)
    if found is None or found.type != "f16x2" or wanted.type in ("f16x2", "b32", expansion.type):
        return []
    return [Refusal("operand-type", f"{operand.text} is .f16x2, but .{wanted.type} is wanted here",
                    "copy the bits with mov.b32", span=operand.span)]


def _function_as_data(name: Name) -> Refusal:
    return Refusal(
        "undocumented", f"{name.text} is a function, and its address stands for a register here",
        f"move it into a register first: mov.u64 %rd1, {name.text}", "warning", name.span,
    )
