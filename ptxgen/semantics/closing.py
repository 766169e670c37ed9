"""The way home: from any state, statements that meet what is owed and close the kernel.

The plan is made of ordinary statements and carried through `step`, so it proves by construction that the
kernel can be closed, what that costs in tokens, and how many fresh registers it takes. It is a correct
kernel only in form: obligations are met, the mathematics is not attempted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptxgen.errors import PtxgenError
from ptxgen.isa.model import Expansion, Operand
from ptxgen.semantics.choices import destination_classes, immediates
from ptxgen.semantics.contract import END_LABEL, Level, Parameter, matches_prefix
from ptxgen.semantics.rows_control import COLLECTIVE, of_warp
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import Pattern
from ptxgen.semantics.stepping import step
from ptxgen.semantics.values import kind_of_type

#: Opcodes that join two numbers of a type, the first that the spec allows is taken.
JOINS = ("add", "max", "min", "sub", "mul", "mul.lo")


class NoWayHome(PtxgenError):
    """The spec's obligations cannot be met from here within the spec's own limits."""


@dataclass
class Plan:
    """The statements that close the kernel, and the fresh registers they take, by class."""

    lines: list[str] = field(default_factory=list)
    registers: Mapping[str, int] = field(default_factory=dict)


def plan_closing(state: State) -> Plan:
    """Raises NoWayHome when obligations cannot be met (registers used up, opcodes forbidden)."""
    writer = _Writer(state)
    writer.close()
    used = {c: n - state.fresh.get(c, 0) for c, n in writer.state.fresh.items()}
    return Plan(writer.lines, {c: n for c, n in used.items() if n > 0})


def _common_type(element: str) -> str:
    """The type in which owed inputs are joined on their way to an output."""
    if element in ("f16", "bf16", "f64"):
        return "f32"
    return "s32" if kind_of_type(element) == "int" else "f32"


class _Writer:
    """Writes one plan: holds the state reached and the lines that led there."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.lines: list[str] = []

    # ------------------------------------------------------------ writing

    def line(self, text: str) -> None:
        self.state = step(self.state, text)
        self.lines.append(text)

    def emit(self, opcode: str, *operands: str, guard: str = "") -> None:
        if opcode not in self.state.contract.by_opcode:
            raise NoWayHome(f"closing the kernel needs `{opcode}`, which the spec or its target does not allow")
        self.line(f"\t{guard}{opcode}{' ' if operands else ''}{', '.join(operands)};\n")

    def fresh(self, register_class: str, ahead: int = 0) -> str:
        register = self.state.next_register(register_class, ahead)
        if register is None:
            raise NoWayHome(
                f"closing the kernel needs one more register of class {register_class}",
                why="the spec's [constraints] declare leaves too few",
                fix=f"raise declare.{register_class} in the spec",
            )
        return register

    def first(self, *opcodes: str) -> str:
        for opcode in opcodes:
            if opcode in self.state.contract.by_opcode:
                return opcode
        raise NoWayHome(f"closing the kernel needs one of {', '.join(opcodes)}, and the spec or target allows none")

    # ------------------------------------------------------------ the order of things

    def close(self) -> None:
        state = self.state
        if state.closed:
            return
        if state.level < Level.SCOPED:
            self._finish()
            return
        if not state.ending:
            while any(r.kind == "forward" for r in self.state.regions):
                label = next(r.label for r in reversed(self.state.regions) if r.kind == "forward")
                self.line(f"{label}:\n")
            if self.state.level >= Level.FULL and self.state.reachable:
                self._meet_obligations()
            if self.state.end_used or not self.state.reachable:
                self.line(f"{END_LABEL}:\n")
        self._finish()

    def _finish(self) -> None:
        if self.state.ending != "ret":
            self.emit("ret")
        self.line("}\n")

    def _meet_obligations(self) -> None:
        for parameter in self.state.unconsumed():
            if not parameter.pointer and kind_of_type(parameter.element) != "int":
                self._number(parameter, None)       # inputs are at hand before values are computed
        for prefix in sorted(self.state.unmet(), key=lambda p: not any(matches_prefix(p, c) for c in COLLECTIVE)):
            if prefix in self.state.unmet():
                self._require(prefix)
        for output in self.state.unstored():
            self._store(output)
        if self.state.unconsumed():
            outputs = self.state.contract.outputs
            if not outputs:
                raise NoWayHome("the kernel has no output to show its parameters in")
            self._store(outputs[0])

    # ------------------------------------------------------------ outputs

    def _store(self, output: Parameter) -> None:
        index = self._guarded_index() if output.sized or any(p.sized for p in self.state.unconsumed()) else None
        last = [p.symbol for p in self.state.unstored()] in ([output.symbol], [])
        owed = self.state.unconsumed() if last else []
        common = _common_type(output.element)
        register = None
        loaded = [(parameter, self._number(parameter, index)) for parameter in owed]
        for parameter, given in loaded:
            value = self._convert(given, parameter.element, common)
            register = value if register is None else self._join(register, value, common)
        if register is None:
            register = self._constant(common)
        register = self._convert(register, common, output.element)
        address = self._address(output, index)
        bits = self.state.contract.bits[output.element]
        opcode = (
            self.first(f"st.global.{output.element}", f"st.global.b{bits}", f"st.global.u{bits}")
            if output.element not in ("f16", "bf16")
            else self.first(f"st.global.b{bits}", f"st.global.u{bits}")
        )
        self.emit(opcode, f"[{address}]", register)

    def _guarded_index(self) -> str:
        """A bounded 32-bit index on this path: one that is there, or a new one with its guard."""
        state = self.state
        for register in state.registers:
            value = state.value(register)
            if (
                state.contract.register_types[register] == "b32"
                and value.kind == "int"
                and value.pointer is None
                and state.guarded(value.number)
            ):
                return register
        return self._special("%ctaid.x")

    def _special(self, name: str) -> str:
        operation = f"special {name}"
        for register, number in self.state.registers.items():
            if self.state.values[number].operation == operation:
                return register
        register = self.fresh("b32")
        self.emit("mov.u32", register, name)
        return register

    def _address(self, parameter: Parameter, index: str | None) -> str:
        """A register with the address of element `index` (None: the first) of a parameter's array."""
        pointer = self._pointer(parameter)
        if index is None:
            return pointer
        size = self.state.contract.element_size(parameter.element)
        wanted = self.state.registers[index]
        for register, number in self.state.registers.items():
            value = self.state.values[number]
            if value.pointer and value.pointer.parameter == parameter.symbol and value.pointer.space == "global":
                scaled = [self.state.values[i] for i in value.pointer.index]
                if len(scaled) == 1 and (wanted in scaled[0].arguments or scaled[0].number == wanted):
                    return register
        register = self.fresh("b64")
        if "mad.wide.u32" in self.state.contract.by_opcode:
            self.emit("mad.wide.u32", register, index, str(size), pointer)
            return register
        self.emit(self.first("mul.wide.u32", "mul.wide.s32"), register, index, str(size))
        address = self.fresh("b64")
        self.emit(self.first("add.s64", "add.u64"), address, pointer, register)
        return address

    def _pointer(self, parameter: Parameter) -> str:
        generic = None
        for register, number in self.state.registers.items():
            pointer = self.state.values[number].pointer
            if pointer and pointer.parameter == parameter.symbol and not pointer.index:
                if pointer.space == "global":
                    return register
                generic = register
        if generic is None:
            generic = self.fresh("b64")
            self.emit(self.first("ld.param.u64", "ld.param.b64"), generic, f"[{parameter.symbol}]")
        register = self.fresh("b64")
        self.emit("cvta.to.global.u64", register, generic)
        return register

    # ------------------------------------------------------------ values

    def _number(self, parameter: Parameter, index: str | None) -> str:
        """A register holding the parameter's value: the scalar, or an element of its array."""
        for register, number in self.state.registers.items():
            value = self.state.values[number]
            if value.pointer is not None or value.kind == "pred" or value.made_of != {parameter.symbol}:
                continue
            if value.operation == f"param {parameter.symbol}" or (parameter.pointer and value.operation == "ld"):
                return register
        element = parameter.element
        bits = self.state.contract.bits[element]
        register = self.fresh(self._class_of(element))
        if parameter.pointer:
            address = self._address(parameter, index)
            register = self.fresh(self._class_of(element))
            opcode = self.first(f"ld.global.{element}", f"ld.global.b{bits}", f"ld.global.u{bits}")
            self.emit(opcode, register, f"[{address}]")
        else:
            opcode = self.first(f"ld.param.{element}", f"ld.param.b{bits}", f"ld.param.u{bits}")
            self.emit(opcode, register, f"[{parameter.symbol}]")
        return register

    def _class_of(self, element: str) -> str:
        return destination_classes(element, self.state.contract.bits[element])[0]

    def _convert(self, register: str, source: str, target: str) -> str:
        """`register` of PTX type `source` as a value of type `target`; by way of f32 where there is no direct way."""
        if source == target or {source, target} <= {"s32", "u32"} or {source, target} <= {"s64", "u64"}:
            return register
        if source in {"s32", "u32"} and target in {"u8", "s8", "u16", "s16"}:
            return register  # a store takes the low bits of a wider register
        direct = self._conversion(source, target)
        if direct is not None:
            result = self.fresh(self._class_of(target))
            self.emit(direct, result, register)
            return result
        if source == "bf16":
            return self._convert(self._widen_bits(register), "f32", target)
        for middle in ("f32", "s32", "u32"):
            one, other = self._conversion(source, middle), self._conversion(middle, target)
            if one is not None and other is not None:
                return self._convert(self._convert(register, source, middle), middle, target)
        raise NoWayHome(f"no conversion from {source} to {target} is allowed")

    def _widen_bits(self, register: str) -> str:
        """A bf16 is the upper half of an f32; targets without a conversion shift it there."""
        bits = self.fresh("b32")
        self.emit("cvt.u32.u16", bits, register)
        shifted = self.fresh("b32")
        self.emit("shl.b32", shifted, bits, "16")
        widened = self.fresh("f32")
        self.emit("mov.b32", widened, shifted)
        return widened

    def _conversion(self, source: str, target: str) -> str | None:
        for rounding in ("", ".rn", ".rzi"):
            opcode = f"cvt{rounding}.{target}.{source}"
            if opcode in self.state.contract.by_opcode:
                return opcode
        return None

    def _join(self, one: str, other: str, type_name: str) -> str:
        opcode = self.first(*(f"{j}.{type_name}" for j in JOINS))
        result = self.fresh("f32" if type_name == "f32" else "b32")
        self.emit(opcode, result, one, other)
        return result

    def _constant(self, type_name: str) -> str:
        register = self.fresh("f32" if type_name == "f32" else "b32")
        if type_name == "f32":
            self.emit("mov.f32", register, "0f00000000")
        else:
            self.emit(self.first("mov.u32", "mov.s32", "mov.b32"), register, "0")
        return register

    # ------------------------------------------------------------ required instructions

    def _require(self, prefix: str) -> None:
        """One instruction with the required prefix, its operands made up where nothing fits."""
        failure: NoWayHome | None = None
        for expansion in self.state.contract.expansions:
            if not matches_prefix(expansion.opcode, prefix):
                continue
            before = self.state, len(self.lines)
            try:
                self._write(expansion)
            except NoWayHome as error:
                failure = error
                self.state = before[0]
                del self.lines[before[1] :]
            else:
                return
        raise failure or NoWayHome(f"the spec requires `{prefix}`, which is not among the instructions offered")

    def _write(self, expansion: Expansion) -> None:
        if any(o.space is not None for o in expansion.operands):
            self._write_memory(expansion)
            return
        operands: list[str] = []
        for o in expansion.operands:
            operands.append(self._operand(expansion, o))
        for i, o in enumerate(expansion.operands):
            if o.access != "read":
                operands[i] = self._result(o)
        self.emit(expansion.opcode, *operands)

    def _result(self, operand: Operand) -> str:
        if operand.parts:
            first = self.fresh(self._class_of(operand.parts[0].type))
            ahead = 1 if operand.parts[0].type == operand.parts[1].type else 0
            return f"{first}|{self.fresh(self._class_of(operand.parts[1].type), ahead)}"
        if operand.vector > 1:
            raise NoWayHome("vectors are not made up")
        return self.fresh(self._class_of(operand.type))

    def _operand(self, expansion: Expansion, operand: Operand) -> str:
        if operand.access != "read":
            return ""
        if expansion.name in COLLECTIVE and operand is expansion.operands[-1] and operand.type in ("b32", "u32"):
            of_block = expansion.name in {"bar", "barrier"} and not of_warp(expansion.opcode)
            return "0" if of_block else "0xffffffff"
        constants = [c for c in immediates(operand) if not isinstance(c, Pattern)]
        if constants and "reg" not in operand.kinds:
            return constants[0]
        if not operand.kinds & {"reg", "pred"} or operand.vector > 1:
            raise NoWayHome(f"an operand of {expansion.opcode} cannot be made up")
        for register in self.state.registers:
            value = self.state.value(register)
            accepted = self.state.contract.accepted(operand)
            if (
                self.state.contract.register_types[register] in accepted
                and value.pointer is None
                and kind_of_type(operand.type) in ("", value.kind)
            ):
                return register
        return self._made_up(operand.type)

    def _made_up(self, type_name: str) -> str:
        """A fresh register of a type, holding a constant."""
        if type_name == "pred":
            register = self._constant("s32")
            result = self.fresh("pred")
            self.emit(self.first("setp.eq.s32", "setp.eq.u32"), result, register, "0")
            return result
        kind = kind_of_type(type_name)
        bits = self.state.contract.bits[type_name]
        if kind in ("half", "bf16"):
            return self._convert(self._constant("f32"), "f32", type_name)
        if kind == "float" and bits == 64:
            register = self.fresh("f64")
            self.emit("mov.f64", register, "0d0000000000000000")
            return register
        if kind == "float":
            return self._constant("f32")
        if bits == 32:
            return self._constant("s32")
        register = self.fresh({16: "b16", 64: "b64"}.get(bits, "b32"))
        self.emit(self.first(f"mov.u{bits}", f"mov.b{bits}", f"mov.s{bits}"), register, "0")
        return register

    def _write_memory(self, expansion: Expansion) -> None:
        """An access to the first array that permits it."""
        datum = next(o for o in expansion.operands if o.space is not None)
        if datum.space != "global" or any(o.vector > 1 for o in expansion.operands):
            raise NoWayHome(f"`{expansion.opcode}` is not made up")
        for parameter in self.state.contract.parameters.values():
            if (
                not parameter.pointer
                or self.state.contract.bits[parameter.element] != self.state.contract.bits[datum.type]
            ):
                continue
            if kind_of_type(datum.type) not in ("", kind_of_type(parameter.element)):
                continue
            if (parameter.access == "in") != (expansion.name == "ld"):
                continue
            index = self._guarded_index() if parameter.sized else None
            address = self._address(parameter, index)
            operands = [
                f"[{address}]" if o.space is not None else self._operand(expansion, o) for o in expansion.operands
            ]
            for i, o in enumerate(expansion.operands):
                if o.access != "read" and o.space is None:
                    operands[i] = self._result(o)
            self.emit(expansion.opcode, *operands)
            return
        raise NoWayHome(f"no array of the spec suits `{expansion.opcode}`")
