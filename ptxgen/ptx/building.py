"""From what the grammar matched to tree nodes: one method a rule, called while parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lark import Token, Transformer

from ptxgen.ptx import constants
from ptxgen.ptx.declaring import Declaration, Unlinked, check_head, declare, words
from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.elements import Element, addressed, element_size
from ptxgen.ptx.places import between, name_of, operand_of, span_of
from ptxgen.ptx.sections import without_comments, words_of, wrong_line
from ptxgen.ptx.tree import (
    Address,
    Arguments,
    Block,
    Directive,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    Module,
    Name,
    Negated,
    Operand,
    Pair,
    Span,
    Statement,
    Variable,
    Vector,
)

Children = list[Any]
_BETWEEN_WORDS = re.compile(r"/\*.*?\*/")


@dataclass(frozen=True, slots=True)
class Heading:
    """`.version`, `.target` or `.address_size`, until the module takes them in."""

    kind: Literal["version", "target", "address_size"]
    values: tuple[str, ...]
    span: Span


class Builder(Transformer[Token, Module]):
    """Faults that the grammar cannot see (a constant that overflows) are collected in `faults`."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Diagnostic] = []
        #: arrays seen so far, and the bytes of their elements
        self.sizes: dict[str, int] = {}
        self.has_elements = False

    def begin(self) -> None:
        """Forget the text before."""
        self.faults = []
        self.sizes = {}
        self.has_elements = False

    def fault(self, span: Span, code: str, message: str, hint: str = "") -> None:
        self.faults.append(Diagnostic(span, "error", code, message, hint))

    # ------------------------------------------------------------ module

    def module(self, items: Children) -> Module:
        headings: list[Heading] = []
        kept: list[Function | Variable | Directive] = []
        for item in items:
            if isinstance(item, Heading):
                self._check_heading(item, headings, bool(kept))
                headings.append(item)
            elif isinstance(item, list):
                kept.extend(item)
            else:
                kept.append(item)
        version = next((h for h in headings if h.kind == "version"), None)
        size = next((h for h in headings if h.kind == "address_size"), None)
        return Module(
            version=version.values[0] if version else "",
            target=tuple(word for h in headings if h.kind == "target" for word in h.values),
            address_size=int(size.values[0], 0) if size else None,
            items=tuple(kept),
            span=version.span if version else Span(1, 1, 1, 1),
            headings=tuple(Directive(h.kind, f".{h.kind} {', '.join(h.values)}", None, h.span) for h in headings),
        )

    def _check_heading(self, item: Heading, seen: Sequence[Heading], late: bool) -> None:
        """First .version, then .target (several lines of it count as one), then .address_size; then the rest."""
        kinds = [h.kind for h in seen]
        if item.kind in kinds and (item.kind != "target" or late or kinds[-1] != "target"):
            self.fault(item.span, "duplicate-directive", f".{item.kind} is given twice")
        elif item.kind == "version" and (seen or late):
            self.fault(item.span, "misplaced-directive", ".version must be the first directive of the file")
        elif item.kind == "target" and (late or "address_size" in kinds):
            self.fault(item.span, "misplaced-directive", ".target must follow .version directly")
        elif item.kind == "address_size" and late:
            self.fault(item.span, "misplaced-directive", ".address_size must follow .target directly")

    def version(self, c: Children) -> Heading:
        if c[0].line != c[1].line:
            self.fault(span_of(c[1]), "misplaced-directive", "the version stands on the line of .version")
        return Heading("version", (str(c[1]),), between(c[0], c[-1]))

    def target(self, c: Children) -> Heading:
        return Heading("target", tuple(str(t) for t in c[1:]), between(c[0], c[-1]))

    def address_size(self, c: Children) -> Heading:
        return Heading("address_size", (str(self.literal([c[1]]).value),), between(c[0], c[-1]))

    def alias(self, c: Children) -> Directive:
        return Directive("alias", f".alias {c[1]}, {c[2]};", None, between(c[0], c[-1]))

    def linked(self, c: Children) -> Function | list[Variable]:
        linkage = tuple(str(t)[1:] for t in c[:-1])
        what = c[-1]
        if isinstance(what, Function):
            return replace(what, linkage=linkage)
        return [v.named(linkage) for v in what]

    linked_variable = linked

    # ------------------------------------------------------------ functions

    def function(self, c: Children) -> Function:
        kind, name, returns, params, attributes, span = c[0]
        body = next((part for part in c[1:] if isinstance(part, tuple)), None)
        directives = attributes + tuple(d for d in c[1:] if isinstance(d, Directive))
        if kind == "entry" and body is None and not isinstance(c[-1], Token):
            self.fault(span, "missing-semicolon", "a kernel that is declared only ends with ';'")
        return Function(kind, name, params, returns, (), directives, body, span)

    def function_head(self, c: Children) -> tuple[Any, ...]:
        groups: dict[str, tuple[Variable, ...]] = {"returns": (), "params": ()}
        attributes: list[Directive] = []
        name = c[0]
        for child in c[1:]:
            if isinstance(child, tuple):
                groups[child[0]] = child[1]
            elif child.type == "ATTRIBUTE":
                attributes.append(Directive("attribute", "".join(child.split()), None, span_of(child)))
            else:
                name = child
        span = between(c[0], name)
        return (str(c[0])[1:], str(name), groups["returns"], groups["params"], tuple(attributes), span)

    def returns(self, c: Children) -> tuple[str, tuple[Variable, ...]]:
        return "returns", c[0] if c else ()

    def params(self, c: Children) -> tuple[str, tuple[Variable, ...]]:
        return "params", c[0] if c else ()

    def parameter_list(self, c: Children) -> tuple[Variable, ...]:
        return tuple(c)

    def parameter(self, c: Children) -> Variable:
        place = next(i for i, t in enumerate(c) if isinstance(t, Token) and t.type in ("IDENT", "UNDERSCORE"))
        head = Declaration.of(c[:place])
        check_head(c[:place], self.fault)
        return self._sized(declare(head, c[place], c[place + 1 :], self.fault)).named(())

    def function_directive(self, c: Children) -> Directive:
        name = str(c[0])[1:]
        numbers = [str(self.literal([t]).text) for t in c[1:]]
        text = f".{name} {', '.join(numbers)}" if numbers else f".{name}"
        return Directive(name, text, None, between(c[0], c[-1]))

    def function_pragma(self, c: Children) -> Directive:
        strings = ", ".join(str(t) for t in c[1:] if t.type == "STRING")
        return Directive("pragma", f".pragma {strings};", None, between(c[0], c[-1]))

    pragma = function_pragma

    def body(self, c: Children) -> tuple[Statement, ...]:
        return tuple(self._flat(c[1:-1]))

    def block(self, c: Children) -> Block:
        return Block(tuple(self._flat(c[1:-1])), between(c[0], c[-1]))

    @staticmethod
    def _flat(children: Sequence[Any]) -> list[Statement]:
        flat: list[Statement] = []
        for child in children:
            if isinstance(child, list):
                flat.extend(child)
            else:
                flat.append(child)
        return flat

    # ------------------------------------------------------------ declarations

    def variable(self, c: Children) -> list[Any]:
        place = next((i for i, t in enumerate(c) if isinstance(t, tuple) and t[0] == "declarator"), len(c))
        head = Declaration.of(c[:place])
        check_head(c[:place], self.fault)
        return [self._sized(declare(head, t[1], t[2:], self.fault)) for t in c[place:] if isinstance(t, tuple)]

    def _sized(self, declared: Unlinked) -> Unlinked:
        """Notes how large the elements of an array are, for `a[1]`."""
        size = element_size(declared.variable)
        if size is not None:
            self.sizes[declared.variable.name] = size
        return declared

    def declarator(self, c: Children) -> tuple[Any, ...]:
        return ("declarator", *c)

    def alignment(self, c: Children) -> tuple[str, int]:
        return "align", self._whole(c[1])

    def pointer(self, c: Children) -> tuple[str, str]:
        parts = ["ptr"]
        for child in c[1:]:
            parts.append(f".align {child[1]}" if isinstance(child, tuple) else str(child))
        return "attribute", " ".join(parts)

    def count(self, c: Children) -> tuple[str, int]:
        return "count", self._whole(c[0])

    def dimension(self, c: Children) -> tuple[str, int | None]:
        if not c:
            return "dimension", None
        value = c[0].value
        if not isinstance(value, int) or not c[0].text.isalnum():
            self.fault(c[0].span, "bad-dimension", "an array's extent is one plain integer",
                       f"write [{value}]" if isinstance(value, int) and value >= 0 else "")
            value = 1
        return "dimension", value

    def initial_list(self, c: Children) -> list[Any]:
        return [name_of(t) if isinstance(t, Token) else t for t in c]

    def field(self, c: Children) -> Name:
        value = str(c[1]) if isinstance(c[1], Token) else c[1].text
        return Name(f"{c[0]} = {value}", between(c[0], c[1]))

    def wrapped_symbol(self, c: Children) -> Operand:
        inner = Name(f"{c[0]}({c[1]})", between(c[0], c[1]))
        if c[0].type == "NAME":
            self._check_generic(c[0])
        if len(c) == 2:
            return inner
        return Address(inner, self._offset(c[2]), (), False, between(c[0], c[2]))

    def _check_generic(self, operator: Token) -> None:
        if operator != "generic":
            self.fault(span_of(operator), "bad-initialiser", f"{operator}(…) is no operator of initialisers",
                       "generic(name) gives a generic address, 0xFF(name) one byte of an address")

    def masked_generic(self, c: Children) -> Name:
        self._check_generic(c[1])
        more = f"+{self._offset(c[3])}" if len(c) > 3 else ""
        return Name(f"{c[0]}({c[1]}({c[2]}){more})", between(c[0], c[-1]))

    def masked_offset(self, c: Children) -> Name:
        return Name(f"{c[0]}({c[1]}+{self._offset(c[2])})", between(c[0], c[2]))

    # ------------------------------------------------------------ statements

    def label(self, c: Children) -> Label:
        return Label(_label_text(c[0]), span_of(c[0]))

    def prototype(self, c: Children) -> Directive:
        head = self.function_head([c[1], *(t for t in c[2:-1] if not isinstance(t, Directive))])
        directives = [t.text for t in c[2:-1] if isinstance(t, Directive)]
        text = words(head[1], head[2], head[3], directives)
        return Directive("callprototype", text, _label_text(c[0]), between(c[0], c[-1]))

    def targets(self, c: Children) -> Directive:
        names = ", ".join(str(t) for t in c[2:-1])
        return Directive(str(c[1])[1:], f"{c[1]} {names};", _label_text(c[0]), between(c[0], c[-1]))

    def loc(self, c: Children) -> Directive:
        text = re.sub(r"\s*,\s*", ", ", " ".join(without_comments(c[0]).split()))
        return Directive("loc", text, None, span_of(c[0]))

    def file(self, c: Children) -> Directive:
        before, path, after = c[0].split('"')
        tail = "".join(f", {n}" for n in re.findall("[0-9]+", after))
        return Directive("file", f'{" ".join(before.split())} "{path}"{tail}', None, span_of(c[0]))

    def section(self, c: Children) -> Directive:
        wrong = wrong_line(c[0])
        if wrong is not None:
            number = (c[0].line or 1) + wrong
            line = c[0].split("\n")[wrong]
            start = 1 if wrong else c[0].column or 1
            self.fault(Span(number, start, number, start + len(line)), "bad-section", "this is no data of a section")
        return Directive("section", words_of(c[0]), None, span_of(c[0]))

    def instruction(self, c: Children) -> Instruction:
        guard = c[0] if isinstance(c[0], Guard) else None
        opcode = c[1] if guard else c[0]
        operands = c[-2] if isinstance(c[-2], tuple) else ()
        name = "".join(_BETWEEN_WORDS.sub("", opcode).split())
        if self.has_elements:
            self.has_elements = False
            operands = addressed(name, operands, self.sizes, self.fault)
        return Instruction(name, operands, guard, between(c[0], c[-1]))

    def guard(self, c: Children) -> Guard:
        return Guard(str(c[-1]), len(c) == 3, between(c[0], c[-1]))

    # ------------------------------------------------------------ operands

    def operands(self, c: Children) -> tuple[Operand, ...]:
        return tuple(operand_of(t) for t in c)

    call_operands = operands
    vmad_operands = operands

    def arguments(self, c: Children) -> Arguments:
        return Arguments(c[1] if len(c) == 3 else (), between(c[0], c[-1]))

    def pair(self, c: Children) -> Pair:
        return Pair(operand_of(c[0]), operand_of(c[2]), between(c[0], c[2]))

    def negated(self, c: Children) -> Negated:
        return Negated(name_of(c[1]), between(c[0], c[1]))

    def minus(self, c: Children) -> Negated:
        return Negated(name_of(c[1]), between(c[0], c[1]), "-")

    def element(self, c: Children) -> Element:
        self.has_elements = True
        return Element(name_of(c[0]), self._offset(c[2]), between(c[0], c[-1]))

    def symbol_offset(self, c: Children) -> Address:
        return Address(name_of(c[0]), self._offset(c[-1]), (), False, between(c[0], c[-1]))

    def vector(self, c: Children) -> Vector:
        return Vector(c[1], between(c[0], c[-1]))

    def address(self, c: Children) -> Address:
        return Address(name_of(c[1]), 0, (), True, between(c[0], c[-1]))

    def unified(self, c: Children) -> Address:
        inner: Address = c[0]
        return replace(inner, unified=True, span=between(c[0], c[1]))

    def address_offset(self, c: Children) -> Address:
        parts = tuple(operand_of(t) for t in c[4:-1])
        return Address(name_of(c[1]), self._offset(c[3]), parts, True, between(c[0], c[-1]), True)

    def address_constant(self, c: Children) -> Address:
        return Address(None, self._offset(c[1]), (), True, between(c[0], c[-1]))

    def address_components(self, c: Children) -> Address:
        return Address(name_of(c[1]), 0, tuple(operand_of(t) for t in c[2:-1]), True, between(c[0], c[-1]))

    # ------------------------------------------------------------ constants

    def literal(self, c: Children) -> Immediate:
        return self._fold(span_of(c[0]), lambda span: constants.literal(str(c[0]), span))

    def unary(self, c: Children) -> Immediate:
        return self._fold(between(c[0], c[1]), lambda span: constants.unary(str(c[0]), c[1], span))

    def binary(self, c: Children) -> Immediate:
        return self._fold(between(c[0], c[2]), lambda span: constants.binary(c[0], str(c[1]), c[2], span))

    def choice(self, c: Children) -> Immediate:
        return self._fold(between(c[0], c[2]), lambda span: constants.choice(c[0], c[1], c[2], span))

    def cast(self, c: Children) -> Immediate:
        return self._fold(between(c[0], c[1]), lambda span: constants.cast(str(c[0]), c[1], span))

    def grouped(self, c: Children) -> Immediate:
        return self._fold(between(c[0], c[2]), lambda span: constants.grouped(c[1], span))

    def _fold(self, span: Span, fold: Callable[[Span], Immediate]) -> Immediate:
        try:
            return fold(span)
        except constants.ConstantFault as fault:
            self.fault(span, "bad-constant", str(fault))
            return Immediate("0", 0, "int", span)

    def _offset(self, constant: Immediate) -> int:
        if isinstance(constant.value, int):
            return constant.value
        self.fault(constant.span, "bad-constant", "an offset is an integer")
        return 0

    def _whole(self, token: Token) -> int:
        return int(self.literal([token]).value)


def _label_text(token: Token) -> str:
    """The name, without what stands between it and the colon."""
    return re.split(r"[\s/:]", token, maxsplit=1)[0]
