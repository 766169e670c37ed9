"""Level `none`: the baseline. The header is given, the model writes the rest as it likes."""

from __future__ import annotations

import time
from collections.abc import Callable

from ptxgen.decoding.result import Decoded, Tally
from ptxgen.decoding.sampling import Sampler
from ptxgen.models.session import Session


def write_freely(
    session: Session,
    header: str,
    sampler: Sampler,
    max_tokens: int,
    on_text: Callable[[str], None] | None,
    started: float,
) -> Decoded:
    """Sample tokens until the kernel's closing brace, the model's end of text, or the token limit."""
    tally = Tally()
    body = b""
    shown = 0
    while tally.tokens < max_tokens and _end(body) is None:
        token = sampler.choose(session.logits(), None)
        if token in session.eos_tokens:
            break
        tally.count(1, 0)
        body += session.token_bytes[token]
        session.evaluate([token])
        if on_text is not None and b"\n" in body[shown:]:
            until = body.rindex(b"\n") + 1
            on_text(body[shown:until].decode(errors="replace"))
            shown = until
    end = _end(body)
    text = body[: len(body) if end is None else end].decode(errors="replace")
    tally.statements = text.count(";")
    return tally.finish(header + text, end is not None, time.perf_counter() - started)


def _end(body: bytes) -> int | None:
    """Where the kernel's closing brace ends; nested braces open and close before it."""
    depth = 1
    for position, byte in enumerate(body):
        if byte == 0x7B:
            depth += 1
        elif byte == 0x7D:
            depth -= 1
            if depth == 0:
                return position + 1
    return None
