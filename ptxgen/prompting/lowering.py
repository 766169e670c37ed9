"""From an elementwise oracle to the instructions it takes, in order: the steps a prompt lists.

Registers are not chosen here, and neither are addresses, guards or loops: a step names its values `t1`, `t2`
or by parameter. Rounding and constants follow what PTX demands (manual, "Floating Point Instructions"):
exp(v) is 2^(v * log2 e), a product that feeds a sum is one `fma`.
"""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2.0)
_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGERS = ("u32", "s32", "u64", "s64")
#: How a step reads in a formula, by the first word of its opcode; `{0}` is its first source.
_WORDS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "fma": "{0} * {1} + {2}", "mad": "{0} * {1} + {2}",
    "div": "{0} / {1}", "rem": "{0} % {1}", "rcp": "1 / {0}", "neg": "-{0}", "abs": "|{0}|", "ex2": "2^{0}",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "selp": "{0} if {2} else {1}", "cvt": "{0} converted",
    "lg2": "log2({0})", "rsqrt": "1 / sqrt({0})", "popc": "bits set in {0}",
}
_RELATIONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction over named values: `fma.rn.f32 t2, a, x, y`."""

    opcode: str
    operands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.opcode} {', '.join(self.operands)}"

    @property
    def formula(self) -> str:
        """The same as a formula: `t2 = a * x + y`. A prompt shows this form: a small model copies lines that look
        like PTX into the kernel, before the loads that they need."""
        target, *sources = self.operands
        name, kind = self.opcode.split(".")[:2]
        if name == "setp":
            return f"{target} = {sources[0]} {_RELATIONS[kind]} {sources[1]}"
        plain = f"{name}({', '.join(sources)})"
        return f"{target} = {_WORDS.get(name, plain).format(*sources)}"


@dataclass(frozen=True, slots=True)
class Lowered:
    """The steps of one expression, and the name of the value they end with."""

    steps: tuple[Step, ...]
    result: str

    @property
    def formulas(self) -> list[str]:
        return [step.formula for step in self.steps]


class _Beyond(Exception):
    """An operation that has no plain sequence of instructions here."""


def lower(tree: ast.AST, types: Mapping[str, str], kind: str, *, first: int = 1) -> Lowered | None:
    """Lower an expression over named values of PTX types `types`, computed in `kind`.

    None when it holds an operation, a type or a shape operation that no straight sequence covers.
    `first` numbers the first temporary.
    """
    if kind not in _FLOATS and kind not in _INTEGERS:
        return None
    lowering = _Lowering(kind, dict(types), first)
    try:
        result = lowering.value(tree)
    except _Beyond:
        return None
    return Lowered(tuple(lowering.steps), result)


def constant(value: float, kind: str) -> str:
    """A constant as PTX writes it for that type: `0f3F800000`, `0d3FF0000000000000`, `7`."""
    if kind == "f32":
        return "0f" + struct.pack(">f", value).hex().upper()
    if kind == "f64":
        return "0d" + struct.pack(">d", value).hex().upper()
    if kind in _INTEGERS and float(value).is_integer():
        return str(int(value))
    raise _Beyond


@dataclass
class _Lowering:
    kind: str
    types: dict[str, str]
    count: int
    steps: list[Step] = field(default_factory=list)

    def emit(self, opcode: str, *sources: str) -> str:
        """One more step, or the name of an equal one that is there already."""
        if self.kind == "bf16" and not opcode.startswith("fma."):
            raise _Beyond  # the only bf16 arithmetic of every target that has the type
        for step in self.steps:
            if step.opcode == opcode and step.operands[1:] == sources:
                return step.operands[0]
        name = f"t{self.count}"
        self.count += 1
        self.steps.append(Step(opcode, (name, *sources)))
        return name

    @property
    def floating(self) -> bool:
        return self.kind in _FLOATS

    def value(self, node: ast.AST) -> str:
        match node:
            case ast.Name(id=name):
                return self.named(name)
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return constant(number, self.kind)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negative(operand)
            case ast.BinOp():
                return self.binary(node)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments, keywords=[]):
                return self.call(name, arguments)
        raise _Beyond

    def named(self, name: str) -> str:
        held = self.types.get(name)
        if held in ("u32", "s32") and self.kind in ("f32", "f64"):
            return self.emit(f"cvt.rn.{self.kind}.{held}", name)
        if held != self.kind:
            raise _Beyond
        return name

    def negative(self, operand: ast.expr) -> str:
        if isinstance(operand, ast.Constant) and isinstance(operand.value, int | float):
            return constant(-operand.value, self.kind)
        kind = self.kind.replace("u", "s")
        return self.emit(f"neg.{kind}", self.value(operand))

    def binary(self, node: ast.BinOp) -> str:
        left, right = node.left, node.right
        match node.op:
            case ast.Add():
                return self.sum(left, right)
            case ast.Sub():
                if self.floating and _product(left) and _number(right) is not None:
                    return self.fused(left, constant(-_known(right), self.kind))
                return self.emit(f"sub.{self.kind}", self.value(left), self.value(right))
            case ast.Mult():
                opcode = f"mul.{self.kind}" if self.floating else f"mul.lo.{self.kind}"
                return self.emit(opcode, *self.sources(left, right))
            case ast.Div():
                return self.quotient(left, right)
            case ast.Mod() if self.kind.startswith("u"):
                return self.emit(f"rem.{self.kind}", self.value(left), self.value(right))
            case ast.FloorDiv() if self.kind.startswith("u"):
                return self.emit(f"div.{self.kind}", self.value(left), self.value(right))
            case ast.Pow() if _number(right) == 2:
                squared = self.value(left)
                return self.emit(f"mul.{self.kind}" if self.floating else f"mul.lo.{self.kind}", squared, squared)
            case (ast.BitAnd() | ast.BitOr() | ast.BitXor()) as operator if not self.floating:
                name = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}[type(operator)]
                return self.emit(f"{name}.b{self.kind[1:]}", self.value(left), self.value(right))
        raise _Beyond

    def sources(self, left: ast.expr, right: ast.expr) -> tuple[str, str]:
        """Both values; a constant goes last, where every instruction takes one."""
        if _number(left) is not None:
            left, right = right, left
        return self.value(left), self.value(right)

    def sum(self, left: ast.expr, right: ast.expr) -> str:
        if _product(right):
            return self.fused(right, self.value(left))
        if _product(left):
            # The addend is computed first: a temporary is named where it is made.
            return self.fused(left, self.value(right))
        return self.emit(f"add.{self.kind}", *self.sources(left, right))

    def fused(self, product: ast.expr, addend: str) -> str:
        assert isinstance(product, ast.BinOp)
        factors = self.sources(product.left, product.right)
        if self.floating:
            return self.emit(f"fma.rn.{self.kind}", *factors, addend)
        return self.emit(f"mad.lo.{self.kind}", *factors, addend)

    def quotient(self, left: ast.expr, right: ast.expr) -> str:
        if not self.floating or self.kind in ("f16", "bf16"):
            raise _Beyond
        root = _argument(right, "sqrt")
        if _number(left) == 1 and self.kind == "f32":
            if root is not None:
                return self.emit("rsqrt.approx.f32", self.value(root))
            return self.emit("rcp.rn.f32", self.value(right))
        return self.emit(f"div.rn.{self.kind}", self.value(left), self.value(right))

    def call(self, name: str, arguments: list[ast.expr]) -> str:
        kind = self.kind
        match name, arguments:
            case ("maximum" | "fmax") as name, [left, right]:
                return self.emit(f"max.{kind}", *self.sources(left, right))
            case ("minimum" | "fmin") as name, [left, right]:
                return self.emit(f"min.{kind}", *self.sources(left, right))
            case "clip", [value, low, high]:
                raised = self.emit(f"max.{kind}", self.value(value), self.value(low))
                return self.emit(f"min.{kind}", raised, self.value(high))
            case ("abs" | "absolute" | "fabs"), [value] if not kind.startswith("u"):
                return self.emit(f"abs.{kind}", self.value(value))
            case "square", [value]:
                squared = self.value(value)
                return self.emit(f"mul.{kind}" if self.floating else f"mul.lo.{kind}", squared, squared)
            case "sqrt", [value] if kind in ("f32", "f64"):
                return self.emit(f"sqrt.rn.{kind}", self.value(value))
            case "hypot", [left, right] if kind in ("f32", "f64"):
                return self.hypotenuse(self.value(left), self.value(right))
            case "bitwise_count", [value] if kind == "u32":
                return self.emit("popc.b32", self.value(value))
            case "where", [condition, yes, no]:
                return self.select(condition, yes, no)
        if kind != "f32" or len(arguments) != 1:
            raise _Beyond
        return self.transcendental(name, arguments[0])

    def hypotenuse(self, left: str, right: str) -> str:
        square = self.emit(f"mul.{self.kind}", left, left)
        total = self.emit(f"fma.rn.{self.kind}", right, right, square)
        return self.emit(f"sqrt.rn.{self.kind}", total)

    def transcendental(self, name: str, argument: ast.expr) -> str:
        match name:
            case "exp":
                negated = _negated(argument)
                scale = constant(_LOG2_E if negated is None else -_LOG2_E, "f32")
                scaled = self.emit("mul.f32", self.value(negated or argument), scale)
                return self.emit("ex2.approx.f32", scaled)
            case "exp2":
                return self.emit("ex2.approx.f32", self.value(argument))
            case "log":
                return self.emit("mul.f32", self.emit("lg2.approx.f32", self.value(argument)), constant(_LN_2, "f32"))
            case "log2":
                return self.emit("lg2.approx.f32", self.value(argument))
            case "tanh" | "sin" | "cos":
                return self.emit(f"{name}.approx.f32", self.value(argument))
        raise _Beyond

    def select(self, condition: ast.expr, yes: ast.expr, no: ast.expr) -> str:
        if not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
            raise _Beyond
        relation = _COMPARE.get(type(condition.ops[0]))
        if relation is None:
            raise _Beyond
        chosen = self.value(yes), self.value(no)
        left, right = self.value(condition.left), self.value(condition.comparators[0])
        self.steps.append(Step(f"setp.{relation}.{self.kind}", ("p", left, right)))
        kind = f"b{self.kind[1:]}" if self.kind == "f16" else self.kind
        return self.emit(f"selp.{kind}", *chosen, "p")


def _product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _number(node: ast.expr) -> float | None:
    """The value of a (negated) numeric constant."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    return None


def _known(node: ast.expr) -> float:
    value = _number(node)
    assert value is not None
    return value


def _negated(node: ast.expr) -> ast.expr | None:
    """`v` of `-v`, unless it is a constant."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _number(node) is None:
        return node.operand
    return None


def _argument(node: ast.expr, function: str) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[argument]) if name == function:
            return argument
    return None
