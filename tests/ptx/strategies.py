"""Hypothesis strategies for PTX: texts of statements, and trees."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from ptxgen.ptx import constants
from ptxgen.ptx.tree import (
    Address,
    Arguments,
    Block,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    Module,
    Name,
    Negated,
    Pair,
    Variable,
    Vector,
)

_FOLLOWING = string.ascii_letters + string.digits + "_$"
plain_names = st.one_of(
    st.builds(str.__add__, st.sampled_from(["%r", "%rd", "%f", "%p", "$L_", "_x", "v"]), st.integers(0, 99).map(str)),
    st.builds(str.__add__, st.sampled_from(list(string.ascii_letters)), st.text(_FOLLOWING, max_size=6)),
).filter(lambda name: name not in ("call", "WARP_SZ"))
operand_names = st.one_of(plain_names, st.sampled_from(["%tid.x", "v.y", "_"]))
literals = st.one_of(
    st.integers(0, 2**64 - 1).map(str),
    st.integers(0, 2**64 - 1).map(hex),
    st.integers(0, 2**20).map(lambda n: f"0{n:o}"),
    st.integers(0, 2**20).map(lambda n: f"0b{n:b}"),
    st.integers(0, 2**31).map(lambda n: f"{n}U"),
    st.integers(0, 2**32 - 1).map(lambda n: f"0f{n:08X}"),
    st.integers(0, 2**64 - 1).map(lambda n: f"0d{n:016x}"),
    st.floats(0, 1e30).map(lambda x: f"{x:f}"),
    st.floats(1e-30, 1e30).map(lambda x: f"{x:e}"),
    st.sampled_from([".5", "1.", "1e5"]),
)
words = st.sampled_from(
    ["add", "f32", "global", "shared::cta", "L2::128B", "v4", "rn", "u32", "2d", "m16n8k16", "b64", "to"]
)
opcodes = st.builds(
    lambda name, modifiers: ".".join([name, *modifiers]),
    st.sampled_from(["add", "ld", "st", "setp", "bra", "ret", "tex", "mma", "tcgen05", "bar"]),
    st.lists(words, max_size=5),
)

immediates = literals.map(constants.literal)
names = operand_names.map(Name)
elements = st.one_of(names, immediates)
vectors = st.lists(elements, min_size=1, max_size=4).map(lambda e: Vector(tuple(e)))
offsets = st.integers(-(2**31), 2**31)
addresses = st.one_of(
    st.builds(Address, plain_names.map(Name), offsets),
    st.builds(Address, st.none(), st.integers(0, 2**31)),
    st.builds(Address, plain_names.map(Name), offsets, st.lists(vectors, min_size=1, max_size=2).map(tuple)),
    st.builds(Address, plain_names.map(Name), offsets, st.just(()), st.just(False)),
)
operands = st.one_of(
    elements,
    addresses,
    vectors,
    st.builds(Negated, plain_names.map(Name)),
    st.builds(Pair, names, names),
    st.builds(Pair, vectors, plain_names.map(Name)),
)
guards = st.one_of(st.none(), st.builds(Guard, plain_names, st.booleans()))
instructions = st.builds(Instruction, opcodes, st.lists(operands, max_size=4).map(tuple), guards)
calls = st.builds(
    lambda results, name, given: Instruction(
        "call.uni", (*((Arguments(tuple(results)),) if results else ()), Name(name), Arguments(tuple(given)))
    ),
    st.lists(plain_names.map(Name), max_size=1), plain_names, st.lists(elements, max_size=3),
)  # fmt: skip
registers = st.builds(
    lambda kind, name, count: Variable("reg", kind, name, count),
    st.sampled_from(["b32", "f32", "pred", "u64"]), plain_names, st.one_of(st.none(), st.integers(1, 99)),
)  # fmt: skip
arrays = st.builds(
    lambda space, name, extents, alignment: Variable(space, "b8", name, None, 1, alignment, tuple(extents)),
    st.sampled_from(["shared", "local", "param"]), plain_names, st.lists(st.integers(1, 64), max_size=2),
    st.sampled_from([None, 4, 16]),
)  # fmt: skip
labels = plain_names.filter(lambda name: not name.startswith("%")).map(Label)
flat_statements = st.one_of(instructions, labels, calls, registers, arrays)
statements = st.one_of(flat_statements, st.lists(flat_statements, max_size=3).map(lambda s: Block(tuple(s))))


@st.composite
def globals_(draw: st.DrawFn) -> Variable:
    """An initialised variable of the module, one or two dimensions."""
    extents = draw(st.lists(st.integers(1, 4), max_size=2))
    kind, value = draw(
        st.sampled_from([("u32", constants.literal("7")), ("f64", constants.literal("2.5")), ("u64", Name("other"))])
    )
    full = 1
    for extent in extents:
        full *= extent
    count = draw(st.integers(1, full)) if len(extents) < 2 else full
    linkage = draw(st.sampled_from([(), ("visible",), ("weak",)]))
    values: tuple[Name | Immediate, ...] = (value,) * count
    return Variable("global", kind, draw(plain_names), None, 1, None, tuple(extents), values, linkage)


modules = st.builds(
    lambda items, bodies: Module("8.0", ("sm_90",), 64, (*items, *bodies)),
    st.lists(globals_(), max_size=3),
    st.lists(
        st.builds(
            lambda name, params, body: Function("entry", name, tuple(params), (), ("visible",), (), tuple(body)),
            plain_names,
            st.lists(plain_names.map(lambda n: Variable("param", "u64", n)), max_size=3),
            st.lists(statements, max_size=6),
        ),
        max_size=2,
    ),
)
