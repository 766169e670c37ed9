"""The manual's notation: what is read, and what is refused."""

from __future__ import annotations

import pytest

from ptxgen.isa.conditions import parse_availability, parse_condition
from ptxgen.isa.model import Version
from ptxgen.isa.notes import parse_notes
from ptxgen.isa.syntax import parse_syntax


def test_optional_modifiers_stand_in_groups():
    syntax = parse_syntax("min{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b")
    assert syntax.name == "min"
    assert [element.word for element in syntax.elements] == ["ftz", "NaN", "xorsign", "abs", "f32"]
    groups = [element.groups for element in syntax.elements]
    assert groups[2] == groups[3] != groups[1]
    assert groups[4] == ()


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("ret{.uni}", [[]]),
        ("add.type d, a, b", [["d", "a", "b"]]),
        ("bar{.cta}.sync a{, b}", [["a"], ["a", "b"]]),
        ("setp.CmpOp.type p[|q], a, b", [["p", "a", "b"], ["p|q", "a", "b"]]),
        ("ld.type d, [a]{, cache-policy}", [["d", "[a]"], ["d", "[a]", "cache-policy"]]),
        ("cp.async [dst], [src], n{, size}{, policy}",
         [["[dst]", "[src]", "n"], ["[dst]", "[src]", "n", "size"], ["[dst]", "[src]", "n", "policy"],
          ["[dst]", "[src]", "n", "size", "policy"]]),
        ("call{.uni} (ret-param), func, (param-list)", [["(ret-param)", "func", "(param-list)"]]),
        ("mov.type d, {a, b}", [["d", "{a, b}"]]),
        ("bar.red.popc.u32 d, a{, b}, {!}c", [["d", "a", "!c"], ["d", "a", "b", "!c"]]),
        ("tex.1d.v4 d, [a, {b}]", [["d", "[a, b]"]]),
    ],
)  # fmt: skip
def test_operand_lists(text, lists):
    def drawn(pattern):
        return {
            "plain": ("!" if pattern.negatable else "") + pattern.name,
            "pair": "|".join((pattern.name, *pattern.parts)),
            "address": f"[{', '.join((pattern.name, *pattern.parts))}]",
            "vector": "{" + ", ".join((pattern.name, *pattern.parts)) + "}",
            "arguments": f"({pattern.name})",
        }[pattern.shape]

    found = [[drawn(pattern) for pattern in patterns] for patterns in parse_syntax(text).operand_lists]
    assert sorted(found) == sorted(lists)


@pytest.mark.parametrize(
    "text", ["Add.f32 d", "add{.f32 d", "add.f32} d", "add{f32} d", "add.f32 [d", "add.f32 d a", "add.f32 a, , b"]
)
def test_bad_syntax_is_refused(text):
    with pytest.raises(ValueError, match=r"\S"):
        parse_syntax(text)


def test_conditions():
    vector = parse_condition(".v4 .b64|.u64")
    assert vector.holds({"vec": "v4", "type": "u64"})
    assert not vector.holds({"vec": "v2", "type": "u64"})
    assert parse_condition("vec=").holds({"type": "u64"})
    assert parse_condition("!vec= space=.global").holds({"vec": "v2", "space": "global"})
    assert not parse_condition("atype=.f32").holds({"dtype": "f32", "atype": "f16"})
    for bad in ("v4", ".", "atype=f32"):
        with pytest.raises(ValueError, match="condition"):
            parse_condition(bad)


def test_availability():
    assert parse_availability("8.0 sm_90").sm == 90
    assert parse_availability("1.0").ptx == Version(1, 0)
    named = parse_availability("8.6 sm_100a sm_120f")
    assert (named.sm, named.targets) == (100, ("sm_100a", "sm_120f"))
    for bad in ("8", "8.0 90", "eight"):
        with pytest.raises(ValueError, match=r"\S"):
            parse_availability(bad)


def test_notes():
    notes = parse_notes("b32 reg|imm 0..31 when .v2; .type*2 x.vec wider if .L2::cache_hint")
    narrow, wide = notes.alternatives
    assert (narrow.low, narrow.high, narrow.kinds) == (0, 31, {"reg", "imm"})
    assert wide.type is not None
    assert (wide.type.name, wide.type.is_slot, wide.type.scale) == ("type", True, 2.0)
    assert (wide.vector_slot, wide.wider) == ("vec", True)
    assert notes.present is not None
    assert notes.choose({"vec": "v2"}) is narrow
    assert notes.choose({}) is wide
    with pytest.raises(ValueError, match="means nothing"):
        parse_notes("u32 0-31")
