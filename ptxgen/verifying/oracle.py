"""What every output must hold: the spec's oracle, run on host copies in float64 or exact integers."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ptxgen.spec import Param, Spec, SpecError, referenced_path
from ptxgen.verifying.evaluate import evaluate
from ptxgen.verifying.inputs import Inputs
from ptxgen.verifying.shaping import truncated
from ptxgen.verifying.storage import PRECISIONS, Array, widen, wrap
from ptxgen.verifying.tracked import OracleFailure, Tracked, exact

#: For a Python oracle nothing is known of how its numbers arise: rtol and atol by output type.
DEFAULT_TOLERANCE = {"f64": (1e-12, 1e-13), "f32": (2e-5, 1e-6), "f16": (4e-3, 1e-3), "bf16": (3e-2, 1e-2)}


@dataclass(frozen=True, slots=True)
class Expected:
    """One output. `value`: float64, or integers already wrapped to the type; `bound`: how far from it a
    correct kernel may be before its result is rounded for storage; infinity where nothing is known."""

    kind: str
    value: Array
    bound: Array


def expected_outputs(spec: Spec, inputs: Inputs) -> dict[str, Expected]:
    """By output name, in the output's shape. Raises SpecError when the oracle fails or has the wrong shape."""
    if spec.oracle.python is not None:
        return _by_function(spec, inputs)
    values = {name: exact(value, PRECISIONS.get(spec.param(name).element)) for name, value in _scalars(spec, inputs)}
    for name, stored in inputs.arrays.items():
        element = spec.param(name).element
        values[name] = exact(widen(element, stored), PRECISIONS.get(element))
    outputs = {}
    for param in spec.outputs:
        default = PRECISIONS.get(param.element, PRECISIONS["f32"])
        try:
            result = evaluate(spec.expressions[param.name], values, default)
        except (
            OracleFailure,
            ValueError,
            TypeError,
            IndexError,
            MemoryError,
            OverflowError,
            ZeroDivisionError,
            RecursionError,
        ) as error:
            raise _fault(spec, inputs, f"the oracle of `{param.name}` fails", str(error)) from None
        outputs[param.name] = _finished(spec, param, result, inputs)
    return outputs


def _scalars(spec: Spec, inputs: Inputs) -> list[tuple[str, Any]]:
    values: list[tuple[str, Any]] = []
    for param in spec.scalars:
        value = inputs.scalars[param.name]
        if param.scalar.integer:
            wide = np.uint64 if param.element == "u64" and int(value) >= 2**63 else np.int64
            values.append((param.name, np.array(int(value), dtype=wide)))
        else:
            values.append((param.name, np.float64(value)))
    return values


def _finished(spec: Spec, param: Param, result: Tracked, inputs: Inputs) -> Expected:
    """In the output's shape and kind of number."""
    shape = inputs.shapes[param.name]
    if result.shape != shape:
        if result.value.ndim and result.value.size != 1:
            raise _fault(
                spec,
                inputs,
                f"the oracle gives `{param.name}` the shape {list(result.shape)}",
                f"its parameter says {list(shape)}",
            )
        result = Tracked(
            np.broadcast_to(result.value.reshape(()), shape),
            np.broadcast_to(result.bound.reshape(()), shape),
            result.precision,
        )
    if param.scalar.integer:
        if result.kind == "float":
            result = truncated(param.element, result)
        value = result.value.astype(np.int64) if result.kind == "bool" else result.value
        return Expected(param.element, wrap(param.element, value), result.bound)
    value = result.value.astype(np.float64)
    bound = result.bound
    if result.kind == "int":
        # More digits than float64 has: what was lost on the way here is no fault of the kernel's.
        bound = bound + np.where(np.abs(value) >= 2.0**53, np.abs(value) * 2.0**-53, 0.0)
    return Expected(param.element, value, bound)


def _fault(spec: Spec, inputs: Inputs, what: str, why: str) -> SpecError:
    at = ", ".join(f"{name} = {value}" for name, value in inputs.sizes.items())
    key = "python" if spec.oracle.python is not None else "expr"
    return SpecError(
        what + (f" at {at}" if at else ""),
        where=spec.where("oracle", key),
        why=why,
        fix="mend the oracle, or keep such sizes out with [verify] sizes",
    )


# ---------------------------------------------------------------- Python oracles


def _by_function(spec: Spec, inputs: Inputs) -> dict[str, Expected]:
    assert spec.oracle.python is not None
    file, _, name = spec.oracle.python.rpartition(":")
    path = referenced_path(spec, file)
    function = _load_function(spec, path, name)
    given: dict[str, Any] = dict(_plain_scalars(spec, inputs))
    given.update({key: widen(spec.param(key).element, stored) for key, stored in inputs.arrays.items()})
    with np.errstate(all="ignore"):
        results = _guarded(spec, path, lambda: function(given))
    if not isinstance(results, Mapping):
        raise _fault(spec, inputs, f"{file}:{name} gives {type(results).__name__}", "it must give a dict of outputs")
    outputs = {}
    for param in spec.outputs:
        if param.name not in results:
            raise _fault(spec, inputs, f"{file}:{name} gives no `{param.name}`", f"it gives {sorted(results)}"[:200])
        outputs[param.name] = _given_output(spec, param, results[param.name], inputs)
    return outputs


def _plain_scalars(spec: Spec, inputs: Inputs) -> list[tuple[str, int | float]]:
    return [
        (p.name, int(v) if p.scalar.integer else float(v)) for p in spec.scalars for v in (inputs.scalars[p.name],)
    ]


def _given_output(spec: Spec, param: Param, value: Any, inputs: Inputs) -> Expected:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _fault(spec, inputs, f"the oracle's `{param.name}` is no array", str(error)) from None
    if array.dtype.kind not in "biuf" and not (array.dtype.kind == "O" and param.scalar.integer):
        raise _fault(spec, inputs, f"the oracle's `{param.name}` is no array of numbers", f"dtype {array.dtype}")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    result = _finished(spec, param, exact(array, PRECISIONS.get(param.element)), inputs)
    if param.scalar.integer:
        return result
    rtol, atol = DEFAULT_TOLERANCE[param.element]
    with np.errstate(invalid="ignore"):
        bound = np.where(np.isfinite(result.value), atol + rtol * np.abs(result.value), 0.0)
    return Expected(result.kind, result.value, bound)


def _load_function(spec: Spec, path: Path, name: str) -> Callable[[dict[str, Any]], Any]:
    def load() -> Any:
        return _module(path.resolve(), path.stat().st_mtime_ns)

    function = getattr(_guarded(spec, path, load), name, None)
    if not callable(function):
        raise SpecError(f"{path} has no function `{name}`", where=spec.where("oracle", "python"))
    return function  # type: ignore[no-any-return]


@lru_cache(maxsize=8)
def _module(path: Path, _changed: int) -> Any:
    """The oracle's module, run once for each state of its file."""
    loader = importlib.util.spec_from_file_location(f"ptxgen_oracle_{path.stem}", path)
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    folder = str(path.parent)
    sys.path.insert(0, folder)  # an oracle may import its neighbours
    try:
        loader.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _guarded(spec: Spec, path: Path, action: Callable[[], Any]) -> Any:
    """Run code of the user's; whatever it raises becomes a SpecError at its own line."""
    try:
        return action()
    except (Exception, SystemExit) as error:
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == path.name
        ]
        line = frames[-1].lineno if frames else 1
        raise SpecError(
            "the oracle's function fails", where=f"{path}:{line}", why=f"{type(error).__name__}: {error}"[:300]
        ) from None
