"""The text of a generated kernel before its first statement: it comes from the spec, never from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.spec.model import Param, Spec

if TYPE_CHECKING:
    from ptxgen.isa import Table


def header(spec: Spec, arch: str, table: Table) -> str:
    """Version, target, dynamic shared memory, signature and register declarations, up to a blank line.

    The `.version` is the spec's, or the lowest that knows `arch`, because a driver refuses newer ones.
    Raises UsageError for a target that the table does not know.
    """
    version = table.lowest_ptx(arch) if spec.target.ptx == "auto" else spec.target.ptx
    lines = [f".version {version}", f".target {arch}", ".address_size 64", ""]
    if spec.launch.shared_bytes.text != "0":
        lines += [".extern .shared .align 16 .b8 smem[];", ""]
    lines.append(f".visible .entry {spec.kernel.name}(")
    lines.append(",\n".join(f"\t.param .{param_type(param)} param_{param.name}" for param in spec.kernel.params))
    lines += [")", "{"]
    for name, count in spec.declared(table).items():
        kind = table.register_classes[name]
        lines.append(f"\t.reg .{kind.type} {kind.prefix}<{count}>;")
    return "\n".join(lines) + "\n\n"


def param_type(param: Param) -> str:
    """The PTX type of a parameter: `u64` for pointers, `b16` for halves, else its own."""
    if param.pointer:
        return "u64"
    return "b16" if param.element in ("f16", "bf16") else param.element
