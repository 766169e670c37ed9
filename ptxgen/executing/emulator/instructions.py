"""From an instruction of the tree to the function that carries it out.

The ISA table decides what an opcode is (modifiers in any order become the canonical ones); `DECODERS` says what
the emulator does for it. An instruction that either of them lacks is Unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ptxgen.executing.emulator import (
    arithmetic,
    atomics,
    cancelling,
    clusters,
    conversions,
    copies,
    data,
    logic,
    matrix_memory,
    matrix_steps,
    mbarriers,
    special,
    together,
    undefined_bits,
    video,
)
from ptxgen.executing.emulator.program import Run, Step
from ptxgen.executing.emulator.scope import (
    FunctionSymbol,
    RegisterSymbol,
    Scope,
    Unsupported,
    VariableSymbol,
    VectorSymbol,
)
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import BITS
from ptxgen.isa import load_table
from ptxgen.isa.model import Kind, Mismatch
from ptxgen.isa.selectors import is_selector
from ptxgen.ptx.tree import (
    Address,
    Immediate,
    Instruction,
    Name,
    Negated,
    Operand,
    Pair,
    Vector,
)

Decoder = Callable[[Site], Run | Step]

_TYPE = re.compile(r"(?:[busf]|bf|tf)\d+(?:x\d+)?|u?e\d+m\d+(?:p\d+)?(?:x\d+)?|s2f6x2|pred")

DECODERS: dict[str, Decoder] = {
    "add": arithmetic.add, "addc": arithmetic.add, "sub": arithmetic.subtract, "subc": arithmetic.subtract,
    "mul": arithmetic.multiply, "mad": arithmetic.multiply_add, "madc": arithmetic.multiply_add,
    "fma": arithmetic.multiply_add, "mul24": arithmetic.multiply_24,
    "clmad": logic.carryless_multiply_add, "mad24": arithmetic.multiply_24,
    "div": arithmetic.divide, "rem": arithmetic.remainder, "sad": arithmetic.difference_sum,
    "min": arithmetic.minimum_maximum, "max": arithmetic.minimum_maximum,
    "abs": arithmetic.absolute_negative, "neg": arithmetic.absolute_negative,
    "sqrt": arithmetic.square_root, "rcp": arithmetic.square_root,
    "rsqrt": arithmetic.approximate, "ex2": arithmetic.approximate, "lg2": arithmetic.approximate,
    "sin": arithmetic.approximate, "cos": arithmetic.approximate, "tanh": arithmetic.approximate,
    "copysign": arithmetic.copy_sign, "dp4a": arithmetic.dot_product, "dp2a": arithmetic.dot_product,
    "and": logic.logic, "or": logic.logic, "xor": logic.logic, "not": logic.logic, "cnot": logic.conditional_not,
    "shl": logic.shift, "shr": logic.shift, "shf": logic.funnel_shift, "lop3": logic.lookup,
    "popc": logic.count_bits, "clz": logic.count_bits, "brev": logic.count_bits, "bfind": logic.find_highest,
    "bfe": logic.field, "bfi": logic.field, "bmsk": logic.field_mask, "szext": logic.sign_extend,
    "prmt": logic.permute, "fns": logic.find_nth,
    "setp": logic.set_predicate, "set": logic.set_value, "selp": logic.select, "slct": logic.select_by_sign,
    "testp": logic.test_property,
    "mov": data.move, "cvt": conversions.convert, "ld": data.load, "ldu": data.load, "st": data.store,
    "cvta": data.convert_address, "isspacep": data.is_in_space,
    "prefetch": data.nothing, "prefetchu": data.nothing, "nanosleep": data.nothing, "pmevent": data.nothing,
    "griddepcontrol": data.nothing, "createpolicy": data.policy, "setmaxnreg": data.nothing, "discard": data.nothing,
    "applypriority": data.nothing,
    "atom": atomics.atomic, "red": atomics.atomic,
    "shfl": together.shuffle, "vote": together.vote, "match": together.match, "redux": together.reduce,
    "elect": together.elect, "activemask": together.active_mask, "bar": together.barrier,
    "barrier": together.barrier, "membar": together.fence, "fence": together.fence,
    "mbarrier": mbarriers.barrier, "cp": copies.copy, "mapa": clusters.map_address, "getctarank": clusters.rank_of,
    "clusterlaunchcontrol": cancelling.control,
    "mma": matrix_steps.multiply, "wmma": matrix_memory.whole, "ldmatrix": matrix_memory.load,
    "stmatrix": matrix_memory.store, "movmatrix": matrix_memory.move,
    "trap": together.trap, "brkpt": together.trap,
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), video.scalar),
    "vmad": video.multiply_add,
    **{
        f"{stem}{number}": video.simd
        for stem in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset") for number in (2, 4)
    },
}
#: Instructions whose results are as undefined as their sources, and that do nothing else: all that only compute.
_HANDING_ON = frozenset({"mov", "cvta", "isspacep"}).union(
    name for name, decoder in DECODERS.items()
    if decoder.__module__ in {module.__name__ for module in (arithmetic, conversions, logic, video)}
)
#: Of those the ones that only move.
_MOVING = frozenset({"mov", "cvt", "selp"})
#: Asynchronous kinds of instructions that otherwise happen at once.
_LATE: dict[str, Decoder] = {"st.async": copies.store_late, "red.async": copies.reduce_late, "st.bulk": copies.fill}
#: Instructions, by the beginning of their opcode, of hardware that the emulator does not model.
NEEDS_GPU: dict[str, str] = {
    **{f"{name}.": "textures" for name in ("tex", "tld4", "txq", "istypep")},
    **{f"{name}.": "surfaces" for name in ("suld", "sust", "sured", "suq")},
    "tcgen05.": "tensor cores of the 5th generation", "wgmma.": "warpgroup matrices", "tensormap.": "tensor maps",
    "fence.proxy.tensormap": "tensor maps",
    "cp.async.bulk.tensor": "tensor maps", "cp.async.bulk.prefetch.tensor": "tensor maps",
    "cp.reduce.async.bulk.tensor": "tensor maps", "multimem.": "addresses of several GPUs",
    "fabric.": "memory behind a fabric",
    "spcompress.": "structured sparse vectors", "spdecompress.": "structured sparse vectors",
}
#: Control flow, which the builder of the program decodes itself.
CONTROL = frozenset({"bra", "brx", "call", "ret", "exit", "alloca", "stacksave", "stackrestore"})


_PAIR: frozenset[Kind] = frozenset({"pair"})
_VECTOR: frozenset[Kind] = frozenset({"vector"})
_NAMES: frozenset[Kind] = frozenset({"label", "symbol", "function", "prototype", "targets"})


def _kinds(operand: Operand, scope: Scope, line: int) -> frozenset[Kind]:
    """What an operand is, as the table calls it. Raises Unsupported for a register that is not declared."""
    if isinstance(operand, Name):
        return _kinds_of_name(operand.text, scope, line)
    if isinstance(operand, Address):
        symbol = scope.find(operand.base.text) if operand.base is not None else None
        in_register = isinstance(symbol, RegisterSymbol)
        return frozenset({"address" if operand.brackets else "reg" if in_register else "symbol"})
    if isinstance(operand, Immediate):
        # Assemblers take a constant for a predicate.
        return frozenset({"imm", "pred"})
    if isinstance(operand, Vector) and len(operand.elements) == 1:
        return _VECTOR | _kinds(operand.elements[0], scope, line)
    if isinstance(operand, Negated):
        return frozenset({"not-pred" if operand.sign == "!" else "reg"})
    if isinstance(operand, Pair):
        # A result beside one that is discarded is as good as the result alone.
        alone = operand.second == Name("_") and operand.first != Name("_")
        return _PAIR | _kinds(operand.first, scope, line) if alone else _PAIR
    return _VECTOR if isinstance(operand, Vector) else frozenset({"arguments"})


def _kinds_of_name(name: str, scope: Scope, line: int) -> frozenset[Kind]:
    if name == "_":
        return frozenset({"sink"})
    if special.known(name):
        return frozenset({"special"})
    symbol = scope.find(name)
    if symbol is None and is_selector(name.rpartition(".")[2]):
        symbol = scope.find(name.rpartition(".")[0])
    if isinstance(symbol, VectorSymbol):
        return frozenset({"vector"})
    if isinstance(symbol, RegisterSymbol):
        return frozenset({"pred" if symbol.type == "pred" else "reg"})
    if isinstance(symbol, VariableSymbol):
        return frozenset({"symbol"})
    if isinstance(symbol, FunctionSymbol):
        return frozenset({"function", "symbol"})
    if symbol is None and name.startswith("%"):
        raise Unsupported(line, f"{name} is not declared, or a special register that is not emulated")
    return _NAMES


def _plainer(written: Operand, kinds: frozenset[Kind]) -> Operand:
    """A pair whose second result is discarded, or a vector of one, as its first element where only that may stand."""
    if isinstance(written, Pair) and "pair" not in kinds:
        return written.first
    if isinstance(written, Vector) and len(written.elements) == 1 and "vector" not in kinds:
        return written.elements[0]
    return written


def canonical(instruction: Instruction, scope: Scope) -> Site:
    """The instruction with its modifiers in the table's order.

    Raises Unsupported if the table has no such opcode, or not with such operands.
    """
    line = instruction.span.line
    found = load_table().match(
        instruction.opcode, [_kinds(operand, scope, line) for operand in instruction.operands]
    )
    if isinstance(found, Mismatch):
        raise Unsupported(line, f"{found.message} ({found.hint})" if found.hint else found.message)
    for written, operand in zip(instruction.operands, found.operands, strict=True):
        if isinstance(written, Vector) and found.name not in {"mov"} and len(written.elements) != operand.vector:
            raise Unsupported(line, f"{found.opcode} takes a vector of {operand.vector}, not {len(written.elements)}")
    pairs = zip(instruction.operands, found.operands, strict=True)
    kept = tuple(_plainer(written, operand.kinds) for written, operand in pairs)
    if kept != instruction.operands:
        instruction = replace(instruction, operands=kept)
    name, *words = found.opcode.split(".")
    types = tuple(word for word in words if _TYPE.fullmatch(word))
    return Site(instruction, scope, name, tuple(words), types)


def needs_gpu(opcode: str) -> str:
    """What about an instruction the emulator does not model, "" if it does."""
    if "mbarrier::report::validity" in opcode:
        return "reports of an mbarrier"
    return next((what for beginning, what in NEEDS_GPU.items() if opcode.startswith(beginning)), "")


def decode(site: Site) -> Step:
    """One step for anything but control flow. Raises Unsupported."""
    what = needs_gpu(".".join((site.name, *site.words)))
    if what:
        raise site.unsupported(f"this needs a GPU, {what} are not emulated")
    decoder = _LATE.get(".".join((site.name, *site.words[:1]))) or DECODERS.get(site.name)
    if decoder is None:
        raise site.unsupported("the emulator does not have this instruction")
    for word in site.words:
        if word in site.types and word not in BITS:
            raise site.unsupported(f"the emulator does not have .{word}")
    try:
        result = decoder(site)
    except (LookupError, ValueError):
        # A form whose types or operands the decoder does not expect.
        raise site.unsupported("the emulator does not have this form of the instruction") from None
    step = result if isinstance(result, Step) else Step("plain", site.line, site.instruction.opcode, result)
    step.atomic = site.atomic
    step.hands_on, step.moves = site.name in _HANDING_ON, site.name in _MOVING
    step.settle = undefined_bits.settle_of(site)
    return step
