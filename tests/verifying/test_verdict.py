"""The tester tested: right kernels are never rejected, wrong ones always are, and the reason is readable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing.protocol import Buffer, Fault, Outcome
from ptxgen.spec import load_spec, parse_spec
from ptxgen.verifying import verify

from .fake_executor import FakeExecutor
from .kernels import RIGHT

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str):
    return load_spec(EXAMPLES / f"{name}.toml")


def judge(name: str, kernel, **options):
    return verify(example(name), "", FakeExecutor(kernel), **options)


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_pass(name):
    for held_out in (False, True):
        verdict = judge(name, RIGHT[name], seed=5, held_out=held_out, examples=24)
        assert verdict.ok, verdict.failures
        assert verdict.examples == 24
        assert len(verdict.sizes_tried) >= 10


# ---------------------------------------------------------------- wrong kernels


def arrays(values):
    return [value for value in values if isinstance(value, np.ndarray)]


def mutant(name, change):
    """The right kernel, and then `change(inputs, output)`."""

    def kernel(*values):
        RIGHT[name](*values)
        *inputs, output = arrays(values)
        change(inputs, output)

    return kernel


def zeros(inputs, out):
    out[...] = 0


def constant(inputs, out):
    out[...] = 2


def off_by_one(inputs, out):
    out[...] = np.roll(out.ravel(), 1).reshape(out.shape)


def last_is_wrong(inputs, out):
    if out.size:
        out.ravel()[-1] += 1


def changes_an_input(inputs, out):
    if inputs[0].size:
        inputs[0].ravel()[-1] += 1


def not_a_number(inputs, out):
    if out.size and out.dtype.kind == "f":
        out.ravel()[out.size // 2] = np.nan
    elif out.size:
        out.ravel()[0] ^= 1 << 20


def slightly_off(inputs, out):
    """Four units in the last place of f16, some hundred in f32: no rounding does that."""
    if out.dtype.kind == "f":
        out *= out.dtype.type(1.004 if out.dtype == np.float16 else 1 + 3e-5)
    else:
        out += 1


WRONG = (zeros, constant, off_by_one, last_is_wrong, changes_an_input, not_a_number, slightly_off)


#: Every example with one mistake, and every mistake with three examples of different kinds.
_PAIRS = [(name, change) for name in RIGHT for change in (last_is_wrong,)]
_PAIRS += [(name, change) for name in ("saxpy", "histogram", "transpose") for change in WRONG]


@pytest.mark.parametrize(
    ("name", "change"), dict.fromkeys(_PAIRS), ids=lambda value: getattr(value, "__name__", value)
)
def test_wrong_kernels_fail(name, change):
    verdict = judge(name, mutant(name, change))
    assert not verdict.ok
    (failure,) = verdict.failures
    assert failure.check == ("input-modified" if change is changes_an_input else "wrong-value")


@pytest.mark.parametrize("name", RIGHT)
def test_a_kernel_that_does_nothing_fails(name):
    (failure,) = judge(name, lambda *values: None).failures
    assert failure.check == ("wrong-value" if name == "histogram" else "never-written")


@pytest.mark.parametrize("name", ["saxpy", "block_sum", "softmax"])
def test_stale_outputs_fail(name):
    """The first result for each shape is given again and again."""
    first: dict[tuple[int, ...], np.ndarray] = {}

    def kernel(*values):
        RIGHT[name](*values)
        out = arrays(values)[-1]
        out[...] = first.setdefault(out.shape, out.copy())

    assert not judge(name, kernel).ok


@pytest.mark.parametrize(
    ("name", "kernel"),
    {
        "relu": lambda x, out, n: np.copyto(out, x),
        "relu negated": lambda x, out, n: np.copyto(out, np.abs(x)),
        "clamp": lambda x, out, low, high, n: np.copyto(out, np.maximum(np.minimum(x, low), high)),
        "clamp one side": lambda x, out, low, high, n: np.copyto(out, np.maximum(x, low)),
        "lerp": lambda x, y, out, t, n: np.copyto(out, y + t * (x - y)),
        "saxpy": lambda x, y, out, a, n: np.copyto(out, a * y + x),
        "vector_add": lambda x, y, out, n: np.copyto(out, x - y),
        "hypot": lambda x, y, out, n: np.copyto(out, np.abs(x) + np.abs(y)),
        "transpose": lambda x, out, rows, cols: np.copyto(out.ravel(), x.ravel()) or np.copyto(
            out, x.ravel().reshape(out.shape)),
        "histogram": lambda bins, counts, n: np.copyto(counts, np.bincount(bins, minlength=64).astype(np.uint32)),
        "histogram race": lambda bins, counts, n: counts.__setitem__(bins, counts[bins] + 1),
        "softmax without sum": lambda x, out, rows, cols: np.copyto(out, np.exp(x)),
        "half_add in integers": lambda x, y, out, n: np.copyto(
            out, (x.view(np.uint16) + y.view(np.uint16)).view(np.float16)),
        "block_sum of 255": lambda x, out, n: np.copyto(
            out, np.pad(x, (0, -len(x) % 256)).reshape(-1, 256)[:, :255].sum(axis=1)),
        "warp_sum of neighbours": lambda x, out, n: np.copyto(
            out, np.pad(x, (0, -len(x) % 32)).reshape(-1, 32)[:, :31].sum(axis=1)),
        "vector_add one block": lambda x, y, out, n: np.copyto(out[:256], (x + y)[:256]),
        "vector_add full warps": lambda x, y, out, n: np.copyto(
            out[: n // 32 * 32], (x + y)[: n // 32 * 32]),
        "relu flushing": lambda x, out, n: np.copyto(
            out, np.where(x > np.finfo(np.float32).tiny, x, np.float32(0))),
    }.items(),
)  # fmt: skip
def test_plausible_mistakes_are_found(name, kernel):
    assert not judge(name.split()[0], kernel).ok


# ---------------------------------------------------------------- what a failure says


def test_the_smallest_failure_is_told():
    verdict = judge("vector_add", lambda x, y, out, n: np.copyto(out[:256], (x + y)[:256]))
    (failure,) = verdict.failures
    assert failure.check == "never-written"
    assert failure.sizes == {"n": 257}
    assert failure.index == 256
    assert failure.message == f"output `out`, index 256: expected {failure.expected}, never written, at n = 257"


def test_a_wrong_value_is_told_with_its_inputs():
    (failure,) = judge("saxpy", lambda x, y, out, a, n: np.copyto(out, a * x)).failures
    x, y, a = failure.inputs["x"][0], failure.inputs["y"][0], failure.inputs["a"]
    assert failure.sizes == {"n": 1}
    assert failure.expected == pytest.approx(a * x + y)
    assert failure.actual == pytest.approx(a * x)
    assert failure.message == (f"output `out`, index 0: expected {failure.expected}, got {failure.actual}, at n = 1")


def test_places_in_matrices_are_told_by_row_and_column():
    (failure,) = judge("transpose", mutant("transpose", off_by_one)).failures
    assert isinstance(failure.index, tuple)
    assert f"index ({failure.index[0]}, {failure.index[1]})" in failure.message


def test_faults_are_failures_with_their_line():
    fault = Fault("out-of-bounds", "a load of 4 bytes past the end of `x`", 17, (1, 0, 0), (3, 2, 0), 1024)
    executor = FakeExecutor(RIGHT["relu"], [fault])
    (failure,) = verify(example("relu"), "", executor).failures
    assert failure.check == "out-of-bounds"
    assert "past the end of `x` (line 17, block 1, thread 3, 2)" in failure.message
    assert " at n = " in failure.message


def test_results_that_differ_between_launches_fail():
    flip = iter(range(10**6))

    def kernel(x, out, n):
        RIGHT["relu"](x, out, n)
        if out.size:
            out[0] *= np.float32(1 + 2**-23 * (next(flip) % 2))

    # One ulp is within the tolerance of a sum, so only the comparison of the launches can find it.
    def summing(x, out, n):
        RIGHT["block_sum"](x, out, n)
        if out.size:
            out[0] *= np.float32(1 + 2**-23 * (next(flip) % 2))

    assert [f.check for f in judge("block_sum", summing).failures] == ["unstable"]
    assert not judge("relu", kernel).ok


def test_float_atomics_may_differ_within_the_bound():
    flip = iter(range(10**6))

    def kernel(x, out, n):
        RIGHT["block_sum"](x, out, n)
        if out.size:
            out[0] *= np.float32(1 + 2**-23 * (next(flip) % 2))

    ptx = "red.global.add.f32 [%rd1], %f1;"
    assert verify(example("block_sum"), ptx, FakeExecutor(kernel)).ok


def test_an_entry_that_does_not_fit_is_a_failure_and_a_broken_executor_an_error():
    class Refusing(FakeExecutor):
        error: PtxgenError = UsageError("the PTX has no entry 'relu'")

        def run(self, *arguments, **options):
            raise self.error

    (failure,) = verify(example("relu"), "", Refusing(RIGHT["relu"])).failures
    assert failure.check == "signature"
    assert "no entry" in failure.message
    Refusing.error = PtxgenError("no device")
    with pytest.raises(PtxgenError, match="no device"):
        verify(example("relu"), "", Refusing(RIGHT["relu"]))


def test_an_executor_that_breaks_half_way_is_told_once():
    class Breaking(FakeExecutor):
        def run(self, *arguments, **options):
            if len(self.launches) > 70:
                self.launches.append(None)
                raise PtxgenError("the device is gone")
            return super().run(*arguments, **options)

    executor = Breaking(RIGHT["relu"])
    with pytest.raises(PtxgenError, match="the device is gone"):
        verify(example("relu"), "", executor, examples=100)
    assert executor.launches.count(None) == 1


# ---------------------------------------------------------------- how it runs


def test_the_same_seed_runs_the_same_cases_and_held_out_ones_differ():
    def seen(**options):
        inputs = []

        def kernel(x, out, n):
            inputs.append(x.tobytes())
            RIGHT["relu"](x, out, n)

        judge("relu", kernel, examples=30, **options)
        return inputs

    once, again, other, held_out = (seen(seed=3), seen(seed=3), seen(seed=4), seen(seed=3, held_out=True))
    assert once == again
    assert len(set(once) & set(other)) < len(set(once)) / 4
    assert len(set(once) & set(held_out)) < len(set(once)) / 4


def test_every_launch_gets_poisoned_outputs_and_some_shifted_addresses():
    offsets, outputs, access = set(), [], set()

    class Watching(FakeExecutor):
        def run(self, ptx, entry, launch, arguments, *, arch=None):
            x, out, _ = arguments
            assert isinstance(x, Buffer)
            assert isinstance(out, Buffer)
            offsets.update((x.offset, out.offset))
            outputs.append(out.data.tobytes())
            access.add((x.read_only, x.initialised, out.read_only, out.initialised))
            return super().run(ptx, entry, launch, arguments, arch=arch)

    verify(example("relu"), "", Watching(RIGHT["relu"]))
    assert access == {(True, True, False, False)}
    assert 0 in offsets
    assert offsets - {0}
    assert all(offset % 4 == 0 for offset in offsets)
    assert {data[:1] for data in outputs} >= {b"\xff", b"\x55"}


def test_empty_grids_are_not_launched():
    executor = FakeExecutor(RIGHT["relu"])
    verdict = verify(example("relu"), "", executor)
    assert {"n": 0} in verdict.sizes_tried
    assert all(0 not in launch.grid for launch in executor.launches)


def test_telling_sizes_are_all_tried():
    tried = {sizes["n"] for sizes in judge("vector_add", RIGHT["vector_add"]).sizes_tried}
    assert tried >= {0, 1, 31, 32, 33, 255, 256, 257, 97, 513}


def test_fewer_examples():
    assert judge("relu", RIGHT["relu"], examples=7).examples == 7


def test_a_failing_run_does_not_take_forever():
    executor = FakeExecutor(lambda *values: None)
    verify(example("softmax"), "", executor)
    assert len(executor.launches) < 400


def test_all_half_values_reach_a_unary_kernel():
    spec = parse_spec("""
        [kernel]
        name = "twice"
        task = "out[i] = 2 * x[i]"
        params = [
          { name = "x", type = "f16*", access = "in", shape = ["n"] },
          { name = "out", type = "f16*", access = "out", shape = ["n"] },
          { name = "n", type = "u32" },
        ]
        [launch]
        block = [256]
        grid = ["ceil(n / 256)"]
        [oracle]
        expr = "x + x"
        [verify]
        sizes = { n = [0, 4096] }
    """)
    seen: set[int] = set()

    def kernel(x, out, n):
        seen.update(x.view(np.uint16).tolist())
        out[:] = x + x

    assert verify(spec, "", FakeExecutor(kernel)).ok
    finite = np.arange(65536).astype(np.uint16)
    finite = finite[np.isfinite(finite.view(np.float16))]
    assert seen == set(finite.tolist())

    def wrong_once(x, out, n):
        out[:] = np.where(x.view(np.uint16) == 0x1234, x, x + x)

    assert not verify(spec, "", FakeExecutor(wrong_once)).ok


def test_special_values_are_drawn_only_when_asked_for():
    text = (EXAMPLES / "relu.toml").read_text()

    def has_special(spec):
        seen = []

        def kernel(x, out, n):
            seen.append(not np.isfinite(x).all())
            out[:] = np.maximum(x, np.float32(0))

        assert verify(spec, "", FakeExecutor(kernel)).ok
        return any(seen)

    assert not has_special(parse_spec(text))
    assert has_special(parse_spec(text.replace("[verify]", "[verify]\nspecial = true")))


def test_outcomes_need_every_buffer():
    class Forgetful(FakeExecutor):
        def run(self, *arguments, **options):
            return Outcome(True, (), ())

    with pytest.raises(ValueError, match="zip"):
        verify(example("relu"), "", Forgetful(RIGHT["relu"]))
