"""Specs that cannot tell a right kernel from a lazy one are refused; Python oracles; oracles that fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptxgen.spec import SpecError, load_spec, parse_spec
from ptxgen.verifying import check_oracle, verify

from .fake_executor import FakeExecutor

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
TEXT = """\
[kernel]
name = "k"
task = "something"
params = [
  { name = "x",   type = "f32*", access = "in",  shape = ["n"] },
  { name = "out", type = "f32*", access = "out", shape = ["n"] },
  { name = "n",   type = "u32" },
]
[launch]
block = [64]
grid  = ["ceil(n / 64)"]
[oracle]
expr = "2 * x"
[verify]
"""


def spec_with(expr: str = "2 * x", verify: str = "", path: Path = Path("spec.toml")):
    return parse_spec(TEXT.replace('"2 * x"', f'"{expr}"') + verify, path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_strong_enough(path):
    check_oracle(load_spec(path))


@pytest.mark.parametrize(
    ("expr", "verify", "fake"),
    [
        ("0 * x", "values = { x = [0, 1] }", "zeros"),
        ("0 * x + 3", "", "constant 3"),
        ("maximum(x, 0)", "values = { x = [0, 9] }", "copy of `x`"),
        ("2 * x", "tolerance = { atol = 1e6 }", "zeros"),
        ("x + 1e-9", "values = { x = [1, 2] }", "copy of `x`"),
        ("2 * x", "sizes = { n = [0, 0] }", "empty"),
    ],
)
def test_weak_specs_are_refused(expr, verify, fake):
    with pytest.raises(SpecError, match="too weak") as caught:
        check_oracle(spec_with(expr, verify))
    assert fake in caught.value.why
    assert caught.value.where == "spec.toml:12"


def test_an_inout_that_nothing_changes_is_refused():
    text = TEXT.replace('"f32*", access = "out"', '"f32*", access = "inout"').replace("2 * x", "out + 0 * x")
    with pytest.raises(SpecError, match="too weak") as caught:
        check_oracle(parse_spec(text))
    assert "untouched" in caught.value.why


@pytest.mark.parametrize("expr", ["x", "x[::-1]", "arange(n)", "where(x > 0, 1.0, 0.0)", "2 * x"])
def test_copies_permutations_and_constant_sequences_are_fine(expr):
    check_oracle(spec_with(expr))


def test_verify_refuses_a_weak_spec_before_running_anything():
    executor = FakeExecutor(lambda *values: None)
    with pytest.raises(SpecError, match="too weak"):
        verify(spec_with("0 * x", "values = { x = [0, 1] }"), "", executor)
    assert not executor.launches


@pytest.mark.parametrize(
    ("expr", "fragment"),
    [
        ("x[5]", "fails"),
        ("reshape(x, (3, 7))", "fails"),
        ("sum(x, axis=3)", "fails"),
        ("max(x)", "fails"),
        ("concatenate((x, x))", "the shape"),
        ("zeros(10 ** 9)", "fails"),
        ("x << 2", "needs integers"),
        ("exp(x, axis=0, bad=1)", "fails"),
    ],
)
def test_oracles_that_fail_say_where(expr, fragment):
    with pytest.raises(SpecError) as caught:
        check_oracle(spec_with(expr))
    assert fragment in f"{caught.value.what} {caught.value.why}"
    assert caught.value.where == "spec.toml:13"
    assert " at n = " in caught.value.what


# ---------------------------------------------------------------- Python oracles


def python_spec(folder: Path, source: str):
    (folder / "oracle.py").write_text(source)
    text = TEXT.replace('expr = "2 * x"', 'python = "oracle.py:twice"')
    return parse_spec(text, folder / "spec.toml")


def double(x, out, n):
    out[:] = x + x


def test_python_oracle(tmp_path):
    spec = python_spec(
        tmp_path,
        "import numpy as np\n"
        "def twice(given):\n"
        "    assert given['x'].dtype == np.float64 and type(given['n']) is int\n"
        "    given['x'] *= 2\n"
        "    return {'out': given['x']}\n",
    )
    assert verify(spec, "", FakeExecutor(double), examples=30).ok
    assert not verify(spec, "", FakeExecutor(lambda x, out, n: None)).ok
    slightly = FakeExecutor(lambda x, out, n: np.copyto(out, x * np.float32(2 + 1e-4)))
    assert not verify(spec, "", slightly, examples=30).ok


@pytest.mark.parametrize(
    ("source", "fragment", "line"),
    [
        ("def twice(given):\n    return given['y']\n", "KeyError: 'y'", 2),
        ("def twice(given):\n    raise SystemExit(3)\n", "SystemExit", 2),
        ("import nowhere_to_be_found\ndef twice(given):\n    return {}\n", "No module named", 1),
        ("1 / 0\ndef twice(given):\n    return {}\n", "ZeroDivisionError", 1),
    ],
)
def test_python_oracles_that_raise_say_where(tmp_path, source, fragment, line):
    with pytest.raises(SpecError, match="function fails") as caught:
        check_oracle(python_spec(tmp_path, source))
    assert fragment in caught.value.why
    assert caught.value.where == f"{tmp_path / 'oracle.py'}:{line}"


@pytest.mark.parametrize(
    ("result", "fragment"),
    [
        ("None", "must give a dict"),
        ("{}", "gives no `out`"),
        ("{'out': 'text'}", "no array of numbers"),
        ("{'out': [[1], [2, 3]]}", "no array"),
        ("{'out': given['x'][:2]}", "the shape"),
    ],
)
def test_python_oracles_that_give_nonsense(tmp_path, result, fragment):
    with pytest.raises(SpecError) as caught:
        check_oracle(python_spec(tmp_path, f"def twice(given):\n    return {result}\n"))
    assert fragment in f"{caught.value.what} {caught.value.why}"
