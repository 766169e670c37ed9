"""What one instruction computes, as an abstract value: the transfer functions of the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptxgen.isa.model import Expansion
from ptxgen.ptx.tree import Address, Immediate, Name, Negated, Operand, Vector
from ptxgen.semantics.contract import SHARED_SYMBOL, canonical_operation
from ptxgen.semantics.state import State
from ptxgen.semantics.values import (
    NO_FACTS,
    NO_NAMES,
    Pointer,
    Value,
    kind_of_type,
    power_of_two_divisor,
)

LESS = frozenset({"lt", "le", "lo", "ls"})
GREATER = frozenset({"gt", "ge", "hi", "hs"})
#: Twice with constants is once with another constant.
FOLDING = frozenset({"add", "sub", "mul", "and", "or", "xor", "min", "max", "shl", "shr", "rem"})
BOOLEAN = frozenset({"and", "or", "xor"})
#: Instructions whose result other threads or earlier memory decide: never the same value twice.
FOREIGN = frozenset({"atom", "shfl", "vote", "match", "redux", "activemask", "elect", "bar", "barrier"})


@dataclass(frozen=True, slots=True)
class Source:
    """A source operand as the state sees it: `key` identifies it in expressions."""

    key: tuple[object, ...]
    value: Value | None = None
    constant: int | None = None

    @property
    def divisor(self) -> int:
        if self.constant is not None:
            return power_of_two_divisor(self.constant)
        return self.value.divisor if self.value is not None else 1


def read_source(state: State, node: Operand) -> Source:
    """Look an operand up. Unknown names are opaque: their key is their text."""
    if isinstance(node, Negated):
        inner = read_source(state, node.operand)
        return Source(("not", *inner.key), inner.value)
    if isinstance(node, Immediate):
        constant = node.value if isinstance(node.value, int) else None
        return Source(("constant", repr(node.value)), None, constant)
    if isinstance(node, Name):
        number = state.registers.get(node.text)
        if number is not None:
            return Source(("value", number), state.values[number])
        return Source(("name", node.text))
    return Source(("text", repr(node)))


def expression_key(state: State, expansion: Expansion, sources: Sequence[Source]) -> tuple[object, ...] | None:
    """What makes two evaluations the same value; None when nothing does."""
    if expansion.name in FOREIGN:
        return None
    keys = [s.key for s in sources]
    if expansion.commutative and len(keys) >= 2:
        keys[:2] = sorted(keys[:2], key=repr)
    return (canonical_operation(expansion.opcode), *keys)


def result_of(state: State, expansion: Expansion, sources: Sequence[Source], type_name: str, number: int) -> Value:
    """The value an arithmetic instruction makes. `type_name` is the destination's type in the table."""
    values = [s.value for s in sources if s.value is not None]
    first = values[0] if values else None
    kind = kind_of_type(type_name) or (first.kind if first and first.kind != "pointer" else "int")
    pointer = _pointer_result(expansion, sources)
    when_true, when_false = _facts(expansion, sources) if kind == "pred" else (NO_FACTS, NO_FACTS)
    made_of = frozenset().union(*(v.made_of for v in values)) if values else NO_NAMES
    return Value(
        number,
        "pointer" if pointer else kind,
        expansion.name,
        tuple(v.number for v in values),
        varying=any(v.varying for v in values) or expansion.name in FOREIGN,
        divisor=_divisor(expansion, sources) if kind == "int" else 1,
        scale=_scale(expansion, sources),
        folds=_folds(expansion, sources),
        pointer=pointer,
        bounded=_bounded(expansion, sources),
        made_of=made_of,
        when_true=when_true,
        when_false=when_false,
    )


def _pointer_result(expansion: Expansion, sources: Sequence[Source]) -> Pointer | None:
    """`add` and `mad` on one pointer make a pointer; everything else makes a number."""
    pointers = [s.value.pointer for s in sources if s.value is not None and s.value.pointer]
    if len(pointers) != 1 or expansion.name not in {"add", "mad", "sub"}:
        return None
    others = [s.value.number for s in sources if s.value is not None and s.value.pointer is None]
    base = pointers[0]
    return Pointer(base.space, base.parameter, (*base.index, *others))


def _divisor(expansion: Expansion, sources: Sequence[Source]) -> int:
    divisors = [s.divisor for s in sources]
    name = expansion.name
    if name in {"add", "sub", "or", "xor", "min", "max", "selp"}:
        return min(divisors[:2])
    if name == "mul":
        return min(divisors[0] * divisors[1], 1 << 16) if "hi" not in expansion.slots.values() else 1
    if name == "mad":
        return min(divisors[0] * divisors[1], divisors[2]) if "hi" not in expansion.slots.values() else 1
    if name in {"shl", "shr"} and sources[1].constant is not None:
        amount = max(0, min(sources[1].constant, 31))
        return min(divisors[0] << amount, 1 << 16) if name == "shl" else max(1, divisors[0] >> amount)
    if name == "and":
        return max(divisors[:2])
    if name in {"cvt", "mov", "cvta"}:
        return divisors[0]
    return 1


def _scale(expansion: Expansion, sources: Sequence[Source]) -> int:
    name = expansion.name
    if name == "mul" and sources[1].constant is not None:
        return sources[1].constant
    if name == "shl" and sources[1].constant is not None:
        return int(1 << max(0, min(sources[1].constant, 31)))
    if name == "mad" and sources[1].constant is not None:
        return sources[1].constant
    if name == "cvt" and sources[0].value is not None:
        return sources[0].value.scale
    if name in {"add", "sub"}:
        scales = {s.value.scale for s in sources if s.value is not None and s.value.pointer is None}
        if len(scales) == 1:
            return scales.pop()
    return 0


def _folds(expansion: Expansion, sources: Sequence[Source]) -> str:
    """The operation, if one of two sources is a constant and the same again would be one operation."""
    constants = sum(s.key[0] == "constant" for s in sources)
    if len(sources) != 2 or constants != 1 or expansion.name not in FOLDING:
        return ""
    return "add" if expansion.name == "sub" else expansion.name


def _bounded(expansion: Expansion, sources: Sequence[Source]) -> bool:
    if expansion.name == "rem":
        return True
    if expansion.name in {"and", "min"}:
        return any(s.constant is not None or (s.value is not None and not s.value.varying) for s in sources)
    return expansion.name in {"popc", "clz", "bfind"}


def _facts(expansion: Expansion, sources: Sequence[Source]) -> tuple[frozenset[int], frozenset[int]]:
    """Which values are bounded above where the predicate is true, and where it is false."""
    name = expansion.name
    chosen = set(expansion.slots.values())
    values = [s.value for s in sources]
    if name in {"and", "or"} and len(values) == 2 and all(v is not None for v in values):
        a, b = values[0], values[1]
        assert a is not None
        assert b is not None
        return _combine("and" if name == "and" else "or", (a.when_true, a.when_false), (b.when_true, b.when_false))
    if name in {"not", "mov"} and values and values[0] is not None:
        true, false = values[0].when_true, values[0].when_false
        return (false, true) if name == "not" else (true, false)
    if name != "setp" or len(sources) < 2:
        return NO_FACTS, NO_FACTS
    left, right = _boundable(sources[0], sources[1]), _boundable(sources[1], sources[0])
    if chosen & LESS:
        facts = (left, right)
    elif chosen & GREATER:
        facts = (right, left)
    elif "eq" in chosen:
        facts = (left | right, NO_FACTS)
    elif "ne" in chosen:
        facts = (NO_FACTS, left | right)
    else:
        facts = (NO_FACTS, NO_FACTS)
    operation = next(iter(chosen & BOOLEAN), None)
    third = sources[2].value if len(sources) > 2 else None
    if operation and third is not None:
        other = (third.when_true, third.when_false)
        if sources[2].key[0] == "not":
            other = (other[1], other[0])
        return _combine(operation, facts, other)
    return facts


def _combine(
    operation: str, a: tuple[frozenset[int], frozenset[int]], b: tuple[frozenset[int], frozenset[int]]
) -> tuple[frozenset[int], frozenset[int]]:
    if operation == "and":
        return a[0] | b[0], a[1] & b[1]
    if operation == "or":
        return a[0] & b[0], a[1] | b[1]
    return NO_FACTS, NO_FACTS


def _boundable(source: Source, against: Source) -> frozenset[int]:
    """A value compared with something that all threads of the block agree on."""
    if source.value is None or source.value.kind != "int":
        return NO_FACTS
    if against.value is not None and against.value.varying:
        return NO_FACTS
    return frozenset({source.value.number})


def move_result(state: State, expansion: Expansion, node: Operand, type_name: str, number: int) -> Value:
    """`mov` of a constant, a special register or the shared array (a register copy keeps its number)."""
    kind = kind_of_type(type_name) or "int"
    if isinstance(node, Immediate):
        constant = node.value if isinstance(node.value, int) else None
        divisor = power_of_two_divisor(constant) if constant is not None else 1
        return Value(number, kind, "constant", divisor=divisor, constant=constant)
    text = node.text if isinstance(node, Name) else ""
    if text == SHARED_SYMBOL:
        return Value(number, "pointer", "special smem", divisor=16, pointer=Pointer("shared"))
    varying = text.startswith(("%tid", "%laneid"))
    return Value(number, kind, f"special {text}", varying=varying)


def address_of(node: Operand) -> Address | None:
    return node if isinstance(node, Address) else None


def elements_of(node: Operand) -> tuple[Operand, ...]:
    """The registers of a vector operand, or the operand alone."""
    return node.elements if isinstance(node, Vector) else (node,)
