"""Every key of a TOML text is found on its line."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from ptxgen.spec.lines import key_lines, line_of

TEXT = '''\
# a comment with [brackets] and "quotes"
title = "a # b"

[kernel]        # header
name = 'x = 1'
"quoted key" = 1
params = [      # comment, [
  { name = "a", shape = ["n", "m"] },

  { name = """two
lines""", type = "f32*" },
]
a.b.c = 2
[[list]]
v = 1
[[list]]
v = [
  1,
  [2, 3],
]
'''


def test_lines_of_keys():
    lines = key_lines(TEXT)
    assert lines[("title",)] == 2
    assert lines[("kernel",)] == 4
    assert lines[("kernel", "quoted key")] == 6
    assert lines[("kernel", "params", 0, "shape", 1)] == 8
    assert lines[("kernel", "params", 1, "name")] == 10
    assert lines[("kernel", "params", 1, "type")] == 11
    assert lines[("kernel", "a", "b", "c")] == 13
    assert lines[("list", 0, "v")] == 15
    assert lines[("list", 1, "v", 1)] == 19


def test_unknown_path_falls_back_to_what_encloses_it():
    lines = key_lines(TEXT)
    assert line_of(lines, ("kernel", "missing")) == 4
    assert line_of(lines, ("nothing",)) == 1


_KEYS = st.text("abcdefg_", min_size=1, max_size=4)
_VALUES = st.recursive(
    st.sampled_from(["1", "-2.5", "true", '"text"', "'# no comment'", '"a\\"]b"', '"""\nx\n"""']),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: "[\n" + ",\n".join(items) + "]"),
    max_leaves=5,
)


@given(st.lists(st.tuples(_KEYS, _VALUES), max_size=6, unique_by=lambda item: item[0]))
def test_every_key_is_on_the_line_where_it_is_written(pairs):
    text, expected, line = "", {}, 1
    for key, value in pairs:
        expected[key] = line
        row = f"{key} = {value}\n"
        text += row
        line += row.count("\n")
    tomllib.loads(text)
    assert {key: key_lines(text)[(key,)] for key in expected} == expected


@given(st.text(max_size=200))
def test_never_hangs_or_raises_on_any_toml(text):
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    key_lines(text)
