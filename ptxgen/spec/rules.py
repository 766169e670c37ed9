"""The rules of a spec that join several fields. Each raises SpecError at the line of what is wrong."""

from __future__ import annotations

import ast
import keyword
import math
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ptxgen.isa.model import Version
from ptxgen.spec.expression import SIZE_FUNCTIONS, Expression
from ptxgen.spec.model import MAX_BLOCK, MAX_THREADS, Param, Spec
from ptxgen.spec.oracle import NAMESPACES, ORACLE_CONSTANTS, ORACLE_FUNCTIONS, OracleExpression, parse_oracle
from ptxgen.spec.problems import SpecError, Unfit, nearest

if TYPE_CHECKING:
    from ptxgen.isa import Table

#: bytes of a file that a spec names
MAX_REFERENCED = 4_000_000
RESERVED_PARAMS = SIZE_FUNCTIONS | ORACLE_FUNCTIONS | ORACLE_CONSTANTS | NAMESPACES | frozenset(keyword.kwlist)


def check_rules(spec: Spec, table: Table) -> dict[str, OracleExpression]:
    """Check everything, in the file's order; the oracle's expressions for each output come back."""
    _params(spec)
    _kernel_name(spec)
    _size_names(spec)
    _launch(spec)
    _target(spec, table)
    _constraints(spec, table)
    expressions = _oracle(spec)
    _verify(spec)
    _source(spec)
    return expressions


def _fail(spec: Spec, path: tuple[str | int, ...], what: str, fix: str = "") -> NoReturn:
    raise SpecError(what, where=spec.where(*path), fix=fix)


def _params(spec: Spec) -> None:
    seen: set[str] = set()
    for i, param in enumerate(spec.kernel.params):
        path = ("kernel", "params", i)
        if param.name in seen:
            _fail(spec, (*path, "name"), f"two parameters are named `{param.name}`", "give each its own name")
        seen.add(param.name)
        if param.name in RESERVED_PARAMS:
            _fail(
                spec,
                (*path, "name"),
                f"`{param.name}` cannot name a parameter: expressions use that word",
                f"call it `{param.name}_` or something that says what it holds",
            )
        if param.pointer:
            if "access" not in param.model_fields_set:
                _fail(
                    spec,
                    path,
                    f"`{param.name}` points to memory but has no `access`",
                    'add access = "in", "out" or "inout"',
                )
            if not param.shape:
                _fail(spec, path, f"`{param.name}` points to memory but has no `shape`", 'add shape = ["n"]')
        elif param.shape or param.access != "in":
            key = "shape" if param.shape else "access"
            _fail(
                spec,
                (*path, key),
                f"`{param.name}` is a scalar, which has no `{key}`",
                f'remove it, or write type = "{param.element}*"',
            )
    if not spec.outputs:
        _fail(
            spec,
            ("kernel", "params"),
            "the kernel has no output",
            'give one pointer access = "out" or "inout"',
        )


def _kernel_name(spec: Spec) -> None:
    """ptxas takes almost any word for an entry's name; what it refuses, and the header's own names, are left."""
    name = spec.kernel.name
    taken = {"WARP_SZ", "smem", *(f"param_{param.name}" for param in spec.kernel.params)}
    if name in taken or name.startswith("$L_"):
        _fail(
            spec,
            ("kernel", "name"),
            f"`{name}` is a word of PTX or of the kernel's own text",
            f"call it `{name.strip('$')}_kernel`",
        )


def _check_size(spec: Spec, size: Expression, path: tuple[str | int, ...], scalars: dict[str, Param]) -> None:
    for name in size.names:
        param = scalars.get(name)
        if param is None:
            integers = [p.name for p in scalars.values() if p.scalar.integer]
            _fail(
                spec,
                path,
                f"`{name}` is no scalar parameter, so it cannot be a size",
                nearest(name, integers),
            )
        if not param.scalar.integer:
            _fail(spec, path, f"`{name}` is {param.type}; a size is an integer", "make it u32")


def _size_names(spec: Spec) -> None:
    scalars = {param.name: param for param in spec.scalars}
    for i, param in enumerate(spec.kernel.params):
        for j, size in enumerate(param.shape):
            _check_size(spec, size, ("kernel", "params", i, "shape", j), scalars)
    for i, size in enumerate(spec.launch.grid):
        _check_size(spec, size, ("launch", "grid", i), scalars)
    _check_size(spec, spec.launch.shared_bytes, ("launch", "shared_bytes"), scalars)


def _launch(spec: Spec) -> None:
    for i, threads in enumerate(spec.launch.block):
        if not 1 <= threads <= MAX_BLOCK[i]:
            _fail(
                spec,
                ("launch", "block", i),
                f"the block's {'xyz'[i]} dimension is {threads}",
                f"it must be from 1 to {MAX_BLOCK[i]}",
            )
    if spec.threads > MAX_THREADS:
        _fail(spec, ("launch", "block"), f"a block of {spec.threads} threads", f"{MAX_THREADS} are the most")


def _target(spec: Spec, table: Table) -> None:
    several = len(spec.target.arch) > 1
    for i, arch in enumerate(spec.target.arch):
        path = ("target", "arch", i) if several else ("target", "arch")
        if arch not in table.targets:
            _fail(spec, path, f"there is no target `{arch:.40}`", nearest(arch, table.targets))
        if arch in spec.target.arch[:i]:
            _fail(spec, path, f"the target `{arch}` stands there twice", "remove one")
    if spec.target.ptx == "auto":
        return
    known = {str(version) for version in table.versions}
    if spec.target.ptx not in known:
        _fail(
            spec,
            ("target", "ptx"),
            f"there is no PTX version `{spec.target.ptx:.40}`",
            f'write "auto"; {nearest(spec.target.ptx, known)}',
        )
    for arch in spec.target.arch:
        lowest = table.lowest_ptx(arch)
        if Version.parse(spec.target.ptx) < lowest:
            _fail(
                spec,
                ("target", "ptx"),
                f"PTX {spec.target.ptx} does not know {arch}",
                f'write "auto", or "{lowest}" or newer',
            )


def _constraints(spec: Spec, table: Table) -> None:
    limits = spec.constraints
    for name in limits.declare:
        if name not in table.register_classes:
            _fail(
                spec,
                ("constraints", "declare", name),
                f"there is no register class `{name:.40}`",
                nearest(name, table.register_classes),
            )
    for key, opcodes in (("require", limits.require), ("forbid", limits.forbid)):
        for i, opcode in enumerate(opcodes):
            name = opcode.split(".")[0]
            if name not in table.instructions:
                _fail(
                    spec,
                    ("constraints", key, i),
                    f"there is no instruction `{name:.40}`",
                    nearest(name, table.instructions),
                )
    for i, required in enumerate(limits.require):
        for forbidden in limits.forbid:
            if required == forbidden or required.startswith(forbidden + "."):
                _fail(
                    spec,
                    ("constraints", "require", i),
                    f"`{required}` is required and forbidden",
                    "remove it from one of the lists",
                )


def _oracle(spec: Spec) -> dict[str, OracleExpression]:
    oracle = spec.oracle
    if (oracle.expr is None) == (oracle.python is None):
        _fail(
            spec,
            ("oracle",),
            "an oracle is either `expr` or `python`, and one of them",
            'write expr = "a * x + y", for example',
        )
    if oracle.python is not None:
        _python_function(spec, oracle.python, ("oracle", "python"))
        return {}
    outputs = {param.name for param in spec.outputs}
    assert oracle.expr is not None
    if isinstance(oracle.expr, str):
        if len(outputs) > 1:
            _fail(
                spec,
                ("oracle", "expr"),
                f"one expression for {len(outputs)} outputs",
                "write a table: expr = { " + ", ".join(f'{name} = "…"' for name in sorted(outputs)) + " }",
            )
        texts = {next(iter(outputs)): oracle.expr}
    else:
        texts = dict(oracle.expr)
    for name in texts:
        if name not in outputs:
            _fail(spec, ("oracle", "expr", name), f"`{name:.40}` is no output", nearest(name, outputs))
    for name in sorted(outputs - set(texts)):
        _fail(spec, ("oracle", "expr"), f"the output `{name}` has no expression", f'add {name} = "…"')
    readable = frozenset(p.name for p in spec.kernel.params if not p.pointer or p.access != "out")
    expressions = {}
    for name, text in texts.items():
        path = ("oracle", "expr") if isinstance(oracle.expr, str) else ("oracle", "expr", name)
        try:
            expressions[name] = parse_oracle(text, readable)
        except Unfit as error:
            _fail(spec, path, error.what, error.fix)
    return expressions


def _verify(spec: Spec) -> None:
    verify = spec.verify
    scalars = {param.name: param for param in spec.scalars}
    for name, span in verify.sizes.items():
        path = ("verify", "sizes", name)
        _check_size(
            spec, Expression.parse(name) if name.isidentifier() else _no_name(spec, path, name), path, scalars
        )
        if span.derived is not None:
            _check_size(spec, span.derived, path, scalars)
        elif span.high > scalars[name].scalar.high:
            _fail(
                spec,
                path,
                f"{span.high} does not fit `{name}`, a {scalars[name].type}",
                f"{scalars[name].scalar.high} is the most",
            )
    _cycles(spec)
    params = {param.name: param for param in spec.kernel.params}
    for name, values in verify.values.items():
        path = ("verify", "values", name)
        if name not in params or (params[name].pointer and params[name].access == "out"):
            readable = [p.name for p in params.values() if p.access != "out" and p.name not in spec.sizes]
            _fail(spec, path, f"`{name:.40}` is no parameter with values to draw", nearest(name, readable))
        if name in spec.sizes:
            _fail(spec, path, f"`{name}` is a size", f"write it under [verify] sizes = {{ {name} = [0, 1000] }}")
        kind = params[name].scalar
        if kind.integer and not (kind.low <= values.low and values.high <= kind.high):
            _fail(
                spec,
                path,
                f"[{values.low:g}, {values.high:g}] does not fit {params[name].type}",
                f"{kind.low} to {kind.high} is what it holds",
            )
        if kind.integer and not math.ceil(values.low) <= math.floor(values.high):
            _fail(spec, path, f"there is no whole number in [{values.low:g}, {values.high:g}]")


def _no_name(spec: Spec, path: tuple[str | int, ...], name: str) -> NoReturn:
    _fail(spec, path, f"{name!r:.40} is no size", nearest(name, spec.sizes))


def _cycles(spec: Spec) -> None:
    """Sizes may be computed from each other, but not in a circle."""
    derived = {name: span.derived.names for name, span in spec.verify.sizes.items() if span.derived is not None}

    def follow(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            circle = " -> ".join((*trail[trail.index(name) :], name))
            _fail(
                spec,
                ("verify", "sizes", name),
                f"sizes that depend on each other in a circle: {circle}",
                "give one of them a range, such as [0, 1000]",
            )
        for other in derived.get(name, ()):
            follow(other, (*trail, name))

    for name in derived:
        follow(name, ())


def _python_function(spec: Spec, reference: str, path: tuple[str | int, ...]) -> None:
    """`file.py:function`, relative to the spec: both must exist. Nothing is run."""
    file, _, function = reference.rpartition(":")
    if not file or not function.isidentifier():
        _fail(spec, path, f"{reference!r:.80} does not name a function", 'write "file.py:function"')
    text = _referenced(spec, file, path)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        _fail(spec, path, f"{file} is not Python{line}")
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if function not in functions:
        _fail(spec, path, f"{file} has no function `{function}`", nearest(function, functions))


def _referenced(spec: Spec, name: str, path: tuple[str | int, ...]) -> str:
    file = referenced_path(spec, name)
    try:
        if file.exists() and not file.is_file():
            _fail(spec, path, f"{file} is not a regular file", "name a text file")
        with file.open("rb") as stream:
            content = stream.read(MAX_REFERENCED + 1)
        if len(content) > MAX_REFERENCED:
            _fail(spec, path, f"{file} is larger than {MAX_REFERENCED} bytes", "name a text file")
        return content.decode("utf-8")
    except FileNotFoundError:
        _fail(spec, path, f"there is no file {file}", "names are relative to the spec's folder")
    except (OSError, ValueError) as error:
        _fail(spec, path, f"cannot read {file}: {error.strerror if isinstance(error, OSError) else error}")


def referenced_path(spec: Spec, name: str) -> Path:
    """A file that a spec names, relative to the spec's own folder."""
    return spec.path.parent / name


def _source(spec: Spec) -> None:
    if spec.source is None:
        return
    cuda, triton = spec.source.cuda, spec.source.triton
    if (cuda is None) == (triton is None):
        _fail(
            spec,
            ("source",),
            "a source is either `cuda` or `triton`, and one of them",
            'write cuda = "kernel.cu"',
        )
    if cuda is not None:
        _referenced(spec, cuda, ("source", "cuda"))
    if triton is not None:
        _python_function(spec, triton, ("source", "triton"))
