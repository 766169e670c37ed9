"""The files that speed is measured on: as long as was asked for, PTX throughout, names made fresh."""

from __future__ import annotations

import pytest

from bench.made_files import make, statements, suitable
from bench.recovery import texts
from ptxgen.ptx import parse, parse_tolerant

_POOL = statements(texts())


@pytest.mark.parametrize("lines", [100, 1000, 3000])
def test_length_and_names(lines: int) -> None:
    text = make(_POOL, lines)
    assert abs(text.count("\n") - lines) <= 0.03 * lines + 12
    assert len(parse(text).entries()) == -(-(lines - 3) // 250)
    written = [line for line in text.split("\n") if line.startswith("\t") and "%r" in line and ".reg" not in line]
    assert len(set(written)) > 0.9 * len(written)


def test_statements_are_many_and_need_no_declaration() -> None:
    assert len(_POOL) > 100
    assert not any("param" in line or "$" in line for line in _POOL)


def test_only_what_a_parser_takes_is_left() -> None:
    taken = suitable(_POOL, lambda text: "fma" not in text and not parse_tolerant(text)[1])
    assert taken == [line for line in _POOL if "fma" not in line]
