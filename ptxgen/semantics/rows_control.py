"""Legal branches, labels and endings; barriers and warp operations where all threads are."""

from __future__ import annotations

from ptxgen.isa.model import Expansion
from ptxgen.ptx.tree import Guard
from ptxgen.semantics.choices import BELOW_32, Reserve, guards, registers, sources
from ptxgen.semantics.contract import END_LABEL, Level, matches_prefix
from ptxgen.semantics.labels import facts_when, next_label
from ptxgen.semantics.rows_arithmetic import arithmetic_rows
from ptxgen.semantics.state import Region, State
from ptxgen.semantics.statements import Pattern, Row

MAX_REGIONS = 4
MASKS = ("0xffffffff", "-1")
#: Opcodes that every thread of a block (or warp) has to reach together.
COLLECTIVE = ("bar", "barrier", "shfl", "vote", "match", "redux")


def fixed_lines(state: State) -> list[str]:
    """Labels and the closing brace that may come next."""
    if state.level < Level.SCOPED:
        return [*(f"$L_{n}:\n" for n in range(1, 10)), f"{END_LABEL}:\n", "}\n"]
    if state.ending == "ret":
        return ["}\n"]
    if state.ending == "label":
        return []
    lines = []
    if state.regions and state.regions[-1].kind == "forward":
        lines.append(f"{state.regions[-1].label}:\n")
    if state.reachable and _may_head_loop(state):
        lines.append(f"{next_label(state)}:\n")
    if state.end_used and may_end(state):
        lines.append(f"{END_LABEL}:\n")
    return lines


def may_end(state: State) -> bool:
    """Whether the kernel may close here: no promised label, and at `full` nothing owed and no open loop."""
    if any(r.kind == "forward" for r in state.regions):
        return False
    return state.level < Level.FULL or (state.fulfilled() and not state.regions)


def _may_head_loop(state: State) -> bool:
    if len(state.regions) >= MAX_REGIONS or sum(r.kind == "loop" for r in state.regions) >= 2:
        return False
    if state.regions and state.regions[-1].kind == "loop" and state.regions[-1].registers == state.registers:
        return False  # an empty body
    return any(state.value(r).kind == "int" and r in state.variables for r in state.registers) or any(
        state.values[n].kind == "int" and state.values[n].operation in {"mad", "add"}
        for n in state.registers.values()
    )


def return_rows(state: State) -> list[Row]:
    """`ret`: the last one, one that ends a nested path, and guarded ones that end some threads."""
    if state.level < Level.SCOPED:
        return [Row((), ("", *guards(state)))]
    if state.ending == "label":
        return [Row(())]
    rows = []
    # In an open loop nothing could follow: no label of the loop is promised to anyone.
    nested = bool(state.regions) and state.regions[-1].kind == "forward"
    if nested or (not state.end_used and may_end(state)):
        rows.append(Row(()))
    leaving = tuple(g for g in guards(state) if _may_leave(state, g))
    return [*rows, Row((), leaving)] if leaving else rows


def branch_rows(state: State) -> list[Row]:
    """`bra`: to the end, forward into a new or the innermost promised label, back to an open loop."""
    if state.level < Level.SCOPED:
        return [Row(((Pattern(r"\$L_([1-9]|end)"),),), ("", *guards(state)))]
    rows = []
    names = guards(state)
    leaving = tuple(g for g in names if _may_leave(state, g))
    if leaving:
        rows.append(Row(((END_LABEL,),), leaving))
    forward = []
    if state.regions and state.regions[-1].kind == "forward":
        forward.append(state.regions[-1].label)
    if len(state.regions) < MAX_REGIONS:
        forward.append(next_label(state))
    if forward and names:
        rows.append(Row((tuple(forward),), names))
    if state.regions and state.regions[-1].kind == "forward":
        rows.append(Row(((END_LABEL,),)))
        if len(state.regions) < MAX_REGIONS and state.registers != state.regions[-1].registers:
            rows.append(Row(((next_label(state),),)))
    return [r for r in (*rows, *_back_rows(state, names)) if r.possible()]


def _may_leave(state: State, guard: str) -> bool:
    """Threads may leave early unless a collective is still owed; and while nothing bounds the index yet,
    those that stay have to be the bounded ones."""
    if state.level < Level.TYPESTATE:
        return True
    parsed = parse_guard(guard)
    value = state.value(parsed.predicate)
    if state.level >= Level.FULL and any(_collective(p) for p in state.unmet()) and value.varying:
        return False
    either = value.when_true | value.when_false
    if not either or any(state.values[f].varying for f in state.facts):
        return True
    return bool(facts_when(value, parsed, False))


def _collective(prefix: str) -> bool:
    return any(matches_prefix(prefix, c) for c in COLLECTIVE)


def parse_guard(text: str) -> Guard:
    name = text.strip().lstrip("@")
    return Guard(name.lstrip("!"), name.startswith("!"))


def _back_rows(state: State, names: tuple[str, ...]) -> list[Row]:
    """Back to a loop's head: by a predicate that its body decides, which re-establishes the bounds that
    accesses in the loop rely on; or without one where another branch leads out."""
    position = next((i for i in reversed(range(len(state.regions))) if state.regions[i].kind == "loop"), None)
    if position is None:
        return []
    loop = state.regions[position]
    above = state.regions[position + 1 :]
    if len(above) > 1:
        return []
    if state.level < Level.TYPESTATE:
        back = tuple(names)
        return [Row(((loop.label,),), back)] if back else []
    changed = frozenset(loop.registers[r] for r in loop.rewritten if r in loop.registers)
    back = tuple(g for g in names if _repeats(state, loop, g, changed))
    rows = [Row(((loop.label,),), back)] if back else []
    if above and loop.left and changed and not _broken_bounds(state, loop, frozenset()):
        rows.append(Row(((loop.label,),)))
    return rows


def _repeats(state: State, loop: Region, guard: str, changed: frozenset[int]) -> bool:
    parsed = parse_guard(guard)
    value = state.value(parsed.predicate)
    if value.number in loop.registers.values() or not changed or not state.depends_on(value.number, changed):
        return False
    if loop.synchronises and value.varying:
        return False
    return not _broken_bounds(state, loop, facts_when(value, parsed, True))


def _broken_bounds(state: State, loop: Region, facts: frozenset[int]) -> bool:
    """Whether some bound that the loop's accesses rely on would not hold in the next round."""
    for number in loop.relied:
        register = loop.carried[number]
        current = state.registers.get(register)
        if current is not None and current != number and current not in facts and current not in state.facts:
            return True
    return False


# ---------------------------------------------------------------- collectives


def of_warp(opcode: str) -> bool:
    """`bar.warp.sync`, whose operand is a mask of lanes: it orders a warp, and is no barrier of the block."""
    return opcode.startswith(("bar.warp", "barrier.warp"))


def collective_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """Barriers, shuffles, votes: never where part of the threads may have gone another way."""
    if state.level < Level.TYPESTATE:
        return _scoped_collective(state, expansion, reserve)
    if state.divergent():
        return []
    name = expansion.name
    if name in {"bar", "barrier"}:
        plain = len(expansion.operands) == 1 and expansion.operands[0].access == "read"
        if of_warp(expansion.opcode):
            return [Row((MASKS,))] if plain else []
        return [Row((("0",),))] if plain and (state.since_barrier or state.unmet()) else []
    reads = [o for o in expansion.operands if o.access == "read"]
    mask = next((i for i, o in enumerate(expansion.operands) if o is reads[-1]), None)
    rows = []
    for row in arithmetic_rows(state, expansion, reserve):
        operands = list(row.operands)
        if row.guards != ("",) or mask is None:
            continue
        if name != "activemask":
            operands[mask] = MASKS
        if name == "shfl":
            operands[mask - 1] = ("0",) if "up" in expansion.slots.values() else ("31", "0x1f")
            operands[mask - 2] = (*registers(state, reads[-3]), BELOW_32)
        rows.append(Row(tuple(operands)))
    return rows


def _scoped_collective(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    if of_warp(expansion.opcode):
        return [Row((MASKS,), ("", *guards(state)))]
    if any(o.access != "read" for o in expansion.operands):
        rows = arithmetic_rows(state, expansion, reserve)
        if expansion.operands[-1].type not in ("b32", "u32") or expansion.operands[-1].access != "read":
            return rows
        # the last operand of a warp's operation says which of its threads take part
        return [Row((*r.operands[:-1], tuple(dict.fromkeys((*r.operands[-1], *MASKS)))), r.guards) for r in rows]
    if expansion.name in {"bar", "barrier"} and len(expansion.operands) > 1:
        return []
    row = Row(tuple(sources(state, o) for o in expansion.operands))
    return [row] if row.possible() else []
