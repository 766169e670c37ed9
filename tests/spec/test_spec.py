"""What a loaded spec offers to the rooms that use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxgen.isa import load_table
from ptxgen.spec import Spec, SpecError, complete_sizes, free_sizes, load_spec, parse_spec, size_range

from .samples import VALID, changed

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def test_what_the_sample_says():
    spec = parse_spec(VALID, Path("scale.toml"))
    assert spec.sizes == ("n",)
    assert [p.name for p in spec.inputs] == ["x"]
    assert [p.name for p in spec.outputs] == ["out"]
    assert [p.name for p in spec.scalars] == ["a", "n"]
    x, _, a, _ = spec.kernel.params
    assert (x.pointer, x.element, x.access, [size.text for size in x.shape]) == (True, "f32", "in", ["n"])
    assert (a.pointer, a.element, a.access, a.shape) == (False, "f32", "in", ())
    assert spec.target.arch == ("sm_80",)
    assert spec.expressions["out"].names == {"a", "x"}
    assert spec.where("launch", "grid") == "scale.toml:13"
    assert spec.threads == 256


def test_defaults():
    spec = parse_spec(VALID)
    assert spec.verify.examples == 100
    assert spec.verify.tolerance == "auto"
    assert spec.decode.level is None
    assert spec.constraints.registers is None
    assert spec.launch.shared_bytes.evaluate({}) == 0


def test_launch_at_sizes():
    spec = parse_spec(VALID)
    assert spec.launch_at({"n": 257}).grid == (2, 1, 1)
    assert spec.launch_at({"n": 0}).grid == (0, 1, 1)
    assert spec.launch_at({"n": 1}).block == (256, 1, 1)
    with pytest.raises(SpecError, match="x dimension"):
        spec.launch_at({"n": 2**50})


def test_shared_bytes_may_depend_on_sizes():
    spec = parse_spec(changed("block = [256]", 'block = [256]\nshared_bytes = "4 * n"'))
    assert spec.launch_at({"n": 10}).shared_bytes == 40
    with pytest.raises(SpecError, match="shared_bytes is"):
        spec.launch_at({"n": 10**6})


def test_the_spec_limits_shared_memory():
    text = changed("block = [256]", 'block = [256]\nshared_bytes = "4 * n"')
    with pytest.raises(SpecError, match="shared_bytes is 2000"):
        parse_spec(text + "\n[constraints]\nshared_bytes = 1024\n")


def test_header_is_exactly_the_house_style():
    text = changed("block = [256]", "block = [256]\nshared_bytes = 64")
    text += "\n[constraints]\ndeclare = { b32 = 7, f16 = 1 }\n".replace(", f16 = 1", "")
    spec = parse_spec(text.replace('{ name = "a",   type = "f32" }', '{ name = "a",   type = "bf16" }'))
    table = load_table()
    header = spec.header("sm_80", table)
    classes = "".join(
        f"\t.reg .{kind.type} {kind.prefix}<{7 if name == 'b32' else kind.default}>;\n"
        for name, kind in table.register_classes.items()
    )
    assert header == (
        ".version 7.0\n.target sm_80\n.address_size 64\n\n"
        ".extern .shared .align 16 .b8 smem[];\n\n"
        ".visible .entry scale(\n\t.param .u64 param_x,\n\t.param .u64 param_out,\n"
        "\t.param .b16 param_a,\n\t.param .u32 param_n\n)\n{\n" + classes + "\n"
    )


def test_header_without_shared_memory_has_no_symbol():
    assert "smem" not in parse_spec(VALID).header("sm_80", load_table())


def test_header_takes_the_lowest_version_or_the_one_asked_for():
    table = load_table()
    assert parse_spec(VALID).header("sm_90", table).startswith(".version 7.8\n.target sm_90\n")
    asked = parse_spec(changed('arch = "sm_80"', 'arch = "sm_80"\nptx = "8.0"'))
    assert asked.header("sm_80", table).startswith(".version 8.0\n")


def test_sizes_may_be_computed_from_others():
    text = changed('  { name = "n",', '  { name = "half",   type = "u32" },\n  { name = "n",')
    spec = parse_spec(text.replace("n = [0, 500]", 'n = "2 * half", half = [1, 9]'))
    assert free_sizes(spec) == ("half",)
    assert complete_sizes(spec, {"half": 4}) == {"half": 4, "n": 8}
    assert size_range(spec, "half") == (1, 9)


def test_a_scalar_that_no_shape_names_is_no_size():
    spec = parse_spec(changed('{ name = "a",   type = "f32" }', '{ name = "a",   type = "u32" }'))
    assert spec.sizes == ("n",)


def test_python_oracle_is_found_beside_the_spec(tmp_path):
    text = changed('expr = "a * x"', 'python = "oracle.py:scale"')
    path = tmp_path / "spec.toml"
    path.write_text(text)
    (tmp_path / "oracle.py").write_text("def scaled(inputs):\n    return {}\n")
    with pytest.raises(SpecError, match="no function `scale`") as caught:
        load_spec(path)
    assert "`scaled`" in caught.value.fix
    (tmp_path / "oracle.py").write_text("def scale(inputs:\n")
    with pytest.raises(SpecError, match="not Python"):
        load_spec(path)
    (tmp_path / "oracle.py").write_text("def scale(inputs):\n    return {}\n")
    assert load_spec(path).oracle.python == "oracle.py:scale"


def test_source_is_found_beside_the_spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(VALID + '\n[source]\ncuda = "kernel.cu"\n')
    with pytest.raises(SpecError, match=r"no file .*kernel\.cu"):
        load_spec(path)
    (tmp_path / "kernel.cu").write_text("__global__ void scale() {}\n")
    spec = load_spec(path)
    assert spec.source is not None
    assert spec.source.cuda == "kernel.cu"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_load(path):
    spec = load_spec(path)
    assert isinstance(spec, Spec)
    assert spec.kernel.name == path.stem
    spec.header(spec.target.arch[0], load_table())


def test_all_twelve_examples_are_there():
    assert len(EXAMPLES) >= 12
