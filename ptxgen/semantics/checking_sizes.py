"""How much shared, constant and parameter memory a module takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ptxgen.isa import Table
from ptxgen.ptx.tree import Block, Function, Instruction, Module, Operand, Statement, Variable
from ptxgen.semantics.checking_availability import Ground
from ptxgen.semantics.checking_instructions import names_in
from ptxgen.semantics.checking_scopes import Findings, symbol_of

MOST_SHARED = 49152
MOST_CONSTANT = 65536
#: Parameter bytes of a kernel: before PTX 8.1, and from then on.
MOST_PARAMETERS = 4352
MOST_PARAMETERS_SINCE_8_1 = 32764
_LARGE_PARAMETERS_TARGET = 70


def check_sizes(module: Module, ground: Ground) -> None:
    """Errors where a limit of the machine is passed."""
    table, findings = ground.table, ground.findings
    variables = [item for item in module.items if isinstance(item, Variable)]
    constants = _total((v for v in variables if v.space == "const"), table)
    if constants > MOST_CONSTANT:
        findings.error(
            next(v.span for v in variables if v.space == "const"), "constant-size",
            f"{constants} bytes of constant memory; there are {MOST_CONSTANT}",
        )
    shared = {v.name: v for v in variables if v.space == "shared" and "extern" not in v.linkage}
    functions = {item.name: item for item in module.items if isinstance(item, Function) and item.body is not None}
    for function in functions.values():
        if function.kind == "entry":
            _check_shared(function, functions, shared, table, findings)
            _check_parameters(function, ground)


def _total(variables: Iterable[Variable], table: Table) -> int:
    """Bytes that the variables take one after another, each at its alignment."""
    at = 0
    for variable in variables:
        symbol = symbol_of(variable, table)
        alignment = max(1, symbol.alignment)
        at = -(-at // alignment) * alignment + (symbol.size or 0)
    return at


def _check_shared(
    entry: Function, functions: dict[str, Function], shared: dict[str, Variable], table: Table, findings: Findings
) -> None:
    used: dict[str, Variable] = {}
    own: list[Variable] = []
    seen: set[str] = set()
    pending = [entry]
    while pending:
        function = pending.pop()
        if function.name in seen:
            continue
        seen.add(function.name)
        for statement in _flat(function.body or ()):
            if isinstance(statement, Variable) and statement.space == "shared":
                own.append(statement)
            elif isinstance(statement, Instruction):
                for name in _mentioned(statement.operands):
                    if name in shared:
                        used[name] = shared[name]
                    elif name in functions:
                        pending.append(functions[name])
    total = _total((*used.values(), *own), table)
    if total > MOST_SHARED:
        findings.error(
            entry.span, "shared-size",
            f"{entry.name} takes {total} bytes of static shared memory; a block has {MOST_SHARED}",
            "declare dynamic shared memory: .extern .shared .align 16 .b8 name[];",
        )


def _check_parameters(entry: Function, ground: Ground) -> None:
    total = _total(entry.params, ground.table)
    newer = ground.target is None or ground.target.number >= _LARGE_PARAMETERS_TARGET
    large = ground.since("8.1") and newer
    limit = MOST_PARAMETERS_SINCE_8_1 if large else MOST_PARAMETERS
    if total > limit:
        hint = "" if large else f"from PTX 8.1 and sm_70 on there are {MOST_PARAMETERS_SINCE_8_1}"
        ground.findings.error(entry.span, "parameter-memory",
                       f"{entry.name} takes {total} bytes of parameters; there are {limit}", hint)


def _mentioned(operands: Sequence[Operand]) -> Iterator[str]:
    for name in names_in(operands):
        yield name.text


def _flat(statements: Sequence[Statement]) -> Iterator[Statement]:
    for statement in statements:
        if isinstance(statement, Block):
            yield from _flat(statement.statements)
        else:
            yield statement


