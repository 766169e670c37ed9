"""What a spec says, table by table, with the rules that one field can check alone.

Attributes are named as the keys of the TOML file. Rules that join several fields are in `rules.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    field_validator,
)

from ptxgen.executing.protocol import Launch
from ptxgen.spec import lines as line_map
from ptxgen.spec.expression import Expression
from ptxgen.spec.fields import (
    Number,
    Size,
    SizeRange,
    Tolerance,
    ValueRange,
    as_expressions,
    as_list,
    as_names,
    as_size_range,
    as_tolerance,
    as_value_range,
    one_of,
)
from ptxgen.spec.oracle import OracleExpression
from ptxgen.spec.problems import SpecError, Unfit, nearest
from ptxgen.spec.types import TYPES, ScalarType

LEVELS = ("none", "syntax", "typed", "scoped", "typestate", "full")
ACCESS = ("in", "out", "inout")
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
#: The most that any target offers a block.
MAX_SHARED = 227 * 1024
MAX_DIMENSIONS = 8

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ENTRY = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+")


class Table(BaseModel):
    """A table of the file: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class Param(Table):
    """One parameter of the signature. `shape` is empty for scalars."""

    name: str
    type: str
    access: Annotated[Literal["in", "out", "inout"], one_of(ACCESS)] = "in"
    shape: Annotated[tuple[Size, ...], BeforeValidator(as_list), Field(max_length=MAX_DIMENSIONS)] = ()

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not _IDENTIFIER.fullmatch(value) or len(value) > 64:
            raise Unfit(
                f"{value!r:.70} is no name for a parameter",
                "a letter, then letters, digits and underscores, 64 at most",
            )
        return value

    @field_validator("type")
    @classmethod
    def _type(cls, value: str) -> str:
        if value.removesuffix("*") not in TYPES:
            raise Unfit(
                f"there is no type {value!r:.40}",
                nearest(value, [name + star for name in TYPES for star in ("", "*")]),
            )
        return value

    @property
    def pointer(self) -> bool:
        return self.type.endswith("*")

    @property
    def element(self) -> str:
        """`f32` for `f32*` and for `f32`."""
        return self.type.removesuffix("*")

    @property
    def scalar(self) -> ScalarType:
        """The element's type."""
        return TYPES[self.element]


class Kernel(Table):
    name: str
    task: Annotated[str, Field(min_length=1, max_length=4000)]
    params: Annotated[tuple[Param, ...], BeforeValidator(as_list), Field(min_length=1, max_length=64)]

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not _ENTRY.fullmatch(value) or len(value) > 128:
            raise Unfit(
                f"{value!r:.70} is no name for a kernel",
                "a letter, then letters, digits, `_` and `$`, 128 at most",
            )
        return value


class LaunchTable(Table):
    """`block` in threads; `grid` and `shared_bytes` as arithmetic over sizes."""

    block: Annotated[tuple[int, ...], BeforeValidator(as_list), Field(min_length=1, max_length=3)]
    grid: Annotated[tuple[Size, ...], BeforeValidator(as_list), Field(min_length=1, max_length=3)]
    shared_bytes: Size = Expression.parse(0)


class Target(Table):
    """`arch` is always a tuple; the first is the one the kernel is written for."""

    arch: Annotated[tuple[str, ...], BeforeValidator(as_names), Field(min_length=1, max_length=32)] = ("sm_80",)
    ptx: str = "auto"


class Constraints(Table):
    registers: Annotated[int, Field(ge=1, le=255)] | None = None
    declare: Mapping[str, Annotated[int, Field(ge=2, le=4096)]] = Field(default_factory=dict)
    shared_bytes: Annotated[int, Field(ge=0, le=MAX_SHARED)] | None = None
    require: Annotated[tuple[str, ...], BeforeValidator(as_list), Field(max_length=64)] = ()
    forbid: Annotated[tuple[str, ...], BeforeValidator(as_list), Field(max_length=64)] = ()


class Oracle(Table):
    """Exactly one of `expr` (a text, or a table by output) and `python` (`file.py:function`)."""

    expr: Annotated[str | Mapping[str, str], PlainValidator(as_expressions)] | None = None
    python: str | None = None


class Verify(Table):
    examples: Annotated[int, Field(ge=1, le=100_000)] = 100
    sizes: Mapping[str, Annotated[SizeRange, PlainValidator(as_size_range)]] = Field(default_factory=dict)
    values: Mapping[str, Annotated[ValueRange, PlainValidator(as_value_range)]] = Field(default_factory=dict)
    special: bool = False
    tolerance: Annotated[Tolerance | Literal["auto"], PlainValidator(as_tolerance)] = "auto"


class Decode(Table):
    """What `generate` uses where no flag says otherwise; None: the command's own default."""

    model: str | None = None
    level: Annotated[str, one_of(LEVELS)] | None = None
    temperature: Annotated[Number, Field(ge=0, le=4)] | None = None
    top_p: Annotated[Number, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    candidates: Annotated[int, Field(ge=1, le=1024)] | None = None
    repair: Annotated[int, Field(ge=0, le=64)] | None = None
    max_tokens: Annotated[int, Field(ge=64, le=1_000_000)] | None = None


class Source(Table):
    """The kernel to translate: a CUDA file, or `file.py:function` with a Triton kernel."""

    cuda: str | None = None
    triton: str | None = None


class Spec(Table):
    """A whole spec, checked. Use `load_spec`."""

    kernel: Kernel
    launch: LaunchTable
    target: Target = Target()
    constraints: Constraints = Constraints()
    oracle: Oracle
    verify: Verify = Verify()
    decode: Decode = Decode()
    source: Source | None = None

    _path: Path = PrivateAttr(default=Path("spec.toml"))
    _text: str = PrivateAttr(default="")
    _lines: dict[line_map.Path, int] = PrivateAttr(default_factory=dict)
    _expressions: dict[str, OracleExpression] = PrivateAttr(default_factory=dict)

    @property
    def path(self) -> Path:
        return self._path

    @property
    def text(self) -> str:
        return self._text

    @property
    def expressions(self) -> Mapping[str, OracleExpression]:
        """The oracle's expression for each output; empty when the oracle is a Python function."""
        return self._expressions

    @property
    def outputs(self) -> tuple[Param, ...]:
        """Pointers that the kernel writes."""
        return tuple(p for p in self.kernel.params if p.pointer and p.access != "in")

    @property
    def inputs(self) -> tuple[Param, ...]:
        """Pointers that the kernel reads, `inout` included."""
        return tuple(p for p in self.kernel.params if p.pointer and p.access != "out")

    @property
    def scalars(self) -> tuple[Param, ...]:
        return tuple(p for p in self.kernel.params if not p.pointer)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Scalars that a shape, the launch or `[verify] sizes` names, in the signature's order."""
        named = {name for param in self.kernel.params for size in param.shape for name in size.names}
        named.update(name for size in (*self.launch.grid, self.launch.shared_bytes) for name in size.names)
        named.update(self.verify.sizes)
        return tuple(p.name for p in self.kernel.params if not p.pointer and p.name in named)

    @property
    def threads(self) -> int:
        """Threads a block."""
        return math.prod(self.launch.block)

    def param(self, name: str) -> Param:
        """Raises KeyError for a name the signature does not have."""
        for param in self.kernel.params:
            if param.name == name:
                return param
        raise KeyError(name)

    def where(self, *path: str | int) -> str:
        """`file:line` of a key."""
        return f"{self._path}:{line_map.line_of(self._lines, path)}"

    def launch_at(self, sizes: Mapping[str, int]) -> Launch:
        """The launch at these sizes; a grid of 0 blocks means that nothing is launched.

        Raises SpecError when a dimension is beyond what CUDA allows, or not a whole number.
        """
        grid = [self._evaluate(size, sizes, ("launch", "grid", i)) for i, size in enumerate(self.launch.grid)]
        for i, (blocks, most) in enumerate(zip(grid, MAX_GRID, strict=False)):
            if not 0 <= blocks <= most:
                raise SpecError(
                    f"the grid's {'xyz'[i]} dimension is {blocks} at {_told(sizes)}",
                    where=self.where("launch", "grid", i),
                    fix=f"it must be from 0 to {most}",
                )
        shared = self._evaluate(self.launch.shared_bytes, sizes, ("launch", "shared_bytes"))
        most = self.constraints.shared_bytes if self.constraints.shared_bytes is not None else MAX_SHARED
        if not 0 <= shared <= most:
            raise SpecError(
                f"shared_bytes is {shared} at {_told(sizes)}",
                where=self.where("launch", "shared_bytes"),
                fix=f"it must be from 0 to {most}",
            )
        ones = (1, 1, 1)
        x, y, z = (*grid, *ones)[:3]
        block = (*self.launch.block, *ones)
        return Launch((x, y, z), (block[0], block[1], block[2]), shared)

    def shape_at(self, param: Param, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The array's shape at these sizes. Raises SpecError for a negative or fractional extent."""
        index = self.kernel.params.index(param)
        shape = []
        for i, size in enumerate(param.shape):
            extent = self._evaluate(size, sizes, ("kernel", "params", index, "shape", i))
            if extent < 0:
                raise SpecError(
                    f"`{param.name}` has the extent {extent} at {_told(sizes)}",
                    where=self.where("kernel", "params", index, "shape", i),
                )
            shape.append(extent)
        return tuple(shape)

    def declared(self, table: Any) -> dict[str, int]:
        """How many registers of each class a kernel declares, in the table's order."""
        return {
            name: self.constraints.declare.get(name, kind.default) for name, kind in table.register_classes.items()
        }

    def header(self, arch: str, table: Any) -> str:
        """The module's text up to and including the register declarations."""
        from ptxgen.spec.header import header  # it needs this module

        return header(self, arch, table)

    def _evaluate(self, size: Expression, sizes: Mapping[str, int], path: tuple[str | int, ...]) -> int:
        try:
            return size.evaluate(sizes)
        except SpecError as error:
            raise SpecError(error.what, where=self.where(*path), why=error.why, fix=error.fix) from None


def _told(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "every size"
