"""Abstract values: what a register of the kernel being written is known to hold.

Values are numbered (value numbering, Cocke and Schwartz 1970): two registers with one number hold the
same bits. Beside the number a value carries what the masks of `typestate` ask for: its kind, a power of
two that divides it, the pointer it is, whether threads of a block may differ in it, which parameters
it was made of, and, for a predicate, which values are bounded above where it is true or false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

NO_FACTS: frozenset[int] = frozenset()
NO_NAMES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address. `space` is "generic", "global" or "shared"; `parameter` the symbol it came from.
    `index` are the value numbers whose bound decides whether an access is guarded."""

    space: str
    parameter: str = ""
    index: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """One abstract value; see the module's docstring."""

    number: int
    kind: str  # int, float, half, bf16, half2, bf162, pred, pointer
    operation: str
    arguments: tuple[int, ...] = ()
    varying: bool = False
    divisor: int = 1
    scale: int = 0  # the constant an index was last multiplied by; 0: none
    constant: int | None = None
    folds: str = ""                          # made with a constant by this operation: one more would fold
    pointer: Pointer | None = None
    bounded: bool = False  # bounded by construction (loaded, masked, remainder)
    made_of: frozenset[str] = NO_NAMES  # parameter symbols
    when_true: frozenset[int] = NO_FACTS
    when_false: frozenset[int] = NO_FACTS

    def carried(self, number: int) -> Value:
        """What is known of a loop's carried register at the loop's head: its later values share the kind and
        the pointer, not the multiples."""
        return replace(
            self,
            number=number,
            operation="carried",
            arguments=(self.number,),
            constant=None,
            folds="",
            divisor=1,
            scale=0,
        )


def kind_of_type(type_name: str) -> str:
    """The kind of value that an instruction of this type makes; "" for untyped bits."""
    if type_name in ("f32", "f64", "tf32"):
        return "float"
    if type_name == "f16":
        return "half"
    if type_name == "f16x2":
        return "half2"
    if type_name == "bf16":
        return "bf16"
    if type_name == "bf16x2":
        return "bf162"
    if type_name == "pred":
        return "pred"
    return "" if type_name.startswith("b") else "int"


def power_of_two_divisor(value: int) -> int:
    """The largest power of two, at most 2**16, that divides `value`; 2**16 for 0."""
    if value == 0:
        return 1 << 16
    return min(value & -value, 1 << 16)
