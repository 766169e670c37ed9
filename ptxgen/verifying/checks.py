"""One example, checked: two launches over differently poisoned outputs, compared with the oracle and with
each other."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxgen.errors import UsageError
from ptxgen.executing.protocol import Argument, Buffer, Executor, Fault, Launch, Outcome, Scalar
from ptxgen.ptx.diagnostics import PtxSyntaxError
from ptxgen.spec import Spec
from ptxgen.verifying.inputs import Case, Inputs, build
from ptxgen.verifying.oracle import Expected, expected_outputs
from ptxgen.verifying.storage import DTYPES, PRECISIONS, Array, widen
from ptxgen.verifying.tolerance import wrong_elements

#: What outputs hold before the launch: every float NaN, then every float large and every integer odd.
POISONS = (0xFF, 0x55)
_FLOAT_ATOMIC = re.compile(r"\b(?:atom|red)\.[\w.:]*\badd\.[\w.]*(?:f16|bf16|f32|f64)")
_SHOWN = 8

Number = int | float


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which a kernel is wrong. `check` is "wrong-value", "never-written", "unstable",
    "input-modified", "signature" or the kind of an executor's fault. `index` locates the element: a number, or
    a tuple where the output has several dimensions. `inputs` holds scalars and small arrays."""

    check: str
    sizes: Mapping[str, int]
    output: str | None
    index: int | tuple[int, ...] | None
    expected: Number | None
    actual: Number | None
    message: str
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tested, on what."""

    spec: Spec
    ptx: str
    executor: Executor
    arch: str


def check_case(subject: Subject, case: Case) -> Failure | None:
    """None when the kernel is right on this case.

    Raises SpecError when the oracle or the spec fails there, and PtxgenError from an executor that cannot work.
    """
    inputs = build(subject.spec, case)
    expected = expected_outputs(subject.spec, inputs)
    launch = subject.spec.launch_at(inputs.sizes)
    results: list[dict[str, Array]] = []
    for poison in POISONS:
        outcome = _launch(subject, launch, _arguments(subject.spec, inputs, poison))
        if isinstance(outcome, Failure):
            return _located(outcome, inputs)
        if not outcome.ok:
            return _fault(outcome.faults, inputs)
        outputs = dict(zip((p.name for p in subject.spec.kernel.params), outcome.buffers, strict=True))
        failure = _modified(subject.spec, inputs, outputs) or _compared(subject, inputs, expected, outputs, poison)
        if failure is not None:
            return failure
        results.append({p.name: _present(outputs[p.name]) for p in subject.spec.outputs})
    return None if _FLOAT_ATOMIC.search(subject.ptx) else _unstable(subject.spec, inputs, results)


def _launch(subject: Subject, launch: Launch, arguments: list[Argument]) -> Outcome | Failure:
    if 0 in launch.grid:
        # CUDA refuses an empty grid; a caller leaves the launch out.
        untouched = tuple(a.data.copy() if isinstance(a, Buffer) else None for a in arguments)
        return Outcome(True, (), untouched)
    try:
        return subject.executor.run(subject.ptx, subject.spec.kernel.name, launch, arguments, arch=subject.arch)
    except (UsageError, PtxSyntaxError) as error:
        # Here the spec made the call, so an entry that does not fit it is the kernel's fault.
        return Failure("signature", {}, None, None, None, None, str(error))


def _arguments(spec: Spec, inputs: Inputs, poison: int) -> list[Argument]:
    """In the order of the parameters; fresh arrays, so that no launch sees what another left."""
    arguments: list[Argument] = []
    for param in spec.kernel.params:
        if not param.pointer:
            arguments.append(Scalar(param.type, inputs.scalars[param.name]))
            continue
        offset = inputs.offsets[param.name]
        if param.access == "out":
            arguments.append(Buffer(poisoned(param.element, inputs.shapes[param.name], poison), False, False, offset))
        else:
            arguments.append(Buffer(inputs.arrays[param.name].copy(), True, param.access == "in", offset))
    return arguments


def poisoned(element: str, shape: tuple[int, ...], poison: int) -> Array:
    """An array of which every byte is `poison`."""
    dtype = DTYPES[element]
    return np.full(math.prod(shape) * dtype.itemsize, poison, dtype=np.uint8).view(dtype).reshape(shape)


def _present(buffer: Array | None) -> Array:
    assert buffer is not None, "an executor gives a buffer for every pointer"
    return buffer


def _modified(spec: Spec, inputs: Inputs, outputs: Mapping[str, Array | None]) -> Failure | None:
    for param in spec.inputs:
        if param.access != "in":
            continue
        before, after = inputs.arrays[param.name], _present(outputs[param.name])
        if before.tobytes() != after.tobytes():
            bits = f"u{before.dtype.itemsize}"
            differs = np.ascontiguousarray(before).view(bits) != np.ascontiguousarray(after).view(bits)
            index = _first(differs)
            message = f"input `{param.name}`, {_index_text(index)}: the kernel changed it"
            return _failure(
                "input-modified",
                inputs,
                param.name,
                index,
                _item(param.element, before, index),
                _item(param.element, after, index),
                message,
            )
    return None


def _compared(
    subject: Subject,
    inputs: Inputs,
    expected: Mapping[str, Expected],
    outputs: Mapping[str, Array | None],
    poison: int,
) -> Failure | None:
    for param in subject.spec.outputs:
        got, want = _present(outputs[param.name]), expected[param.name]
        wrong = wrong_elements(want, got, subject.spec.verify.tolerance)
        if not wrong.any():
            continue
        index = _first(wrong)
        wanted: Number = want.value[index].item()
        actual = _item(param.element, got, index)
        if param.access == "out" and got[index].tobytes() == bytes([poison]) * got.dtype.itemsize:
            message = f"output `{param.name}`, {_index_text(index)}: expected {_number(wanted)}, never written"
            return _failure("never-written", inputs, param.name, index, wanted, None, message)
        message = f"output `{param.name}`, {_index_text(index)}: expected {_number(wanted)}, got {_number(actual)}"
        return _failure("wrong-value", inputs, param.name, index, wanted, actual, message)
    return None


def _unstable(spec: Spec, inputs: Inputs, results: list[dict[str, Array]]) -> Failure | None:
    """Both launches must agree bit for bit, whatever the outputs held before."""
    first, second = results
    for param in spec.outputs:
        bits = f"u{DTYPES[param.element].itemsize}"
        a, b = (np.ascontiguousarray(result[param.name]) for result in (first, second))
        differs = a.view(bits) != b.view(bits)
        if param.element in PRECISIONS:
            differs &= ~(np.isnan(widen(param.element, a)) & np.isnan(widen(param.element, b)))
        if differs.any():
            index = _first(differs)
            one, other = (_item(param.element, item, index) for item in (a, b))
            message = (
                f"output `{param.name}`, {_index_text(index)}: {_number(one)} in one launch and "
                f"{_number(other)} in the next, from the same inputs"
            )
            return _failure("unstable", inputs, param.name, index, one, other, message)
    return None


def _fault(faults: tuple[Fault, ...], inputs: Inputs) -> Failure:
    if not faults:
        return _failure("launch", inputs, None, None, None, None, "the launch failed without saying why")
    fault = faults[0]
    places = [
        f"line {fault.line}" if fault.line else "",
        f"block {_triple(fault.block)}" if fault.block is not None else "",
        f"thread {_triple(fault.thread)}" if fault.thread is not None else "",
    ]
    told = ", ".join(place for place in places if place)
    return _failure(fault.kind, inputs, None, None, None, None, fault.message + (f" ({told})" if told else ""))


def _triple(value: tuple[int, int, int]) -> str:
    """As many dimensions as say something."""
    used = 3 if value[2] else 2 if value[1] else 1
    return ", ".join(map(str, value[:used]))


def _located(failure: Failure, inputs: Inputs) -> Failure:
    return _failure(failure.check, inputs, None, None, None, None, failure.message, place=False)


def _failure(
    check: str, inputs: Inputs, output: str | None, index: tuple[int, ...] | None,
    expected: Number | None, actual: Number | None, message: str, *, place: bool = True,
) -> Failure:  # fmt: skip
    sizes = ", ".join(f"{name} = {value}" for name, value in inputs.sizes.items())
    if place and sizes:
        message += f", at {sizes}"
    shown: dict[str, Any] = {name: value for name, value in inputs.scalars.items() if name not in inputs.sizes}
    at = index[0] if index is not None and len(index) == 1 else index
    return Failure(
        check,
        inputs.sizes,
        output,
        at,
        expected,
        actual,
        message,
        {**shown, **_told_arrays(inputs, output, index)},
    )


def _told_arrays(inputs: Inputs, output: str | None, index: tuple[int, ...] | None) -> dict[str, Any]:
    """Small arrays whole; of larger ones that have the output's shape, the element that belongs to it."""
    told: dict[str, Any] = {}
    for name, array in inputs.arrays.items():
        if array.size <= _SHOWN:
            told[name] = array.tolist()
        elif output is not None and index is not None and array.shape == inputs.shapes[output]:
            told[f"{name}[{', '.join(map(str, index))}]"] = array[index].item()
    return told


def _first(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _item(element: str, array: Array, index: tuple[int, ...]) -> Number:
    value: Number = widen(element, np.asarray(array[index]))[()].item()
    return value


def _index_text(index: tuple[int, ...]) -> str:
    return f"index {index[0]}" if len(index) == 1 else f"index ({', '.join(map(str, index))})"


def _number(value: Number) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value:.1f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.9g}"
