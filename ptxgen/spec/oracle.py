"""The `[oracle] expr`: a NumPy expression, parsed and checked for what it may contain, not yet evaluated.

Only names, numbers, arithmetic, comparisons, subscripts and calls of the functions below get through;
`np.` before a function is allowed and changes nothing. `ptxgen.verifying.oracle` gives them meaning.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ptxgen.spec.problems import Unfit, nearest

MAX_TEXT = 4000
MAX_DEPTH = 60

ELEMENTWISE = frozenset(
    [
        "abs", "absolute", "fabs", "negative", "positive", "sign", "sqrt", "cbrt", "square", "reciprocal",
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "sinh",
        "cosh", "arctan", "floor", "ceil", "trunc", "rint", "round", "power", "pow", "maximum", "minimum",
        "fmax", "fmin", "hypot", "clip", "where", "mod", "remainder", "fmod", "floor_divide", "isnan",
        "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and",
        "bitwise_or", "bitwise_xor", "bitwise_not", "invert", "left_shift", "right_shift", "bitwise_count",
        "copysign", "add", "subtract", "multiply", "divide", "true_divide", "equal", "not_equal", "less",
        "less_equal", "greater", "greater_equal",
    ]
)  # fmt: skip
REDUCTIONS = frozenset(
    [
        "sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin",
        "cumsum", "count_nonzero", "dot", "matmul",
    ]
)  # fmt: skip
SHAPING = frozenset(
    [
        "reshape", "ravel", "transpose", "swapaxes", "expand_dims", "squeeze", "flip", "roll", "pad",
        "repeat", "tile", "concatenate", "stack", "broadcast_to", "take", "sort", "diff", "outer", "tril",
        "triu",
    ]
)  # fmt: skip
CREATING = frozenset(["arange", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "bincount", "eye"])
CONVERSIONS = frozenset(
    [
        "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
        "float64",
    ]
)  # fmt: skip
ORACLE_FUNCTIONS = ELEMENTWISE | REDUCTIONS | SHAPING | CREATING | CONVERSIONS
ORACLE_CONSTANTS = frozenset({"pi", "e", "inf", "nan", "newaxis"})
NAMESPACES = frozenset({"np", "numpy"})

_OPERATORS = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.MatMult,
    ast.LShift,
    ast.RShift,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True, slots=True)
class OracleExpression:
    """`names`: the parameters it reads. `functions`: what it calls, without `np.`."""

    text: str
    names: frozenset[str]
    functions: frozenset[str]
    tree: ast.expr = field(repr=False, compare=False)


def parse_oracle(text: str, known: frozenset[str]) -> OracleExpression:
    """Check an expression over the names in `known`. Raises Unfit, naming the nearest right name."""
    if not text.strip():
        raise Unfit("the oracle's expression is empty", "write a NumPy expression, such as `a * x + y`")
    if len(text) > MAX_TEXT:
        raise Unfit(
            f"an oracle of {len(text)} characters; {MAX_TEXT} are the most",
            'write it as a Python function: `python = "oracle.py:name"`',
        )
    try:
        tree = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "too deeply nested"
        raise Unfit(f"the oracle is not a Python expression: {reason}") from error
    walk = _Walk(known)
    walk.visit(tree, 0)
    return OracleExpression(text.strip(), frozenset(walk.names), frozenset(walk.functions), tree)


def function_name(node: ast.expr) -> str | None:
    """`exp` for `exp` and `np.exp`; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=space), attr=name) if space in NAMESPACES:
            return name
    return None


class _Walk:
    def __init__(self, known: frozenset[str]) -> None:
        self.known = known
        self.names: set[str] = set()
        self.functions: set[str] = set()

    def visit(self, node: ast.expr, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unfit(f"an oracle nested more than {MAX_DEPTH} deep")
        match node:
            case ast.Constant(value=value):
                self.constant(value)
            case ast.Name(id=name):
                self.name(name)
            case ast.Attribute():
                self.attribute(node)
            case ast.UnaryOp(operand=operand):
                if isinstance(node.op, ast.Not):
                    raise Unfit("`not` does not work on arrays", "write `~` or `logical_not(…)`")
                self.visit(operand, depth + 1)
            case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _OPERATORS):
                self.visit(left, depth + 1)
                self.visit(right, depth + 1)
            case ast.Compare(ops=[op], left=left, comparators=[right]) if isinstance(op, _COMPARISONS):
                self.visit(left, depth + 1)
                self.visit(right, depth + 1)
            case ast.Compare():
                raise Unfit("a chained comparison does not work on arrays", "write `(a < b) & (b < c)`")
            case ast.BoolOp():
                raise Unfit("`and` and `or` do not work on arrays", "write `&` and `|`, with parentheses")
            case ast.IfExp():
                raise Unfit("`… if … else …` does not work on arrays", "write `where(condition, a, b)`")
            case ast.Call():
                self.call(node, depth)
            case ast.Subscript(value=value, slice=index):
                self.visit(value, depth + 1)
                self.index(index, depth + 1)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.visit(element, depth + 1)
            case _:
                raise Unfit(
                    f"`{ast.unparse(node)[:60]}` is not allowed in an oracle",
                    "use arithmetic, comparisons, subscripts and NumPy functions",
                )

    def constant(self, value: object) -> None:
        if value is None or isinstance(value, bool | float):
            return
        if isinstance(value, int):
            if value >= 2**64:
                raise Unfit("a number beyond 64 bits in the oracle")
            return
        if isinstance(value, str) and value in ("constant", "edge"):
            return
        raise Unfit(f"{value!r:.40} is not a number")

    def name(self, name: str) -> None:
        if name in self.known:
            self.names.add(name)
        elif name in ORACLE_CONSTANTS:
            return
        elif name in ORACLE_FUNCTIONS:
            raise Unfit(f"`{name}` is a function: write `{name}(…)`")
        else:
            raise Unfit(
                f"the oracle names `{name}`, which is no parameter that it may read",
                nearest(name, self.known | ORACLE_CONSTANTS),
            )

    def attribute(self, node: ast.Attribute) -> None:
        name = function_name(node)
        if name in ORACLE_CONSTANTS:
            return
        if name is None:
            raise Unfit(
                f"`{ast.unparse(node)[:60]}`: an oracle has no attributes but NumPy's functions",
                f"write it as a function, such as `{node.attr}(…)`" if node.attr in ORACLE_FUNCTIONS else "",
            )
        raise Unfit(
            f"`np.{name}` is nothing that an oracle knows", nearest(name, ORACLE_FUNCTIONS | ORACLE_CONSTANTS)
        )

    def call(self, node: ast.Call, depth: int) -> None:
        name = function_name(node.func)
        if name is None or (isinstance(node.func, ast.Name) and name in self.known):
            fix = "write `np.` functions by name: `exp(x)`, `sum(x, axis=1)`"
            raise Unfit(f"`{ast.unparse(node.func)[:60]}` cannot be called in an oracle", fix)
        if name not in ORACLE_FUNCTIONS:
            raise Unfit(f"the oracle calls `{name}`, which is no function it knows", nearest(name, ORACLE_FUNCTIONS))
        self.functions.add(name)
        for argument in node.args:
            self.visit(argument, depth + 1)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Unfit("`**` arguments are not allowed in an oracle")
            self.visit(keyword.value, depth + 1)

    def index(self, node: ast.expr, depth: int) -> None:
        match node:
            case ast.Tuple(elts=elements):
                for element in elements:
                    self.index(element, depth + 1)
            case ast.Slice(lower=lower, upper=upper, step=step):
                for part in (lower, upper, step):
                    if part is not None:
                        self.visit(part, depth + 1)
            case ast.Constant(value=value) if value is Ellipsis:
                return
            case _:
                self.visit(node, depth)
