"""Printing and parsing are each other's inverse."""

from __future__ import annotations

from hypothesis import given, settings

from ptxgen.ptx import parse, parse_statement, print_module, print_statement
from ptxgen.ptx.tree import Address, Block, Function, Immediate, Instruction, Module, Name, Statement, Variable
from tests.ptx.strategies import modules, statements


@settings(max_examples=150, deadline=None)
@given(modules)
def test_a_printed_module_parses_to_itself(module: Module) -> None:
    assert parse(print_module(module)) == module


@settings(max_examples=150, deadline=None)
@given(statements)
def test_a_printed_statement_parses_to_itself(statement: Statement) -> None:
    assert parse_statement(print_statement(statement)) == statement


def test_the_house_style() -> None:
    module = Module(
        "7.0", ("sm_80",), 64,
        (
            Variable("shared", "b8", "smem", None, 1, 16, (None,), None, ("extern",)),
            Function(
                "entry", "k", (Variable("param", "u64", "param_x"), Variable("param", "u32", "param_n")), (),
                ("visible",), (),
                (
                    Variable("reg", "b32", "%r", 8),
                    Instruction("ld.param.u32", (Name("%r1"), Address(Name("param_n"), 4))),
                    Block((Instruction("mov.u32", (Name("%r2"), Immediate("1", 1, "int"))),)),
                    Instruction("ret"),
                ),
            ),
        ),
    )  # fmt: skip
    assert print_module(module) == (
        ".version 7.0\n.target sm_80\n.address_size 64\n\n.extern .shared .align 16 .b8 smem[];\n\n"
        ".visible .entry k(\n\t.param .u64 param_x,\n\t.param .u32 param_n\n)\n{\n\t.reg .b32 %r<8>;\n"
        "\tld.param.u32 %r1, [param_n+4];\n\t{\n\t\tmov.u32 %r2, 1;\n\t}\n\tret;\n}\n"
    )


def test_an_offset_of_zero_stays_where_it_is_written() -> None:
    """It means nothing, but ptxas without optimising adds it."""
    for text in ("ld.global.u32 %r1, [%rd1+0];", "tex.1d.v4.f32.s32 {a, b, c, d}, [%rd1+0, {%r1}];"):
        assert print_statement(parse_statement(text)).strip() == text
    plain = "ld.global.u32 %r1, [%rd1];"
    assert print_statement(parse_statement(plain)).strip() == plain
    assert parse_statement(plain) == parse_statement("ld.global.u32 %r1, [%rd1+0];")
