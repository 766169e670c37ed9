"""The oracle checks itself: a spec that zeros, a constant, a copy of an input or a stale buffer would
satisfy cannot tell a right kernel from a wrong one, and is refused."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from ptxgen.spec import Param, Spec, SpecError
from ptxgen.verifying.inputs import Inputs, build, schedule
from ptxgen.verifying.oracle import Expected, expected_outputs
from ptxgen.verifying.storage import PRECISIONS, Array, narrow, widen
from ptxgen.verifying.tolerance import wrong_elements

_CASES = 20
#: Another seed than the tests': the verdict on a spec does not depend on theirs.
_SEED = 7919


@dataclass(frozen=True, slots=True)
class _Example:
    inputs: Inputs
    expected: Mapping[str, Expected]


def check_oracle(spec: Spec) -> None:
    """Raises SpecError: "the spec is too weak", or whatever the oracle itself does wrong."""
    examples = []
    for case in islice(schedule(spec, _SEED), _CASES):
        inputs = build(spec, case)
        examples.append(_Example(inputs, expected_outputs(spec, inputs)))
    for param in spec.outputs:
        telling = [example for example in examples if example.expected[param.name].value.size]
        if not telling:
            raise _weak(spec, f"`{param.name}` is empty at every size that was tried", "raise [verify] sizes")
        for told, fakes in _fakes(spec, param, telling):
            if all(
                not _rejected(spec, example.expected[param.name], fake)
                for example, fake in zip(telling, fakes, strict=True)
            ):
                raise _weak(
                    spec,
                    f"{told} would pass as `{param.name}`",
                    "widen [verify] sizes or values, or tighten its tolerance",
                )


def _weak(spec: Spec, why: str, fix: str) -> SpecError:
    return SpecError("the spec is too weak to tell right from wrong", where=spec.where("oracle"), why=why, fix=fix)


def _rejected(spec: Spec, expected: Expected, fake: Array | None) -> bool:
    return fake is None or bool(wrong_elements(expected, fake, spec.verify.tolerance).any())


def _fakes(spec: Spec, param: Param, examples: list[_Example]) -> list[tuple[str, list[Array | None]]]:
    """What a lazy kernel would leave in the output for each example; None where it does not apply."""
    wanted = [example.expected[param.name] for example in examples]
    constant = _constant(param, wanted)
    fakes: list[tuple[str, list[Array | None]]] = [
        ("zeros", [_full(param, want, 0) for want in wanted]),
        (f"the constant {constant:g}", [_full(param, want, constant) for want in wanted]),
    ]
    for source in spec.inputs:
        if not _is_copy_of(spec, param, source):
            copies = [_copied(param, source, example) for example in examples]
            if any(copy is not None for copy in copies):
                told = "the untouched buffer" if source.name == param.name else f"a copy of `{source.name}`"
                fakes.append((told, copies))
    if _depends_on_data(spec, param):
        fakes.append(("the output of an earlier launch", _stale(param, examples)))
    return fakes


def _constant(param: Param, wanted: list[Expected]) -> float | int:
    """The first value of the first example that is a finite number."""
    for want in wanted:
        finite = want.value[np.isfinite(want.value.astype(np.float64))]
        if finite.size:
            value: float | int = finite.ravel()[0].item()
            return value
    return 1


def _full(param: Param, want: Expected, value: float | int) -> Array:
    return np.full(want.value.shape, narrow(param.element, np.asarray(value)))


def _copied(param: Param, source: Param, example: _Example) -> Array | None:
    """The input's elements in the output's shape and type; None where there are more or fewer of them."""
    stored = example.inputs.arrays[source.name]
    shape = example.inputs.shapes[param.name]
    if stored.size != int(np.prod(shape)):
        return None
    values = widen(source.element, stored).reshape(shape)
    if param.element in PRECISIONS:
        return narrow(param.element, values)
    return narrow(param.element, np.nan_to_num(values).astype(np.int64) if values.dtype.kind == "f" else values)


def _is_copy_of(spec: Spec, param: Param, source: Param) -> bool:
    """Whether copying that input is the very task."""
    expression = spec.expressions.get(param.name)
    return (
        expression is not None
        and isinstance(expression.tree, ast.Name)
        and expression.tree.id == source.name
        and source.name != param.name
    )


def _depends_on_data(spec: Spec, param: Param) -> bool:
    expression = spec.expressions.get(param.name)
    drawn = {p.name for p in spec.kernel.params if p.name not in spec.sizes}
    return bool(drawn & expression.names) if expression is not None else bool(drawn - {p.name for p in spec.outputs})


def _stale(param: Param, examples: list[_Example]) -> list[Array | None]:
    """What the example before left, where it had the same shape; else a cut or repetition of it."""
    stale: list[Array | None] = [None]
    for before, now in pairwise(examples):
        left = narrow(param.element, before.expected[param.name].value).ravel()
        shape = now.expected[param.name].value.shape
        stale.append(np.resize(left, shape))
    return stale if len(stale) > 1 else []
