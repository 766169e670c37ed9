"""Outlines of reductions: across a block, across a warp, along the rows or columns of a matrix."""

from __future__ import annotations

import ast

from ptxgen.prompting.lowering import Lowered, Step, lower
from ptxgen.prompting.reductions import Reduction, identity, split
from ptxgen.spec import Param, Spec


def across_block(spec: Spec) -> tuple[str, ...]:
    """One element a thread, a tree in shared memory, one result a block."""
    found = _only_reduction(spec)
    if found is None:
        return ()
    kind, name = spec.outputs[0].element, spec.outputs[0].name
    return (
        "i = global index; t = tid.x",
        *_guarded_load(spec, found, "v"),
        "store shared[t] = v",
        "bar.sync 0",
        f"h = {spec.threads // 2}; loop:",
        f"  if t < h: load shared[t] and shared[t + h], {found.kind}.{kind}, store shared[t]",
        "  bar.sync 0",
        "  h = h >> 1; again while h != 0",
        f"if t == 0: load shared[0], store {name}[ctaid.x]",
    )


def across_warp(spec: Spec) -> tuple[str, ...]:
    """One element a thread, shuffles, one result a warp."""
    found = _only_reduction(spec)
    if found is None:
        return ()
    output = spec.outputs[0]
    combine = f"{found.kind}.{output.element}"
    return (
        "i = global index; t = tid.x",
        *_guarded_load(spec, found, "v"),
        f"for d = 16, 8, 4, 2, 1: shfl.sync.down.b32 u, v, d, 31, 0xffffffff; {combine} v, v, u",
        f"if t & 31 == 0 and i < {first_extent(spec)}: store {output.name}[i >> 5] = v",
    )


def along(spec: Spec) -> tuple[str, ...]:
    """One thread a row or column: a loop for each reduction, and one more where every element is written."""
    output = spec.outputs[0]
    found = split(spec.expressions[output.name].tree)
    matrix = next((p for p in spec.inputs if len(p.shape) == 2), None)
    if matrix is None or not found.reductions or len(spec.outputs) != 1:
        return ()
    rows, cols = (size.text for size in matrix.shape)
    down = found.reductions[0].axis == 0
    own, other, size, length = ("c", "r", cols, rows) if down else ("r", "c", rows, cols)
    places = {(rows, cols): f"[r * {cols} + c]", (cols,): "[c]", (rows,): "[r]"}
    lines = [f"{own} = global index; leave if {own} >= {size}"]
    for reduction in found.reductions:
        steps = _accumulation(reduction, spec, output, found.names)
        if not steps:
            return ()
        lines.append(f"{reduction.name} = {identity(reduction.kind, output.element)}")
        lines += _loop(other, length, [*_reads(reduction.inner, spec, places), *steps])
    lowered = lower_for(found.rest, spec, output, names=found.names)
    if lowered is None:
        return ()
    place = places.get(tuple(s.text for s in output.shape), "")
    last = [*lowered.formulas, f"store {output.name}{place} = {lowered.result}"]
    if len(output.shape) == 2:
        return (*lines, *_loop(other, length, [*_reads(found.rest, spec, places), *last]))
    return (*lines, *last)


def lower_for(
    tree: ast.AST, spec: Spec, output: Param, *, first: int = 1, names: tuple[str, ...] = ()
) -> Lowered | None:
    """Lower an expression over the spec's parameters, in the output's type; `names` are accumulators."""
    types = {p.name: p.element for p in spec.kernel.params} | dict.fromkeys(names, output.element)
    return lower(tree, types, output.element, first=first)


def first_extent(spec: Spec) -> str:
    """What the global index is held against: the first extent of the first input."""
    return (spec.inputs or spec.outputs)[0].shape[0].text


def _only_reduction(spec: Spec) -> Reduction | None:
    """The one reduction of the one output, where nothing follows it."""
    output = spec.outputs[0]
    found = split(spec.expressions[output.name].tree)
    if len(spec.outputs) != 1 or len(found.reductions) != 1 or not isinstance(found.rest, ast.Name):
        return None
    reduction = found.reductions[0]
    return reduction if identity(reduction.kind, output.element) else None


def _guarded_load(spec: Spec, reduction: Reduction, name: str) -> tuple[str, ...]:
    """The element, or what changes nothing where there is none."""
    start = identity(reduction.kind, spec.outputs[0].element)
    value = reduction.inner.id if isinstance(reduction.inner, ast.Name) else f"({ast.unparse(reduction.inner)})"
    return (f"{name} = {start}; if i < {first_extent(spec)}: load {name} = {value}[i]",)


def _loop(counter: str, length: str, body: list[str]) -> list[str]:
    return [f"{counter} = 0; loop:", *(f"  {line}" for line in body),
            f"  {counter} = {counter} + 1; again while {counter} < {length}"]


def _accumulation(reduction: Reduction, spec: Spec, output: Param, names: tuple[str, ...]) -> tuple[str, ...]:
    """The steps that take one element into the accumulator; a sum of products takes it by `fma`."""
    kind, name = output.element, reduction.name
    if not identity(reduction.kind, kind):
        return ()
    if reduction.kind == "add":
        total = lower_for(ast.BinOp(ast.Name(name), ast.Add(), reduction.inner), spec, output, names=names)
        if total is None:
            return ()
        last = total.steps[-1]
        return (*total.formulas[:-1], Step(last.opcode, (name, *last.operands[1:])).formula)
    inner = lower_for(reduction.inner, spec, output, names=names)
    if inner is None:
        return ()
    return (*inner.formulas, Step(f"{reduction.kind}.{kind}", (name, name, inner.result)).formula)


def _reads(node: ast.AST, spec: Spec, places: dict[tuple[str, ...], str]) -> list[str]:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return [
        f"load {p.name}{places.get(tuple(s.text for s in p.shape), '')}"
        for p in spec.inputs if p.name in names
    ]
