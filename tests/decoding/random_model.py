"""Decoding with a model that knows nothing, without a prompt worth the name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ptxgen.decoding import Decoded, decode
from ptxgen.models import RandomSession
from ptxgen.spec import Spec, load_spec
from tests.semantics.kernels_and_walks import EXAMPLES, TABLE

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))


@dataclass(frozen=True)
class Prompt:
    system: str = ""
    turns: tuple[tuple[str, str], ...] = field(default=(("user", "write"),))
    answer_start: str = ""


def example_spec(name: str) -> Spec:
    return load_spec(EXAMPLES / f"{name}.toml")


def write(
    spec: Spec | str,
    level: str = "full",
    *,
    seed: int = 0,
    max_tokens: int = 700,
    temperature: float = 1.0,
    session: RandomSession | None = None,
    on_text: Callable[[str], None] | None = None,
) -> Decoded:
    spec = example_spec(spec) if isinstance(spec, str) else spec
    return decode(
        session or RandomSession(seed=seed),
        Prompt(),
        spec,
        TABLE,
        level,
        temperature=temperature,
        seed=seed,
        max_tokens=max_tokens,
        on_text=on_text,
    )


def body_of(spec: Spec | str, ptx: str) -> str:
    """The text after the header."""
    spec = example_spec(spec) if isinstance(spec, str) else spec
    header = spec.header(spec.target.arch[0], TABLE)
    assert ptx.startswith(header)
    return ptx.removeprefix(header)
