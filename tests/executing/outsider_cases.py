"""Kernels written as other people write them, each with results worked out in Python: `outsiders/*.txt`.

A case is

    === NAME [BLOCKxGRID]
    in NAME TYPE EXPRESSION              a buffer that is read
    out NAME TYPE EXPRESSION => RESULT   a buffer, what it begins with and what it holds afterwards
    val NAME TYPE EXPRESSION             a number
    refused WORDS                        must not run, and the reason has these words
    ptxas-refuses                        assemblers do not take it, and neither does the checker
    ---
    the text of a module

and after the text, perhaps, `+++` and lines `FILLING => RESULT`, each a case of its own: the filling takes the place
of `@@@` in the text (parts separated with `@@@` fill several places in order), the result belongs to the only `out`.
Expressions are Python over the arguments before them, `tid`, `f16(x)`, `f32(x)` and `f64(x)` (bits of a number), and
`math`. A line with `#` in front is a comment. `python -m tests.executing.outsider_cases` asks an assembler whether it
takes what is said to be taken.
"""

from __future__ import annotations

import argparse
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ptxgen.executing import Argument, Buffer, Launch, Scalar

FOLDER = Path(__file__).parent / "outsiders"
PLACE = "@@@"
_DTYPES = {"u8": "u1", "s8": "i1", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8",
           "f32": "f4", "f64": "f8"}
Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Outsider:
    """`expected` by place among the arguments; `refused` are words of the reason why it must not run."""

    family: str
    name: str
    ptx: str
    launch: Launch
    arguments: tuple[Argument, ...]
    expected: Mapping[int, Array]
    refused: str
    taken: bool                       # by ptxas

    @property
    def title(self) -> str:
        return f"{self.family}: {self.name}"


def _bits(form: str, whole: str, value: float) -> int:
    return int(struct.unpack(whole, struct.pack(form, value))[0])


def _evaluate(expression: str, names: Mapping[str, object]) -> object:
    known = {
        "f16": lambda x: _bits("<e", "<H", x), "f32": lambda x: _bits("<f", "<I", x),
        "f64": lambda x: _bits("<d", "<Q", x), "math": math,
    }
    return eval(expression, {**known, **names})  # the expressions are ours


def _array(kind: str, value: object) -> Array:
    dtype = np.dtype(_DTYPES[kind])
    numbers = value if isinstance(value, list | tuple | range) else [value]
    if dtype.kind in "ui":
        wrapped = [int(number) & (1 << dtype.itemsize * 8) - 1 for number in numbers]
        return np.array(wrapped, f"u{dtype.itemsize}").view(dtype)
    return np.array(list(numbers), dtype)


def outsiders(families: tuple[str, ...] = ()) -> Iterator[Outsider]:
    """Every case of the files, or of some of them."""
    for path in sorted(FOLDER.glob("*.txt")):
        if not families or path.stem in families:
            for piece in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]:
                yield from _cases(path.stem, piece)


def _cases(family: str, piece: str) -> Iterator[Outsider]:
    head, _, text = piece.partition("\n---\n")
    name, *lines = head.splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    text, _, fillings = text.partition("\n+++\n")
    if not fillings:
        yield _case(family, name, "", lines, text, None)
    for filling in fillings.splitlines():
        if filling and not filling.startswith("#"):
            fill, _, result = filling.rpartition(" => ")
            parts = iter(fill.split(PLACE))
            first, *rest = text.split(PLACE)
            filled = "".join((first, *(next(parts, "") + part for part in rest)))
            yield _case(family, name, fill, lines, filled, result)


def _case(family: str, name: str, fill: str, lines: list[str], text: str, result: str | None) -> Outsider:
    title, _, size = name.removesuffix("]").partition(" [")
    block, _, grid = (size or "1").partition("x")
    launch = Launch((int(grid or 1), 1, 1), (int(block), 1, 1), 0)
    known: dict[str, object] = {"tid": range(int(block) * int(grid or 1))}
    arguments: list[Argument] = []
    expected: dict[int, Array] = {}
    for line in lines:
        if line.startswith(("refused", "ptxas-refuses")):
            continue
        what, called, kind, rest = line.split(maxsplit=3)
        begins, _, ends = rest.partition(" => ")
        known[called] = value = _evaluate(begins.removesuffix(" =>"), known)
        if what == "val":
            arguments.append(Scalar(kind, value))  # type: ignore[arg-type]
            continue
        if what == "out":
            expected[len(arguments)] = _array(kind, _evaluate(ends or result or "", known))
        arguments.append(Buffer(_array(kind, value)))
    refused = next((line.partition(" ")[2] for line in lines if line.startswith("refused")), "")
    title = f"{title} {fill}".strip()
    wanted = {} if refused else expected
    return Outsider(
        family, title, text + "\n", launch, tuple(arguments), wanted, refused, "ptxas-refuses" not in lines
    )


_REMARK = re.compile(r"//[^\n]*")
_BETWEEN = re.compile(r"\s+")
_APART = re.compile(r"(?<!/)\s+(?!/)")
_TIGHT = re.compile(r"\s*([\[\](){},;])\s*")


def _after_version(lay: Callable[[str], str]) -> Callable[[str], str]:
    """The version stands on the line of `.version`, and nothing between them."""
    def laid(text: str) -> str:
        heading = re.search(r"\.version\s+\S+", text)
        end = heading.end() if heading else 0
        return text[:end] + lay(text[end:])

    return laid


#: Ways to lay a text out that change nothing about what it says.
HANDS: dict[str, Callable[[str], str]] = {
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "tabs": lambda text: text.replace(" ", "\t"),
    "one line": lambda text: _BETWEEN.sub(" ", _REMARK.sub("", text)),
    "a line a word": _after_version(lambda text: _BETWEEN.sub("\n", _REMARK.sub("", text))),
    "nothing superfluous": lambda text: _TIGHT.sub(r"\1", _BETWEEN.sub(" ", _REMARK.sub("", text))).strip(),
    "comments everywhere": _after_version(lambda text: _BETWEEN.sub(" /* ; } // */ ", _REMARK.sub("", text))),
    "remarks everywhere": _after_version(lambda text: _BETWEEN.sub(" // ret; { /*\n", _REMARK.sub("", text))),
    "comments without spaces": _after_version(lambda text: _APART.sub("/**/", _REMARK.sub("", text))),
}


def main() -> int:
    """Ask an assembler of every case; exit status 1 where it says otherwise."""
    from ptxgen.assembling import find_ptxas
    from ptxgen.ptx import PtxSyntaxError, parse

    parser = argparse.ArgumentParser(description="Ask an assembler of every case.")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--hands", action="store_true", help="every way of laying each text out, too")
    asked = parser.parse_args()
    tool, differing = find_ptxas()[0], 0
    for case in outsiders(tuple(asked.families)):
        try:
            target = parse(case.ptx).target[0]
        except PtxSyntaxError:
            target = "sm_90"
        number = int("".join(filter(str.isdigit, target)) or 90)
        # Lines matter to what debuggers read.
        hands = HANDS if asked.hands and case.family != "debug" else {}
        for hand, text in {"": case.ptx, **{name: lay(case.ptx) for name, lay in hands.items()}}.items():
            assembly = tool.assemble(text, target if number > 75 else "sm_75")
            if assembly.ok != case.taken:
                differing += 1
                print(case.title, hand, "|", "; ".join(m.text for m in assembly.messages if m.severity != "warning"))
    print(f"{differing} differ", file=sys.stderr)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
