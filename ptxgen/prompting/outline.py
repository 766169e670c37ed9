"""The outline of a kernel: what its data pattern asks for, line by line, around the lowered formula.

An outline names no register, label or address computation. Where pattern or formula is one that this module does
not know, there is none, and the task's own words have to do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ptxgen.prompting.lowering import Lowered, Step, lower
from ptxgen.prompting.patterns import memory_pattern
from ptxgen.prompting.reductions import Reduction, identity, plain, split
from ptxgen.spec import OracleExpression, Param, Spec


def outline(spec: Spec) -> tuple[str, ...]:
    """The lines, or none."""
    build = _OUTLINES.get(memory_pattern(spec))
    if build is None or len(spec.expressions) != len(spec.outputs):
        return ()
    return build(spec)


def _map(spec: Spec) -> tuple[str, ...]:
    """One thread an element."""
    body = _elements(spec, {1: "[i]"})
    return body and (f"i = global index; leave if i >= {_size(spec)}", *body)


def _map_2d(spec: Spec) -> tuple[str, ...]:
    shape = [size.text for size in spec.outputs[0].shape]
    if len(shape) != 2 or len(spec.launch.grid) != 2:
        return ()
    rows, cols = shape
    body = _elements(spec, {1: "[r]", 2: "[i]"})
    return body and (f"c = global index x; leave if c >= {cols}",
                     f"r = global index y; leave if r >= {rows}", f"i = r * {cols} + c", *body)


def _grid_stride(spec: Spec) -> tuple[str, ...]:
    body = _elements(spec, {1: "[i]"})
    size = _size(spec)
    return body and (f"i = global index; leave if i >= {size}; step = ntid.x * nctaid.x", "loop:", *body,
                     f"i = i + step; again while i < {size}")


def _elements(spec: Spec, places: dict[int, str]) -> tuple[str, ...]:
    """Loads, steps and stores of elementwise outputs; `places` maps an array's rank to its index."""
    loads: list[str] = []
    steps: list[str] = []
    stores: list[str] = []
    for output in spec.outputs:
        expression = spec.expressions[output.name]
        lowered = _lower(plain(expression.tree), spec, output, first=1 + len(steps))
        if lowered is None:
            return ()
        loads += [text for text in _loads(spec, expression, places) if text not in loads]
        steps += [str(step) for step in lowered.steps]
        stores.append(f"store {output.name}{places.get(len(output.shape), '')} = {lowered.result}")
    return (f"load {', '.join(loads)}", *steps, *stores)


def _loads(spec: Spec, expression: OracleExpression, places: dict[int, str]) -> list[str]:
    arrays = [f"{p.name}{places.get(len(p.shape), '')}" for p in spec.inputs if p.name in expression.names]
    return arrays + [p.name for p in spec.scalars if p.name in expression.names and p.name not in spec.sizes]


def _gather(spec: Spec) -> tuple[str, ...]:
    output = spec.outputs[0]
    match spec.expressions[output.name].tree:
        case ast.Subscript(value=ast.Name(id=array), slice=ast.Name(id=index)):
            return (f"i = global index; leave if i >= {output.shape[0]}", f"load k = {index}[i]",
                    f"leave if k >= {spec.param(array).shape[0]}", f"load v = {array}[k]",
                    f"store {output.name}[i] = v")
    return ()


def _atomic(spec: Spec) -> tuple[str, ...]:
    output = spec.outputs[0]
    match spec.expressions[output.name].tree:
        case ast.BinOp(
            op=ast.Add(), left=ast.Name(id=name),
            right=ast.Call(func=ast.Name(id="bincount") | ast.Attribute(attr="bincount"),
                           args=[ast.Name(id=key)], keywords=keywords),
        ) if name == output.name:
            weights = next((k.value.id for k in keywords if k.arg == "weights" and isinstance(k.value, ast.Name)), "")
            load = f"load k = {key}[i]" + (f", v = {weights}[i]" if weights else "")
            update = f"red.global.add.{output.element} {name}[k], {'v' if weights else '1'}"
            return (f"i = global index; leave if i >= {spec.param(key).shape[0]}", load, update)
    return ()


def _tile(spec: Spec) -> tuple[str, ...]:
    output = spec.outputs[0]
    match spec.expressions[output.name].tree:
        case ast.Call(func=ast.Name(id="transpose") | ast.Attribute(attr="transpose"), args=[ast.Name(id=name)]):
            pass
        case _:
            return ()
    rows, cols = (size.text for size in spec.param(name).shape)
    edge = spec.launch.block[0]
    return (
        f"c = {edge} * ctaid.x + tid.x; r = {edge} * ctaid.y + tid.y",
        f"if c < {cols} and r < {rows}: shared[{edge} * tid.y + tid.x] = {name}[r * {cols} + c]",
        "bar.sync 0",
        f"c2 = {edge} * ctaid.y + tid.x; r2 = {edge} * ctaid.x + tid.y",
        f"if c2 < {rows} and r2 < {cols}: {output.name}[r2 * {rows} + c2] = shared[{edge} * tid.x + tid.y]",
    )


def _one_reduction(spec: Spec) -> tuple[Reduction, Lowered] | None:
    """The only reduction of the only output, and its lowered inner expression."""
    output = spec.outputs[0]
    found = split(spec.expressions[output.name].tree)
    if len(spec.outputs) != 1 or len(found.reductions) != 1 or not isinstance(found.rest, ast.Name):
        return None
    reduction = found.reductions[0]
    lowered = _lower(reduction.inner, spec, output)
    return None if lowered is None or not identity(reduction.kind, output.element) else (reduction, lowered)


def _block(spec: Spec) -> tuple[str, ...]:
    found = _one_reduction(spec)
    if found is None:
        return ()
    reduction, lowered = found
    output, inner = spec.outputs[0], "; ".join(map(str, lowered.steps))
    kind = output.element
    value = lowered.result if lowered.steps else f"{lowered.result}[i]"
    return (
        f"t = tid.x; i = global index; shared[t] = {identity(reduction.kind, kind)}",
        f"if i < {_size(spec)}: " + (f"load; {inner}; " if inner else "") + f"shared[t] = {value}",
        "bar.sync 0",
        f"h = {spec.threads // 2}; loop: if t < h: shared[t] = {reduction.kind}.{kind} shared[t], shared[t + h]; "
        "bar.sync 0; h = h / 2; again while h != 0",
        f"if t == 0: store {output.name}[ctaid.x] = shared[0]",
    )


def _warp(spec: Spec) -> tuple[str, ...]:
    found = _one_reduction(spec)
    if found is None:
        return ()
    reduction, lowered = found
    output, inner = spec.outputs[0], "; ".join(map(str, lowered.steps))
    kind = output.element
    return (
        f"i = global index; acc = {identity(reduction.kind, kind)}; step = ntid.x * nctaid.x",
        f"loop over k = i, i + step, ... < {_size(spec)}: load; " + (f"{inner}; " if inner else "")
        + f"{reduction.kind}.{kind} acc, acc, {lowered.result}",
        f"for d = 16, 8, 4, 2, 1: shfl.sync.down.b32 v, acc, d, 31, 0xffffffff; {reduction.kind}.{kind} acc, acc, v",
        f"if i < {_size(spec)} and tid.x & 31 == 0: store {output.name}[i >> 5] = acc",
    )


def _along(spec: Spec) -> tuple[str, ...]:
    """One thread a row or column, a loop for each reduction, and one more where every element is written."""
    output = spec.outputs[0]
    found = split(spec.expressions[output.name].tree)
    matrix = next((p for p in spec.inputs if len(p.shape) == 2), None)
    if matrix is None or not found.reductions or len(spec.outputs) != 1:
        return ()
    rows, cols = (size.text for size in matrix.shape)
    down = found.reductions[0].axis == 0
    own, other, size = ("c", "r", cols) if down else ("r", "c", rows)
    places = {(rows, cols): f"[r * {cols} + c]", (cols,): "[c]", (rows,): "[r]"}
    lines = [f"{own} = global index; leave if {own} >= {size}"]
    for reduction in found.reductions:
        steps = _accumulation(reduction, spec, output, found.names)
        if not steps:
            return ()
        lines.append(f"{reduction.name} = {identity(reduction.kind, output.element)}; loop over {other}: "
                     f"load {_read(reduction.inner, spec, places)}; {'; '.join(steps)}")
    lowered = _lower(found.rest, spec, output, names=found.names)
    if lowered is None:
        return ()
    steps = "".join(f"{step}; " for step in lowered.steps)
    store = f"store {output.name}{places.get(tuple(s.text for s in output.shape), '')} = {lowered.result}"
    if len(output.shape) == 2:
        lines.append(f"loop over {other}: load {_read(found.rest, spec, places)}; {steps}{store}")
    else:
        lines.append(f"{steps}{store}")
    return tuple(lines)


def _accumulation(reduction: Reduction, spec: Spec, output: Param, names: tuple[str, ...]) -> tuple[str, ...]:
    """The steps that take one element into the accumulator; a sum of products takes it by `fma`."""
    kind, name = output.element, reduction.name
    if not identity(reduction.kind, kind):
        return ()
    if reduction.kind == "add" and isinstance(reduction.inner, ast.expr):
        total = _lower(ast.BinOp(ast.Name(name), ast.Add(), reduction.inner), spec, output, names=names)
        if total is None:
            return ()
        last = total.steps[-1]
        return (*map(str, total.steps[:-1]), str(Step(last.opcode, (name, *last.operands[1:]))))
    lowered = _lower(reduction.inner, spec, output, names=names)
    return lowered and (*map(str, lowered.steps), f"{reduction.kind}.{kind} {name}, {name}, {lowered.result}") or ()


def _read(node: ast.AST, spec: Spec, places: dict[tuple[str, ...], str]) -> str:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return ", ".join(p.name + places.get(tuple(s.text for s in p.shape), "") for p in spec.inputs if p.name in names)


def _lower(
    tree: ast.AST, spec: Spec, output: Param, *, first: int = 1, names: tuple[str, ...] = ()
) -> Lowered | None:
    types = {p.name: p.element for p in spec.kernel.params} | dict.fromkeys(names, output.element)
    return lower(tree, types, output.element, first=first)


def _size(spec: Spec) -> str:
    """What the global index is held against: the first extent of the first input."""
    return (spec.inputs or spec.outputs)[0].shape[0].text


_OUTLINES: dict[str, Callable[[Spec], tuple[str, ...]]] = {
    "map": _map, "map-2d": _map_2d, "grid-stride": _grid_stride, "gather": _gather, "atomic": _atomic,
    "tile": _tile, "block-reduction": _block, "warp-reduction": _warp, "row-reduction": _along,
    "row-normalisation": _along, "column-reduction": _along,
}
