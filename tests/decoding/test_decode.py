"""Decoding whole kernels with random logits: they close, within the budget, and keep their level's promise."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from ptxgen.assembling import Ptxas, find_ptxas
from ptxgen.decoding import course, grammars
from ptxgen.errors import MaskError, PtxgenError
from ptxgen.isa import Expansion
from ptxgen.models import RandomSession
from ptxgen.ptx import parse, parse_statement
from ptxgen.ptx.tree import Instruction
from ptxgen.semantics import Level, NoWayHome, State, contract_of, plan_closing, step
from ptxgen.semantics.contract import matches_prefix
from tests.decoding.random_model import NAMES, body_of, example_spec, write
from tests.semantics.kernels_and_walks import TABLE, allowed_here, example, limited


@pytest.fixture(scope="module")
def ptxas() -> Ptxas:
    try:
        return find_ptxas()[0]
    except PtxgenError as error:
        pytest.skip(f"no ptxas: {error}")


def _shortest(name: str, level: str) -> int:
    """The least budget for which there is a kernel, as the refusal names it."""
    with pytest.raises(MaskError, match="max_tokens") as refusal:
        write(name, level, max_tokens=0)
    return int(re.search(r"takes (\d+)", str(refusal.value))[1])


# ---------------------------------------------------------------- the budget


@pytest.mark.parametrize("level", ["typed", "scoped", "typestate", "full"])
@pytest.mark.parametrize("name", ["saxpy", "block_sum", "histogram"])
def test_every_budget_that_holds_a_kernel_gets_one(name: str, level: str) -> None:
    least = _shortest(name, level)
    with pytest.raises(MaskError) as refusal:
        write(name, level, max_tokens=least - 1)
    assert str(least) in str(refusal.value)
    assert "--max-tokens" in refusal.value.fix
    for extra in (0, 1, 60, 130, 300):
        made = write(name, level, seed=extra, max_tokens=least + extra)
        assert made.complete
        assert made.tokens <= least + extra
        assert made.ptx.endswith("}\n")
    assert write(name, level, max_tokens=least).tokens == least


def test_tokens_are_counted_once_each() -> None:
    evaluated: list[int] = []

    class Counting(RandomSession):
        def evaluate(self, tokens: list[int]) -> None:
            evaluated.extend(tokens)
            super().evaluate(tokens)

        def rewind(self, position: int) -> None:
            del evaluated[position:]
            super().rewind(position)

    session = Counting(seed=5)
    shown: list[str] = []
    made = write("saxpy", seed=5, session=session, on_text=shown.append)
    assert "".join(shown) == body_of("saxpy", made.ptx)
    assert len(shown) == made.statements
    assert 0 < made.forced_tokens <= made.tokens
    prompt = len(session.chat_prompt("", [("user", "write")]))
    known = b"".join(session.token_bytes[t] for t in evaluated[prompt:])
    assert body_of("saxpy", made.ptx).encode().startswith(known)
    assert len(evaluated) - prompt <= made.tokens
    assert made.mask_seconds <= made.decode_seconds


def test_the_way_home_is_forced() -> None:
    least = _shortest("saxpy", "full")
    made = write("saxpy", max_tokens=least)
    assert made.forced_tokens == made.tokens == least


def test_seeds_repeat_and_differ() -> None:
    one, same, other = (write("clamp", seed=seed, max_tokens=300).ptx for seed in (3, 3, 4))
    assert one == same
    assert one != other
    greedy = [write("clamp", temperature=0, max_tokens=300).ptx for _ in range(2)]
    assert greedy[0] == greedy[1]


# ---------------------------------------------------------------- level none


class _Scripted(RandomSession):
    """Writes given tokens, then whatever."""

    def __init__(self, text: bytes, *, then_end: bool = False) -> None:
        super().__init__()
        self._script = [*self.tokenize(text), *(self.eos_tokens if then_end else ())]
        self._from: int | None = None

    def logits(self):
        if self._from is None:
            self._from = self.position
        logits = super().logits() * 0
        index = self.position - self._from
        logits[self._script[index] if index < len(self._script) else 97] = 9
        return logits


@pytest.mark.parametrize(
    ("text", "then_end", "complete", "body"),
    [
        (b"\tret;\n}\nand more", False, True, "\tret;\n}"),
        (b"\t{ ret; }\n}\n", False, True, "\t{ ret; }\n}"),
        (b"\tret;\n", True, False, "\tret;\n"),
        (b"\tret;\n", False, False, "\tret;\n" + "a" * 17),
    ],
)
def test_none_ends_at_the_brace_the_end_or_the_limit(text: bytes, then_end: bool, complete: bool, body: str) -> None:
    session = _Scripted(text, then_end=then_end)
    made = write("saxpy", "none", session=session, temperature=0, max_tokens=len(session.tokenize(b"\tret;\n")) + 17)
    assert body_of("saxpy", made.ptx) == body
    assert made.complete == complete
    assert made.forced_tokens == 0


# ---------------------------------------------------------------- promises


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["saxpy", "warp_sum", "half_add"])
def test_syntax_parses(name: str, seed: int) -> None:
    made = write(name, "syntax", seed=seed, max_tokens=400)
    assert made.complete
    parse(made.ptx)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["saxpy", "block_sum", "half_add", "histogram"])
def test_typed_instructions_are_rows_of_the_table(name: str, seed: int) -> None:
    made = write(name, "typed", seed=seed, max_tokens=400)
    assert made.complete
    checked = 0
    for line in body_of(name, made.ptx).splitlines(keepends=True):
        statement = parse_statement(line) if line.startswith("\t") else None
        if isinstance(statement, Instruction):
            candidates = TABLE.candidates(statement.opcode)
            assert any(_written(statement, e) for e in candidates), line
            checked += 1
    assert checked > 3


def _written(statement: Instruction, expansion: Expansion) -> bool:
    return len(expansion.operands) == len(statement.operands) and not TABLE.unavailable(expansion, "sm_80", "7.0")


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("level", ["scoped", "typestate", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_ptxas_accepts(name: str, level: str, seed: int, ptxas: Ptxas) -> None:
    _assembles(name, level, seed, 300, ptxas)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
@pytest.mark.parametrize("level", ["scoped", "typestate", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_ptxas_accepts_long_kernels(name: str, level: str, seed: int, ptxas: Ptxas) -> None:
    _assembles(name, level, seed, 1200, ptxas)


def _assembles(name: str, level: str, seed: int, max_tokens: int, ptxas: Ptxas) -> None:
    spec = example_spec(name)
    made = write(spec, level, seed=seed, max_tokens=max_tokens)
    assert made.complete
    assembly = ptxas.assemble(made.ptx, spec.target.arch[0])
    assert assembly.ok, assembly.messages


@pytest.mark.parametrize("name", ["saxpy", "vector_add"])
@pytest.mark.parametrize("level", ["scoped", "full"])
def test_what_was_written_was_allowed(name: str, level: str) -> None:
    state: State = example(name, Level.parse(level))
    for line in body_of(name, write(name, level, seed=9).ptx).splitlines(keepends=True):
        assert allowed_here(state).contains(line) or line == plan_closing(state).lines[0], line
        state = step(state, line)
    assert state.closed


@pytest.mark.parametrize("seed", range(3))
def test_full_meets_what_the_spec_asks(seed: int) -> None:
    spec = limited("saxpy", 'require = ["fma", "bar.sync", "shfl.sync"]\nforbid = ["add", "max"]')
    made = write(spec, seed=seed)
    opcodes = re.findall(r"^\t(?:@\S+ )?([a-z][^ ;]*)", body_of(spec, made.ptx), flags=re.MULTILINE)
    for required in ("fma", "bar.sync", "shfl.sync"):
        assert any(matches_prefix(opcode, required) for opcode in opcodes)
    assert not any(matches_prefix(opcode, f) for opcode in opcodes for f in ("add", "max"))


def test_a_spec_that_no_kernel_meets_is_refused() -> None:
    with pytest.raises(MaskError, match="cannot be met") as refusal:
        write(limited("saxpy", 'forbid = ["st"]'))
    assert "st." in refusal.value.why
    with pytest.raises(MaskError, match="cannot be met") as refusal:
        write(limited("saxpy", "declare = { b64 = 3 }"))
    assert "b64" in refusal.value.why + refusal.value.fix


@pytest.mark.parametrize("level", ["typed", "full"])
def test_any_one_opcode_may_be_forbidden(level: str) -> None:
    for name in sorted({expansion.opcode.split(".")[0] for expansion in TABLE.profile("sm_80")}):
        contract = contract_of(limited("saxpy", f'forbid = ["{name}"]'), TABLE, "sm_80")
        try:
            lines = plan_closing(State.start(contract, Level.parse(level))).lines
        except NoWayHome:
            assert level == "full" or name == "ret"
        else:
            assert not any(re.match(rf"\t(@\S+ )?{name}\b", line) for line in lines)


# ---------------------------------------------------------------- fail closed


def test_a_mask_that_fails_stops_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    calls = iter(range(100))
    compiled = grammars._compiled

    def failing(tokenizer: object, grammar: str) -> object:
        return compiled(tokenizer, grammar if next(calls) < 3 else "start: /(/")

    failing.cache_clear = compiled.cache_clear
    monkeypatch.setattr(grammars, "_compiled", failing)
    with pytest.raises(MaskError):
        write("saxpy", on_text=shown.append)
    assert len(shown) <= 3


def test_a_mask_without_a_token_stops_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setattr(course, "allowed_ids", lambda packed, n_vocab: np.empty(0, np.int64))
    with pytest.raises(MaskError, match="no token"):
        write("saxpy")


def test_budgets_grow_kernels() -> None:
    made = [write("relu", seed=1, max_tokens=budget).statements for budget in (150, 300, 600)]
    assert all(one < other for one, other in pairwise(made))
