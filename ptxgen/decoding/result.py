"""What decoding one kernel gives back, and the counting behind it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Decoded:
    """One decoded kernel. `ptx` is header and body; `complete` says that the body was closed.

    Token counts are of the body; `forced_tokens` are those that the model was not asked for. Seconds:
    `decode_seconds` is all of decoding after the prompt, `mask_seconds` the part spent on state, grammars
    and masks. `gaps` says of each statement by how much (natural log) the model preferred it to the next best
    one that was looked at; infinity where there was none. `redraws` are statements taken back because the
    kernel could not have been closed after them, or to take a turn.
    """

    ptx: str
    complete: bool
    tokens: int
    forced_tokens: int
    decode_seconds: float
    mask_seconds: float
    statements: int
    redraws: int = 0
    gaps: tuple[float, ...] = ()


@dataclass
class Tally:
    """Running counts of one kernel."""

    tokens: int = 0
    forced_tokens: int = 0
    statements: int = 0
    redraws: int = 0
    mask_seconds: float = 0.0
    gaps: list[float] = field(default_factory=list)

    def count(self, tokens: int, forced: int) -> None:
        self.tokens += tokens
        self.forced_tokens += forced

    def finish(self, ptx: str, complete: bool, seconds: float) -> Decoded:
        return Decoded(
            ptx,
            complete,
            self.tokens,
            self.forced_tokens,
            seconds,
            self.mask_seconds,
            self.statements,
            self.redraws,
            tuple(self.gaps),
        )
