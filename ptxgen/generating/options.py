"""What a run is told: flags win over the spec's `[decode]`, and that over the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptxgen.errors import UsageError
from ptxgen.spec import LEVELS, Spec

EXECUTORS = ("auto", "emulator", "gpu")

#: What a flag may say, both ends included; the same as `[decode]` of a spec may. Fewer than 64 tokens leave no
#: room for a header, an index and a store; a temperature of 0 is greedy.
RANGES: dict[str, tuple[int, int]] = {
    "temperature": (0, 4),
    "candidates": (1, 1024),
    "repair": (0, 64),
    "seed": (0, 2**63 - 1),
    "max_tokens": (64, 1_000_000),
}


@dataclass(frozen=True, slots=True)
class Flags:
    """What was said on the command line; None where nothing was."""

    model: str | None = None
    level: str | None = None
    temperature: float | None = None
    seed: int | None = None
    candidates: int | None = None
    repair: int | None = None
    max_tokens: int | None = None
    executor: str = "auto"
    ptxas: str | None = None
    arch: tuple[str, ...] = ()
    keep: Path | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """A run's settings, complete. `model` None is the default model, `threads` 0 what the machine has."""

    model: str | None = None
    level: str = "full"
    temperature: float = 0.2
    top_p: float = 0.95
    seed: int = 0
    candidates: int = 4
    repair: int = 2
    max_tokens: int = 2048
    executor: str = "auto"
    ptxas: str | None = None
    arch: tuple[str, ...] = ()
    keep: Path | None = None
    threads: int = 0

    @property
    def n_ctx(self) -> int:
        """Room for the prompt (a few thousand tokens), an answer, and in repair the answer before it."""
        return 4096 + (2 if self.repair else 1) * self.max_tokens


def resolve_options(flags: Flags, spec: Spec) -> Options:
    """Flags, then `spec.decode`, then the defaults. Raises UsageError for a value that cannot work."""
    names = ("model", "level", "temperature", "top_p", "seed", "candidates", "repair", "max_tokens")
    chosen: dict[str, Any] = {}
    for name in names:
        value = getattr(flags, name, None)
        if value is None:
            value = getattr(spec.decode, name)
        if value is not None:
            chosen[name] = value
    options = Options(
        **chosen,
        executor=flags.executor,
        ptxas=flags.ptxas,
        arch=flags.arch or tuple(spec.target.arch),
        keep=flags.keep,
    )
    check_options(options)
    return options


def check_options(options: Options) -> None:
    """Raises UsageError for a value that cannot work."""
    if options.level not in LEVELS:
        raise UsageError(f"there is no level {options.level!r}", fix=f"one of {', '.join(LEVELS)}")
    if options.executor not in EXECUTORS:
        raise UsageError(f"there is no executor {options.executor!r}", fix=f"one of {', '.join(EXECUTORS)}")
    for name, (least, most) in RANGES.items():
        value = getattr(options, name)
        if not least <= value <= most:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} {value} cannot work", fix=f"{flag} from {least} to {most}")
    twice = next((name for name in options.arch if options.arch.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the target {twice} is named twice", fix="remove one of them")
    if options.model is not None and not options.model.strip():
        raise UsageError("the model's name is empty", fix="name one, or leave --model out to use the default")
