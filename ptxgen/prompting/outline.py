"""The outline of a kernel: what its data pattern asks for, line by line, around the lowered formula.

An outline names no register, label or address computation. Where pattern or formula is one that this module does
not know, there is none, and the task's own words have to do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ptxgen.prompting.outline_reductions import across_block, across_warp, along, first_extent, lower_for
from ptxgen.prompting.patterns import memory_pattern
from ptxgen.prompting.reductions import plain
from ptxgen.spec import Spec


def outline(spec: Spec) -> tuple[str, ...]:
    """The lines, or none."""
    build = _OUTLINES.get(memory_pattern(spec))
    if build is None or len(spec.expressions) != len(spec.outputs):
        return ()
    return build(spec)


def _map(spec: Spec) -> tuple[str, ...]:
    """One thread an element."""
    body = _elements(spec, {1: "[i]"})
    return body and (f"i = global index; leave if i >= {first_extent(spec)}", *body)


def _map_2d(spec: Spec) -> tuple[str, ...]:
    shape = [size.text for size in spec.outputs[0].shape]
    if len(shape) != 2 or len(spec.launch.grid) != 2:
        return ()
    rows, cols = shape
    body = _elements(spec, {1: "[r]", 2: "[i]"})
    return body and (f"c = global index x; leave if c >= {cols}",
                     f"r = global index y; leave if r >= {rows}", f"i = r * {cols} + c", *body)


def _grid_stride(spec: Spec) -> tuple[str, ...]:
    body = _elements(spec, {1: "[k]"})
    size = first_extent(spec)
    return body and (f"i = global index; leave if i >= {size}", "step = ntid.x * nctaid.x", "mov k, i; loop:",
                     *(f"  {line}" for line in body), f"  k = k + step; again while k < {size}")


def _elements(spec: Spec, places: dict[int, str]) -> tuple[str, ...]:
    """Loads, steps and stores of elementwise outputs; `places` maps an array's rank to its index."""
    loads: list[str] = []
    formulas: list[str] = []
    stores: list[str] = []
    for output in spec.outputs:
        expression = spec.expressions[output.name]
        lowered = lower_for(plain(expression.tree), spec, output, first=1 + len(formulas))
        if lowered is None:
            return ()
        loads += [
            f"{p.name}{places.get(len(p.shape), '')}"
            for p in spec.inputs if p.name in expression.names
        ]
        formulas += lowered.formulas
        stores.append(f"{output.name}{places.get(len(output.shape), '')} = {lowered.result}")
    return (f"load {', '.join(dict.fromkeys(loads))}", "; ".join(formulas), f"store {', '.join(stores)}")


def _gather(spec: Spec) -> tuple[str, ...]:
    output = spec.outputs[0]
    match spec.expressions[output.name].tree:
        case ast.Subscript(value=ast.Name(id=array), slice=ast.Name(id=index)):
            source = spec.param(array)
            return (f"i = global index; leave if i >= {output.shape[0]}", f"load k = {index}[i]",
                    f"leave if k >= {source.shape[0]}", f"load v = {array}[k]",
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
            update = f"red.global.add.{output.element} {name}[k], {'v' if weights else '1'}"
            counted, loads = spec.param(key), [f"load k = {key}[i]"]
            if weights:
                loads.append(f"load v = {weights}[i]")
            return (f"i = global index; leave if i >= {counted.shape[0]}", *loads, update)
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


_OUTLINES: dict[str, Callable[[Spec], tuple[str, ...]]] = {
    "map": _map, "map-2d": _map_2d, "grid-stride": _grid_stride, "gather": _gather, "atomic": _atomic,
    "tile": _tile, "block-reduction": across_block, "warp-reduction": across_warp, "row-reduction": along,
    "row-normalisation": along, "column-reduction": along,
}
