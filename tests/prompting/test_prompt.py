"""The prompt: what it says, in which order, how long it is; and the turns that ask for a repair."""

from __future__ import annotations

import pytest

from ptxgen.isa import load_table
from ptxgen.prompting import build_prompt, estimated_tokens, instruction_card, negative_example, repair_turns
from ptxgen.prompting.building import BUDGETS
from ptxgen.prompting.card import available, card_lines, fill, mistakes
from ptxgen.spec import load_spec, parse_spec

from .kernels import EXAMPLES, ROOT, correct_kernels

every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
SAXPY = (ROOT / "examples" / "saxpy.toml").read_text(encoding="utf-8")


def prompt_of(name: str, arch: str = "sm_80"):
    return build_prompt(load_spec(ROOT / "examples" / f"{name}.toml"), load_table(), arch)


@every_example
def test_examples_come_first_and_the_task_last(path):
    spec = load_spec(path)
    prompt = build_prompt(spec, load_table(), "sm_80")
    assert [role for role, _ in prompt.turns] == ["user", "assistant"] * len(prompt.references) + ["user"]
    assert f"`{spec.kernel.name}`" in prompt.turns[-1][1]
    for name, (_, asked), (_, answered) in zip(
        reversed(prompt.references), prompt.turns[::2], prompt.turns[1::2], strict=False
    ):
        assert f"`{name}`" in asked
        assert f".entry {name}(" in answered


@every_example
def test_the_answer_begins_with_the_header_as_those_before_it(path):
    spec = load_spec(path)
    prompt = build_prompt(spec, load_table(), "sm_80")
    assert prompt.answer_start == "```ptx\n" + spec.header("sm_80", load_table())
    for role, text in prompt.turns:
        if role == "assistant":
            assert text.startswith("```ptx\n.version ")
            assert text.endswith("}\n```")


@every_example
def test_length(path):
    prompt = build_prompt(load_spec(path), load_table(), "sm_80")
    assert len(prompt.references) >= 2
    assert estimated_tokens(prompt.text) <= BUDGETS[len(prompt.references)]


@every_example
def test_the_answer_is_not_in_the_prompt(path):
    text = build_prompt(load_spec(path), load_table(), "sm_80").text
    kernel = next(k for k in correct_kernels() if k.name == path.stem)
    assert "\n".join(kernel.body()) not in text
    assert text.count(f".entry {path.stem}(") == 1


def test_the_same_spec_gives_the_same_prompt():
    assert prompt_of("softmax") == prompt_of("softmax")


def test_target_and_constraints_are_told():
    text = SAXPY + '\n[constraints]\nrequire = ["fma"]\nforbid = ["div"]\nregisters = 32\n'
    prompt = build_prompt(parse_spec(text, ROOT / "saxpy.toml"), load_table(), "sm_90")
    last = prompt.turns[-1][1]
    limits = ("Must use: fma", "Must not use: div", "At most 32")
    for told in ("sm_90", *limits, "a: f32", "x: f32*[n] (in)", "a * x + y"):
        assert told in last
    assert ".target sm_90" in prompt.answer_start


def test_every_opcode_on_the_card_is_in_the_table():
    for line in card_lines():
        for element in line.types or ("f32", "f64", "f16", "u32", "s32"):
            spec = parse_spec(SAXPY.replace("f32", element), ROOT / "saxpy.toml")
            assert available(fill(line.text, spec), load_table(), "sm_90"), line.text


def test_the_card_holds_what_the_task_needs_and_no_more():
    table = load_table()
    softmax = "\n".join(instruction_card(load_spec(ROOT / "examples" / "softmax.toml"), table, "sm_80"))
    assert "ex2.approx.f32" in softmax
    assert "0f3FB8AA3B" in softmax
    assert "shfl" not in softmax
    warp = "\n".join(instruction_card(load_spec(ROOT / "examples" / "warp_sum.toml"), table, "sm_80"))
    assert "shfl.sync.down.b32" in warp
    assert "ex2" not in warp


def test_a_line_that_the_target_lacks_is_left_out():
    table = load_table()
    spec = parse_spec(SAXPY.replace("a * x + y", "a * tanh(x) + y"), ROOT / "saxpy.toml")
    assert any("tanh.approx" in line for line in instruction_card(spec, table, "sm_80"))
    assert not any("tanh.approx" in line for line in instruction_card(spec, table, "sm_70"))


def test_mistakes_are_mistakes_and_corrections_are_right():
    spec, table = load_spec(ROOT / "examples" / "saxpy.toml"), load_table()
    for mistake in mistakes():
        assert available(fill(mistake.right, spec), table, "sm_80"), mistake.right
        if mistake.when:
            assert not table.candidates(fill(mistake.wrong, spec).split()[0]), mistake.wrong


@every_example
def test_one_mistake_is_shown(path):
    spec = load_spec(path)
    assert f"not `{negative_example(spec).wrong}`" in build_prompt(spec, load_table(), "sm_80").system


def test_repair_adds_the_kernel_and_the_error_and_keeps_what_was_evaluated():
    prompt = prompt_of("relu")
    repaired = repair_turns(prompt, "PTX TEXT", "line 30: wrong\n  29 | a\n> 30 | b")
    assert repaired.turns[: len(prompt.turns)] == prompt.turns
    assert repaired.answer_start == prompt.answer_start
    (first, kernel), (second, request) = repaired.turns[len(prompt.turns):]
    assert (first, second) == ("assistant", "user")
    assert kernel == "```ptx\nPTX TEXT\n```"
    assert "> 30 | b" in request


def test_a_long_report_is_cut():
    request = repair_turns(prompt_of("relu"), "PTX", "\n".join(f"message {n}" for n in range(100))).turns[-1][1]
    assert "message 3" in request
    assert "message 99" not in request
    assert "more lines" in request
