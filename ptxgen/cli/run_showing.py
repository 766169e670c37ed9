"""What `ptxgen-local run --trace` and `--profile` show: documents for JSON, and lines to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ptxgen.errors import PtxgenError
from ptxgen.executing import Launch
from ptxgen.executing.checking import find_entry
from ptxgen.executing.emulator import Profile, Trace
from ptxgen.executing.emulator.profiling import Instructions
from ptxgen.executing.emulator.tracing import Touched, Traced, Written
from ptxgen.isa import load_table
from ptxgen.isa.limits import limits_of, occupancy
from ptxgen.ptx import parse, print_module
from ptxgen.ptx.tree import Function

_DIGITS = {"f16": np.float16, "f32": np.float32, "bf16": np.float32, "f64": np.float64}
_MOST_LINES = 40


# ---------------------------------------------------------------- traces


def trace_document(trace: Trace) -> dict[str, Any]:
    """`statements` are the first ones and, after `left_out` others, the last ones; `first` says how many come before
    the gap."""
    return {
        "block": trace.block, "thread": trace.thread, "count": trace.count, "left_out": trace.left_out,
        "first": len(trace.first), "statements": [*trace.first, *trace.last],
    }  # fmt: skip


def trace_lines(document: dict[str, Any], ptx: str) -> list[str]:
    """One line a statement: where it stands, what it is, what it wrote and touched."""
    source = ptx.splitlines()
    statements: Sequence[Traced] = document["statements"]
    words = [_statement(entry, source) for entry in statements]
    wide = min(max((len(text) for text in words), default=0), 56)
    pairs = zip(statements, words, strict=True)
    lines = [f"{entry.line:5}  {text:{wide}}  {_effects(entry)}".rstrip() for entry, text in pairs]
    left_out, first = document["left_out"], document["first"]
    if left_out:
        more = f"       … {left_out} more statements; --trace-limit {document['count']} shows them all"
        lines.insert(first, more)
    block, thread = (",".join(map(str, document[key])) for key in ("block", "thread"))
    return [f"block {block}, thread {thread}: {document['count']} statements", *lines]


def _statement(entry: Traced, source: list[str]) -> str:
    """The source line where it holds this statement alone, else what is known of the statement."""
    text = _source_line(source, entry.line).partition("//")[0].strip()
    if text.count(";") == 1 and text.endswith(";") and entry.opcode in text:
        return text
    guard = f"@{'!' if entry.guard.negated else ''}{entry.guard.register} " if entry.guard else ""
    return f"{guard}{entry.opcode} …;"


def _source_line(source: list[str], number: int) -> str:
    """The line with one blank for each run of blanks and tabs, so that columns stand under one another."""
    return " ".join(source[number - 1].split()) if 1 <= number <= len(source) else ""


def _effects(entry: Traced) -> str:
    found = []
    if entry.guard is not None:
        found.append(f"{entry.guard.register} is {str(entry.guard.value).lower()}")
    if not entry.executed:
        found.append("stopped here" if _let(entry) else "skipped")
    found += [f"{written.name} = {_number(written)}" for written in entry.registers]
    found += [_touch(touched, entry) for touched in entry.memory]
    return ", ".join(found)


def _let(entry: Traced) -> bool:
    """Whether the guard lets the statement be carried out."""
    return entry.guard is None or entry.guard.value != entry.guard.negated


def _number(written: Written) -> str:
    if written.type in _DIGITS and isinstance(written.value, float):
        return str(_DIGITS[written.type](written.value))
    if isinstance(written.value, bool):
        return str(written.value).lower()
    if isinstance(written.value, int) and written.type.startswith("b") and written.value > 9:
        return f"{written.value} (0x{written.value:x})"
    return str(written.value)


def _touch(touched: Touched, entry: Traced) -> str:
    later = f" (asked for at line {touched.issued})" if touched.issued != entry.line else ""
    return f"{touched.kind} of {touched.bytes} bytes {touched.space} 0x{touched.address:x}, {touched.place}{later}"


# ---------------------------------------------------------------- profiles


def profile_document(profile: Profile, ptx: str, entry: str | None, launch: Launch) -> dict[str, Any]:
    """All counts, shares among them worked out, and the occupancy (or why it is not known)."""
    kinds: dict[str, Instructions] = defaultdict(Instructions)
    for opcode, one in profile.opcodes.items():
        kinds[_kind(opcode)].add(one)
    total = profile.total
    return {
        "instructions": {
            "thread": total.threads, "warp": total.warps, "divergent_share": _share(total.divergent, total.warps),
            "active_share": _share(total.active, total.warps * 32),
            "kinds": {name: _counts(one) for name, one in _most_first(kinds)},
            "opcodes": {name: _counts(one) for name, one in _most_first(profile.opcodes)},
        },
        "divergence": [
            {"line": line, "opcode": profile.opcode_of[line], **_counts(one)}
            for line, one in sorted(profile.lines.items()) if one.divergent
        ],
        "shared": [
            {"line": line, "opcode": profile.opcode_of.get(line, ""), "requests": found.requests,
             "passes": found.passes, "conflicts": found.passes - found.least, "worst": found.worst}
            for line, found in sorted(profile.shared_lines.items())
        ],
        "global": [
            {"line": line, "opcode": profile.opcode_of.get(line, ""), "requests": found.requests,
             "sectors": found.sectors, "sectors_a_request": found.sectors / found.requests,
             "used_share": _share(found.used, found.sectors * 32)}
            for line, found in sorted(profile.global_lines.items())
        ],
        "barriers": [{"line": line, "warps": warps} for line, warps in sorted(profile.barriers.items())],
        "occupancy": _occupancy(ptx, entry, launch),
    }  # fmt: skip


def _kind(opcode: str) -> str:
    instruction = load_table().instructions.get(opcode.partition(".")[0])
    return instruction.chapter if instruction is not None else "other"


def _most_first(counts: dict[str, Instructions]) -> list[tuple[str, Instructions]]:
    return sorted(counts.items(), key=lambda item: (-item[1].threads, item[0]))


def _counts(one: Instructions) -> dict[str, Any]:
    return {"thread": one.threads, "warp": one.warps, "divergent": one.divergent}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _occupancy(ptx: str, entry: str | None, launch: Launch) -> dict[str, Any]:
    """Registers and shared memory as ptxas gives them for the file's target; `why` where that is not to be had."""
    from ptxgen.assembling import find_ptxas
    from ptxgen.cli.check import assembled_for

    table = load_table()
    module = parse(ptx)
    arch = assembled_for(module, table)
    limits = limits_of(table.target(arch))
    if limits is None:
        return {"arch": arch, "why": f"what a multiprocessor of {arch} holds is not known"}
    if len(module.entries()) > 1:                       # ptxas's figures are for all kernels of a text
        others = {other.name for other in module.entries()} - {find_entry(module, entry).name}
        kept = tuple(item for item in module.items if not (isinstance(item, Function) and item.name in others))
        ptx = print_module(replace(module, items=kept))
    try:
        assembly = find_ptxas()[0].assemble(ptx, arch, optimise=0 if "debug" in module.target else 3)
    except PtxgenError as error:
        return {"arch": arch, "why": str(error).splitlines()[0]}
    if not assembly.ok or assembly.registers is None:
        return {"arch": arch, "why": "ptxas refuses the kernel (ptxgen-local check says why)"}
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    shared = (assembly.shared_bytes or 0) + launch.shared_bytes
    if threads < 1:
        return {"arch": arch, "why": "the block has no threads"}
    found = occupancy(limits, threads, assembly.registers, shared)
    return {
        "arch": arch, "registers": assembly.registers, "shared_bytes": shared, "blocks": found.blocks,
        "warps": found.warps, "most_warps": found.most_warps, "share": found.share, "by": dict(found.by),
        "limited_by": found.limited_by,
    }  # fmt: skip


def profile_lines(document: dict[str, Any], ptx: str) -> list[str]:
    """The document as tables to read."""
    source = ptx.splitlines()
    total = document["instructions"]
    lines = [
        f"instructions: {total['thread']} of threads, {total['warp']} of warps; "
        f"{total['divergent_share']:.1%} of these with inactive lanes, {total['active_share']:.1%} of lanes active"
    ]
    lines += [
        f"  {name}: {one['thread']} of threads, {one['warp']} of warps" for name, one in total["kinds"].items()
    ]
    lines += _section("divergence, by line", document["divergence"], source, lambda row: (
        f"{row['divergent']} of {row['warp']} warp instructions"))
    lines += _section("shared memory, by line", document["shared"], source, lambda row: (
        f"{row['requests']} requests, {row['passes']} passes, {row['conflicts']} of them conflicts"
        f" (at worst {row['worst']} in turn)"))
    lines += _section("global memory, by line", document["global"], source, lambda row: (
        f"{row['requests']} requests, {row['sectors_a_request']:.2f} sectors of 32 bytes a request,"
        f" {row['used_share']:.0%} used"))
    lines += _section("barriers, by line", document["barriers"], source, lambda row: f"{row['warps']} warps")
    return [*lines, _occupancy_line(document["occupancy"])]


def _section(title: str, rows: list[dict[str, Any]], source: list[str], words: Any) -> list[str]:
    if not rows:
        return []
    lines = [f"{title}:"]
    for row in rows[:_MOST_LINES]:
        text = _source_line(source, row["line"])
        lines.append(f"{row['line']:5} | {text[:70]:40}  {words(row)}")
    if len(rows) > _MOST_LINES:
        lines.append(f"      … {len(rows) - _MOST_LINES} more; --json has all")
    return lines


def _occupancy_line(found: dict[str, Any]) -> str:
    if "why" in found:
        return f"occupancy: not known: {found['why']}"
    limited = " and ".join(found["limited_by"])
    return (
        f"occupancy on {found['arch']}: {found['share']:.0%}, {found['blocks']} blocks and {found['warps']} of"
        f" {found['most_warps']} warps at once, limited by {limited}"
        f" ({found['registers']} registers a thread, {found['shared_bytes']} bytes of shared memory a block)"
    )
