"""Tree to text, in the house style: `parse(print_module(m)) == m`.

One statement a line, indented by a tab for every open brace; labels at the margin; one declared name a
declaration; comments are not part of the tree.
"""

from __future__ import annotations

from math import prod

from ptxgen.ptx.tree import (
    Address,
    Directive,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Name,
    Negated,
    Operand,
    Pair,
    Statement,
    Variable,
    Vector,
)


def print_module(module: Module) -> str:
    """The whole file, ending in a newline."""
    out = []
    if module.version:
        out.append(f".version {module.version}\n")
    if module.target:
        out.append(f".target {', '.join(module.target)}\n")
    if module.address_size is not None:
        out.append(f".address_size {module.address_size}\n")
    previous: object = None
    for item in module.items:
        if isinstance(item, Function) or type(item) is not type(previous):
            out.append("\n")
        previous = item
        if isinstance(item, Function):
            out.append(print_function(item))
        elif isinstance(item, Variable):
            out.append(_variable(item) + ";\n")
        else:
            out.append(_directive(item) + "\n")
    return "".join(out)


def print_function(function: Function) -> str:
    """`.entry` or `.func` with its body, ending in a newline."""
    head = "".join(f".{word} " for word in function.linkage) + f".{function.kind} "
    head += "".join(f"{d.text} " for d in function.directives if d.name == "attribute")
    if function.returns:
        head += f"({', '.join(print_parameter(v) for v in function.returns)}) "
    head += function.name
    if function.params:
        head += "(\n" + ",\n".join(f"\t{print_parameter(v)}" for v in function.params) + "\n)"
    else:
        head += "()"
    lines = [head, *(d.text for d in function.directives if d.name != "attribute")]
    if function.body is None:
        return "\n".join(lines) + ";\n"
    return "\n".join(lines) + "\n{\n" + "".join(print_statement(s) for s in function.body) + "}\n"


def print_statement(statement: Statement, depth: int = 1) -> str:
    """One statement as whole lines, each ending in a newline, indented by `depth` tabs."""
    indent = "\t" * depth
    if isinstance(statement, Instruction):
        return f"{indent}{print_instruction(statement)}\n"
    if isinstance(statement, Label):
        return f"{statement.name}:\n"
    if isinstance(statement, Variable):
        return f"{indent}{_variable(statement)};\n"
    if isinstance(statement, Directive):
        return f"{indent}{_directive(statement)}\n"
    inner = "".join(print_statement(s, depth + 1) for s in statement.statements)
    return f"{indent}{{\n{inner}{indent}}}\n"


def print_instruction(instruction: Instruction) -> str:
    """`@%p1 add.f32 %f1, %f2, 1.0;`, without indent or newline."""
    guard = instruction.guard
    out = f"@{'!' if guard.negated else ''}{guard.predicate} " if guard else ""
    out += instruction.opcode
    if instruction.operands:
        out += " " + ", ".join(map(print_operand, instruction.operands))
    return out + ";"


def print_operand(operand: Operand) -> str:
    """One operand."""
    if isinstance(operand, Name | Immediate):
        return operand.text
    if isinstance(operand, Address):
        base = operand.base.text if operand.base else ""
        if operand.base is None:
            base = str(operand.offset)
        elif operand.offset or operand.zero or not operand.brackets:
            base += f"+{operand.offset}"
        if not operand.brackets:
            return base
        closing = "].unified" if operand.unified else "]"
        return f"[{', '.join((base, *map(print_operand, operand.components)))}{closing}"
    if isinstance(operand, Vector):
        return f"{{{', '.join(map(print_operand, operand.elements))}}}"
    if isinstance(operand, Pair):
        return f"{print_operand(operand.first)}|{print_operand(operand.second)}"
    if isinstance(operand, Negated):
        return f"{operand.sign}{operand.operand.text}"
    return f"({', '.join(map(print_operand, operand.elements))})"


def print_parameter(variable: Variable) -> str:
    """A parameter of a signature: the declaration with its attributes after the type."""
    pointer = "".join(f".{a} " for a in variable.attributes)
    return f"{_start(variable)}{pointer}{_declared(variable)}"


def _start(variable: Variable) -> str:
    out = f".{variable.space} "
    if variable.alignment is not None:
        out += f".align {variable.alignment} "
    if variable.vector != 1:
        out += f".v{variable.vector} "
    return f"{out}.{variable.type} "


def _declared(variable: Variable) -> str:
    out = variable.name
    if variable.count is not None:
        out += f"<{variable.count}>"
    return out + "".join("[]" if d is None else f"[{d}]" for d in variable.dimensions)


def _variable(variable: Variable) -> str:
    pointers = tuple(a for a in variable.attributes if a.startswith("ptr"))
    others = tuple(a for a in variable.attributes if not a.startswith("ptr"))
    out = "".join(f".{word} " for word in variable.linkage)
    start = _start(variable)
    if others:
        space, _, rest = start.partition(" ")
        start = f"{space} .attribute({', '.join('.' + a for a in others)}) {rest}"
    out += start + "".join(f".{a} " for a in pointers) + _declared(variable)
    if variable.initialiser is not None:
        out += f" = {_initialiser(variable)}"
    return out


def _initialiser(variable: Variable) -> str:
    values = [print_operand(v) for v in variable.initialiser or ()]
    shape = [*variable.dimensions, *([variable.vector] if variable.vector > 1 else [])]
    if not shape and len(values) == 1 and " = " not in values[0]:
        return values[0]
    return _nested(values, shape)


def _nested(values: list[str], shape: list[int | None]) -> str:
    if len(shape) <= 1:
        return f"{{{', '.join(values)}}}"
    width = max(1, prod(extent or 1 for extent in shape[1:]))
    rows = [values[i : i + width] for i in range(0, len(values), width)]
    return f"{{{', '.join(_nested(row, shape[1:]) for row in rows)}}}"


def _directive(directive: Directive) -> str:
    return f"{directive.label}: {directive.text}" if directive.label else directive.text


