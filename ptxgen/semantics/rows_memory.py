"""Legal operands of loads, stores and atomics: the right space, element, alignment and guard."""

from __future__ import annotations

from collections.abc import Iterable

from ptxgen.isa.model import Expansion, Operand
from ptxgen.semantics.choices import (
    Reserve,
    destination_classes,
    either_class,
    fits,
    fresh,
    guards,
    registers,
    sources,
)
from ptxgen.semantics.contract import SHARED_SYMBOL, Level, Parameter
from ptxgen.semantics.rows_arithmetic import typed_destination
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import Pattern, Row, alternation
from ptxgen.semantics.values import NO_FACTS, Pointer, kind_of_type

#: Elements from an address that an access may reach by a constant, where no guard speaks of each.
OFFSETS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)


def memory_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """Rows of one `ld`, `st`, `atom` or `red`."""
    address = next((o for o in expansion.operands if o.space is not None), None)
    if address is None:
        return []
    if address.space == "param":
        return _parameter_rows(state, expansion, reserve)
    if state.level < Level.TYPESTATE:
        return _scoped_rows(state, expansion, reserve)
    if address.space not in ("global", "shared") or address.vector > 1 or _vector(expansion):
        return []
    rows: list[Row] = []
    writes = any(o.access != "read" and o.space is None for o in expansion.operands)
    for guard_names, extra in _guard_choices(state, address.space):
        for addresses, parameter in _addresses(state, expansion, address.space, extra, bool(extra)):
            if not writes:
                rows.append(Row(_complete(state, expansion, addresses, parameter, reserve, False), guard_names))
                continue
            named = tuple(g for g in guard_names if g)
            rows.append(Row(_complete(state, expansion, addresses, parameter, reserve, True), named))
            if len(named) < len(guard_names):
                rows.append(Row(_complete(state, expansion, addresses, parameter, reserve, False)))
    return [r for r in rows if r.possible()]


def _vector(expansion: Expansion) -> bool:
    """A base address is only known to be aligned to one element, so no vector access is."""
    return any(o.vector > 1 for o in expansion.operands)


def _scoped_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """Below `typestate` an address is any 64-bit register (or, in shared memory, a 32-bit one)."""
    operands: list[tuple[str, ...]] = []
    for o in expansion.operands:
        if o.space is not None:
            operands.append(_any_address(state, o))
        elif o.access != "read":
            operands.append(_fresh_destination(state, o, reserve))
        else:
            operands.append(sources(state, o, moved=True))
    anywhere = expansion.name in {"st", "red"} or state.level < Level.SCOPED
    rows = [Row(tuple(operands), ("", *guards(state)) if anywhere else ("",))]
    if not anywhere and operands[0] and expansion.operands[0].vector == 1:
        # what is loaded on a condition goes to a register that holds something already
        write = expansion.operands[0]
        rows.append(Row((_load_targets(state, write, write.type, reserve, True), *operands[1:]), guards(state)))
    return [r for r in rows if r.possible()]


def _fresh_destination(state: State, operand: Operand, reserve: Reserve) -> tuple[str, ...]:
    if state.level < Level.SCOPED:
        return typed_destination(state, operand, reserve)
    if operand.vector == 1:
        return fresh(state, operand.type, reserve, either_class(operand.type))
    vectors = []
    for first in fresh(state, operand.type, reserve, either_class(operand.type)):
        register_class = state.contract.register_types[first]
        names = [state.next_register(register_class, k) for k in range(operand.vector)]
        enough = state.left(register_class) - operand.vector >= reserve.get(register_class, 0)
        if enough and all(names):
            vectors.append("{" + ", ".join(str(n) for n in names) + "}")
    return tuple(vectors)


def _any_address(state: State, operand: Operand) -> tuple[str, ...]:
    classes = {"b64", "b32"} if operand.space == "shared" else {"b64"}
    types = state.contract.register_types
    names = types if state.level < Level.SCOPED else state.registers
    bases = [r for r in names if types[r] in classes]
    if operand.space == "shared" and state.contract.shared:
        bases.append(SHARED_SYMBOL)
    if not bases:
        return ()
    return (Pattern(rf"\[{alternation(bases)}(\+[1-9][0-9]{{0,2}})?\]"),)


# ---------------------------------------------------------------- parameters


def _parameter_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """`ld.param` of a parameter not held yet, at its own type; the array's address as 64 bits."""
    if expansion.name != "ld" or _vector(expansion):
        return []
    destination = expansion.operands[0]
    held = {state.values[n].operation for n in state.registers.values()}
    symbols = [
        f"[{p.symbol}]"
        for p in state.contract.parameters.values()
        if _loads(p, destination.type) and (state.level < Level.SCOPED or f"param {p.symbol}" not in held)
    ]
    if state.level < Level.SCOPED:
        targets = typed_destination(state, destination, reserve)
    else:
        targets = fresh(state, destination.type, reserve)
    row = Row((targets, tuple(symbols)))
    return [row] if row.possible() else []


def _loads(parameter: Parameter, type_name: str) -> bool:
    own = parameter.type
    if own in ("f16", "bf16"):
        return type_name in ("b16", "u16")
    if kind_of_type(own) == "float":
        return type_name == own
    return type_name[1:] == own[1:] and type_name[0] in "usb" and type_name[1:].isdigit()


# ---------------------------------------------------------------- addresses


def _guard_choices(state: State, space: str) -> list[tuple[tuple[str, ...], frozenset[int]]]:
    """No guard or any guard, and each guard that bounds something more than this path already does."""
    key = ("guard choices", space)
    found: list[tuple[tuple[str, ...], frozenset[int]]] | None = state.memo.get(key)
    if found is None:
        found = state.memo[key] = _find_guard_choices(state, space)
    return found


def _find_guard_choices(state: State, space: str) -> list[tuple[tuple[str, ...], frozenset[int]]]:
    choices: list[tuple[tuple[str, ...], frozenset[int]]] = [(("", *guards(state)), NO_FACTS)]
    if space == "shared":
        return choices
    by_facts: dict[frozenset[int], list[str]] = {}
    for register in state.registers:
        if state.contract.register_types[register] != "pred":
            continue
        value = state.value(register)
        for negated in (False, True):
            new = (value.when_false if negated else value.when_true) - state.facts
            if new:
                by_facts.setdefault(new, []).append(f"@{'!' if negated else ''}{register} ")
    return [*choices, *((tuple(names), facts) for facts, names in by_facts.items())]


def _addresses(
    state: State, expansion: Expansion, space: str, extra: frozenset[int], only_new: bool
) -> Iterable[tuple[tuple[str, ...], Parameter | None]]:
    """Addresses by the parameter they point into; with `only_new` those that need the extra facts."""
    if space == "shared":
        addresses = _shared_addresses(state, expansion)
        return [(addresses, None)] if addresses else []
    element = _datum(expansion)
    found: dict[str, list[str]] = {}
    for register, pointer in _global_pointers(state):
        parameter = state.parameter(pointer.parameter)
        if not _permits(parameter, expansion) or not _same_element(state, parameter.element, element):
            continue
        if parameter.sized and not (pointer.index and _all_guarded(state, pointer, extra)):
            continue
        if only_new and _all_guarded(state, pointer, NO_FACTS):
            continue
        found.setdefault(pointer.parameter, []).append(f"[{register}]")
        if not parameter.sized:
            size = state.contract.element_size(parameter.element)
            found[pointer.parameter] += [f"[{register}+{k * size}]" for k in OFFSETS]
    return [(tuple(names), state.parameter(symbol)) for symbol, names in found.items()]


def _global_pointers(state: State) -> list[tuple[str, Pointer]]:
    found: list[tuple[str, Pointer]] | None = state.memo.get("global pointers")
    if found is None:
        pointers = ((r, state.value(r).pointer) for r in state.registers)
        found = [(r, p) for r, p in pointers if p is not None and p.space == "global" and p.parameter]
        state.memo["global pointers"] = found
    return found


def _all_guarded(state: State, pointer: Pointer, extra: frozenset[int]) -> bool:
    return all(state.guarded(i, extra) for i in pointer.index)


def _permits(parameter: Parameter, expansion: Expansion) -> bool:
    """What only comes in is not written, what only goes out is not read."""
    if "nc" in expansion.slots.values():
        return parameter.access == "in"
    if expansion.name == "ld":
        return parameter.access != "out"
    if expansion.name == "st":
        return parameter.access != "in"
    return parameter.access != "in"


def _datum(expansion: Expansion) -> str:
    return next(o.type for o in expansion.operands if o.space is not None)


def _same_element(state: State, element: str, type_name: str) -> bool:
    """Whether an access of `type_name` reads or writes one whole element."""
    bits = state.contract.bits
    if bits.get(element) != bits.get(type_name):
        return False
    one, other = kind_of_type(element), kind_of_type(type_name)
    if one in ("half", "bf16"):
        return other in ("", one) or type_name == "u16"
    return other in ("", one)


def _shared_addresses(state: State, expansion: Expansion) -> tuple[str, ...]:
    """The shared array: stored before it is loaded, and a barrier between another thread's store and a load."""
    if not state.contract.shared:
        return ()
    type_name = _datum(expansion)
    elements = (state.shared_element,) if state.shared_element else state.contract.shared_elements
    if not any(_same_element(state, e, type_name) for e in elements):
        return ()
    reading = expansion.name == "ld"
    if reading and not state.shared_written:
        return ()
    size = max(1, state.contract.bits[type_name] // 8)
    out: list[str] = []
    for register in state.registers:
        value = state.value(register)
        if value.pointer is None or value.pointer.space != "shared":
            continue
        own = not state.shared_dirty or set(state.shared_dirty) == {value.number}
        if not reading or own:
            out.append(f"[{register}]")
        if not state.shared_dirty or not reading:
            out += [f"[{register}+{k * size}]" for k in OFFSETS]
    if not state.shared_dirty or not reading:
        out += [f"[{SHARED_SYMBOL}]", *(f"[{SHARED_SYMBOL}+{k * size}]" for k in OFFSETS)]
    return tuple(out)


# ---------------------------------------------------------------- the other operands


def _complete(
    state: State,
    expansion: Expansion,
    addresses: tuple[str, ...],
    parameter: Parameter | None,
    reserve: Reserve,
    conditional: bool,
) -> tuple[tuple[str, ...], ...]:
    """The operand list in order. What is loaded on a condition goes to a variable, else to a fresh register."""
    element = parameter.element if parameter is not None else state.shared_element or _datum(expansion)
    operands: list[tuple[str, ...]] = []
    for o in expansion.operands:
        if o.space is not None:
            operands.append(addresses)
        elif o.access == "read":
            operands.append(_datums(state, expansion, o, element, parameter, addresses))
        else:
            operands.append(_load_targets(state, o, element, reserve, conditional))
    return tuple(operands)


def _load_targets(
    state: State, operand: Operand, element: str, reserve: Reserve, conditional: bool
) -> tuple[str, ...]:
    classes = _element_classes(element, operand.type)
    if not conditional:
        return fresh(state, operand.type, reserve, classes)
    classes = classes or destination_classes(operand.type, state.contract.bits[operand.type])
    return tuple(
        r
        for r in state.rewritable(True)
        if r in state.variables and state.contract.register_types[r] in classes and state.value(r).pointer is None
    )


def _element_classes(element: str, type_name: str) -> tuple[str, ...]:
    """Untyped bits go where the element belongs: a float to a float register."""
    if element == "f32" and type_name == "b32":
        return ("f32",)
    if element == "f64" and type_name == "b64":
        return ("f64",)
    return ()


def _datums(
    state: State,
    expansion: Expansion,
    operand: Operand,
    element: str,
    parameter: Parameter | None,
    addresses: tuple[str, ...],
) -> tuple[str, ...]:
    """What may be stored there: values of the element's kind, and at `full` only what owes nothing."""
    names = [r for r in registers(state, operand, moved=True) if fits(state.value(r), element)]
    if state.level >= Level.FULL and parameter is not None and expansion.name == "st":
        names = [r for r in names if _settles(state, r, parameter, addresses)]
        return tuple(names)
    constants = [a for a in sources(state, operand) if isinstance(a, Pattern)]
    return (*names, *constants)


def _settles(state: State, register: str, parameter: Parameter, addresses: tuple[str, ...]) -> bool:
    """Whether storing this value leaves no input unused. The store that completes the outputs has to be
    made of all inputs that nothing else has used; before it, and in conditional regions, any value will do."""
    unstored = [p.symbol for p in state.unstored()]
    if unstored and unstored != [parameter.symbol]:
        return True
    if any(r.kind == "forward" for r in state.regions):
        return True
    owed = {p.symbol for p in state.unconsumed()} - state.value(register).made_of
    if not owed:
        return True
    base = addresses[0].strip("[]").split("+")[0]
    return owed <= state.value(base).made_of if base in state.registers else False
