"""The exported grammars: loaded by the engines they are for, and held against kernels right and wrong."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import lark
import pytest
from llguidance import LLMatcher

from ptxgen.cli.app import run
from ptxgen.decoding.export import kernel_grammar
from ptxgen.isa import load_table
from ptxgen.models import open_session
from ptxgen.spec import load_spec

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted((ROOT / "tests" / "kernels").glob("*.ptx"))

#: (what is wrong, the line it takes the place of, the wrong line), in saxpy's kernel
WRONG = [
    ("an opcode nobody knows", "\tfma.rn.f32 ", "\tfmaa.rn.f32 "),
    ("an opcode without its rounding", "\tfma.rn.f32 ", "\tfma.f32 "),
    ("a register of the wrong class", "\tfma.rn.f32 %f", "\tfma.rn.f32 %rd"),
    ("a register that is not declared", "\tfma.rn.f32 %f", "\tfma.rn.f32 %f9"),
    ("a parameter at the wrong type", "ld.param.f32 ", "ld.param.u32 "),
    ("a parameter that does not exist", "[param_a]", "[param_b]"),
    ("an operand too few", ", [param_a]", ""),
    ("another target", ".target sm_80", ".target sm_90"),
    ("another signature", ".param .f32 param_a", ".param .u32 param_a"),
    ("no end", "}\n", "\n"),
]


@cache
def exported(name: str, notation: str) -> str:
    spec = load_spec(ROOT / "examples" / f"{name}.toml")
    return kernel_grammar(spec, load_table(), spec.target.arch[0], notation)  # type: ignore[arg-type]


@cache
def saxpy_parser() -> lark.Lark:
    return lark.Lark(exported("saxpy", "lark"), parser="lalr")


def saxpy() -> str:
    return (ROOT / "tests" / "kernels" / "saxpy.ptx").read_text()


def guided(grammar: str, text: str) -> bool:
    """Whether llguidance takes the whole text and then the end."""
    tokenizer = open_session("random").ll_tokenizer()
    matcher = LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), matcher.get_error()
    tokens = tokenizer.tokenize_bytes(text.encode())
    whole = matcher.validate_tokens(tokens) == len(tokens)
    return whole and matcher.consume_tokens(tokens) and matcher.is_accepting()


# ---------------------------------------------------------------- Lark


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.stem)
def test_llguidance_takes_every_correct_kernel(kernel: Path) -> None:
    assert guided(exported(kernel.stem, "lark"), kernel.read_text())


def test_lark_takes_the_correct_kernel() -> None:
    tree = saxpy_parser().parse(saxpy())
    assert tree.data == "start"


@pytest.mark.parametrize(("what", "right", "wrong"), WRONG, ids=[w[0] for w in WRONG])
def test_wrong_kernels_are_refused(what: str, right: str, wrong: str) -> None:
    text = saxpy().replace(right, wrong)
    assert text != saxpy(), f"saxpy's kernel has no {right!r}"
    with pytest.raises(lark.UnexpectedInput):
        saxpy_parser().parse(text)
    assert not guided(exported("saxpy", "lark"), text)


# ---------------------------------------------------------------- GBNF

_TOKEN = re.compile(
    r"""\s+ | \#[^\n]*\n | (?P<string>"(?:\\["\\nt]|[^"\\\n])*") | (?P<set>\[(?:\\.|[^\]\n])+\])
    | (?P<define>[a-z][a-z0-9-]*\s*::=) | (?P<name>[a-z][a-z0-9-]*) | (?P<count>[?*+]|\{[0-9]+(?:,[0-9]*)?\})
    | (?P<other>[()|])""",
    re.VERBOSE,
)


def gbnf_rules(text: str) -> dict[str, list[tuple[str, str]]]:
    """The rules, each a list of (kind, text). Fails on anything that is not of the notation."""
    rules: dict[str, list[tuple[str, str]]] = {}
    position, current = 0, ""
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None, f"not GBNF: {text[position : position + 60]!r}"
        position = match.end()
        if match["define"]:
            current = match["define"].removesuffix("::=").strip()
            assert current not in rules, f"{current} is defined twice"
            rules[current] = []
        elif match.lastgroup:
            rules[current].append((match.lastgroup, match[match.lastgroup]))
    return rules


def gbnf_expression(rules: dict[str, list[tuple[str, str]]], name: str) -> str:
    """The rule as a Python expression: these grammars do not recur, so every name can be written out."""
    out, depth = [], 0
    for kind, text in rules[name]:
        if kind == "name":
            assert text in rules, f"{text} is not defined"
            out.append(f"(?:{gbnf_expression(rules, text)})")
        elif kind == "string":
            plain = text[1:-1].replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\")
            assert plain, "an empty string"
            out.append(f"(?:{re.escape(plain)})")
        else:
            depth += {"(": 1, ")": -1}.get(text, 0)
            assert depth >= 0
            if kind == "count":
                assert out, "a count with nothing before it"
                assert out[-1] not in {"(", "|"}, "a count with nothing before it"
            out.append(text)
    assert depth == 0, f"{name} has an open group"
    return "".join(out)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.stem)
def test_gbnf_says_the_same(kernel: Path) -> None:
    rules = gbnf_rules(exported(kernel.stem, "gbnf"))
    whole = gbnf_expression(rules, "root")
    used = {text for rule in rules.values() for kind, text in rule if kind == "name"}
    assert set(rules) - used == {"root"}
    text = kernel.read_text()
    assert re.fullmatch(whole, text)
    if kernel.stem == "saxpy":
        for what, right, wrong in WRONG:
            assert not re.fullmatch(whole, text.replace(right, wrong)), what


@pytest.mark.model
def test_a_model_writes_by_the_gbnf_grammar(small_llama: Any) -> None:
    from llama_cpp import LlamaGrammar

    grammar = exported("saxpy", "gbnf")
    header = gbnf_rules(grammar)["header"][0][1]
    rest = grammar.replace(f"header ::= {header}", 'header ::= "{\\n"')
    compiled = LlamaGrammar.from_string(rest, verbose=False)
    answer = small_llama("A PTX kernel:\n", grammar=compiled, max_tokens=60, seed=1)
    text = answer["choices"][0]["text"]
    lines = text.removeprefix("{\n").split("\n")[:-1]
    assert lines, text
    statement = gbnf_expression(gbnf_rules(grammar), "statement")
    assert all(re.fullmatch(statement, f"{line}\n") for line in lines)


# ---------------------------------------------------------------- the command


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["grammar", str(ROOT / "examples" / "saxpy.toml"), "--format", "gbnf"]) == 0
    assert capsys.readouterr().out == exported("saxpy", "gbnf")
    assert run(["grammar", str(ROOT / "examples" / "saxpy.toml"), "--format", "ebnf"]) == 2
    assert "lark" in capsys.readouterr().err
    assert run(["grammar", str(ROOT / "examples" / "saxpy.toml"), "--format", "lark", "--arch", "sm_90"]) == 0
    assert ".target sm_90" in capsys.readouterr().out
