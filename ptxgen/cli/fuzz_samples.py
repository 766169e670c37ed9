"""Writing one random kernel under the mask and letting ptxas judge it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ptxgen.assembling import Ptxas, ToolCrashed
from ptxgen.cli.fuzz_specs import random_spec
from ptxgen.decoding import decode
from ptxgen.errors import MaskError
from ptxgen.models import RandomSession
from ptxgen.prompting import Prompt
from ptxgen.ptx import PtxSyntaxError, parse
from ptxgen.ptx.tree import Function, Instruction, Pair, Vector
from ptxgen.semantics import Level, NoWayHome, State, contract_of, plan_closing

if TYPE_CHECKING:
    from ptxgen.isa import Expansion, Table

#: An opcode and the shapes of its operands: "" for a plain one, "pair" for `a|b`, "v2" for `{a, b}`.
Form = tuple[str, tuple[str, ...]]
#: Opcodes that a sample's model has a taste for, and how much more their tokens weigh (as a logarithm).
FAVOURED = 12
BONUS = 4.0


@dataclass(frozen=True)
class Sample:
    """One kernel and what became of it. `refused`: its spec has no kernel under this mask, and none was
    written. `message` is why it is not accepted, "" where it is."""

    seed: int
    ptx: str = ""
    complete: bool = False
    accepted: bool = False
    refused: bool = False
    message: str = ""
    statements: int = 0
    forms: frozenset[Form] = frozenset()


class TasteSession(RandomSession):
    """The random model with a taste for some opcodes: while a line's opcode is being written, tokens that go
    on with one of them weigh more. The masks are what they are; only what is chosen among the legal differs."""

    def __init__(self, *, seed: int, opcodes: Iterable[str]) -> None:
        super().__init__(seed=seed)
        self._tokens: list[int] = []
        self._beginnings = frozenset(
            text[:end] for text in (f"\t{o} ".encode() for o in opcodes) for end in range(1, len(text) + 1)
        )

    def evaluate(self, tokens: Sequence[int]) -> None:
        super().evaluate(tokens)
        self._tokens += tokens

    def rewind(self, position: int) -> None:
        super().rewind(position)
        del self._tokens[position:]

    def logits(self) -> npt.NDArray[np.float32]:
        logits = super().logits()
        line = b"".join(self.token_bytes[t] for t in self._tokens[-16:]).rpartition(b"\n")[2]
        if line and line not in self._beginnings:
            return logits
        liked = [i for i, piece in enumerate(self.token_bytes) if piece and line + piece in self._beginnings]
        logits[liked] += np.float32(BONUS)
        return logits


def forms_of(expansions: Iterable[Expansion]) -> frozenset[Form]:
    """The forms that a target's profile offers."""
    return frozenset(
        (
            e.opcode,
            tuple("pair" if "pair" in o.kinds else f"v{o.vector}" if o.vector > 1 else "" for o in e.operands),
        )
        for e in expansions
    )


def forms_in(ptx: str) -> frozenset[Form]:
    """The forms that a kernel uses; none where it does not parse."""
    try:
        module = parse(ptx)
    except PtxSyntaxError:
        return frozenset()
    return frozenset(
        (s.opcode, tuple(_shape(o) for o in s.operands))
        for item in module.items
        if isinstance(item, Function)
        for s in item.body or ()
        if isinstance(s, Instruction)
    )


def _shape(operand: Any) -> str:
    if isinstance(operand, Pair):
        return "pair"
    return f"v{len(operand.elements)}" if isinstance(operand, Vector) else ""


def favoured(seed: int, forms: Iterable[Form]) -> list[str]:
    """The opcodes that the model of this seed likes: seeds that follow each other share out all opcodes of
    the profile, in an order of their own in each round. A sample so depends on its own seed alone."""
    opcodes = sorted({opcode for opcode, _ in forms})
    turns = -(-len(opcodes) // FAVOURED)
    round_, turn = divmod(seed, turns)
    Random(round_).shuffle(opcodes)
    return opcodes[turn * FAVOURED : (turn + 1) * FAVOURED]


def write_sample(seed: int, arch: str, level: Level, table: Table, ptxas: Ptxas) -> Sample:
    """The kernel of a seed, judged. Raises nothing that the mask does wrong: that is what the sample says."""
    spec = random_spec(seed, arch, table)
    contract = contract_of(spec, table, arch)
    try:
        plan_closing(State.start(contract, level))
    except NoWayHome as error:
        return Sample(seed, spec.text, refused=True, message=str(error))
    session = TasteSession(seed=seed, opcodes=favoured(seed, forms_of(contract.expansions)))
    tokens = Random(seed).choice((400, 700, 1200))
    try:
        decoded = decode(
            session, Prompt("", (), ""), spec, table, level, temperature=1.0, seed=seed, max_tokens=tokens, arch=arch
        )
    except MaskError as error:
        return Sample(seed, spec.text, message=str(error))
    accepted, message = _judge(decoded.ptx, arch, ptxas)
    return Sample(
        seed,
        decoded.ptx,
        complete=decoded.complete,
        accepted=accepted,
        message=message,
        statements=decoded.statements,
        forms=forms_in(decoded.ptx),
    )


def _judge(ptx: str, arch: str, ptxas: Ptxas) -> tuple[bool, str]:
    try:
        assembly = ptxas.assemble(ptx, arch, optimise=1)
    except ToolCrashed as error:
        return False, str(error)
    return assembly.ok, "\n".join(f"line {m.line}: {m.text}" for m in assembly.messages if not assembly.ok)
