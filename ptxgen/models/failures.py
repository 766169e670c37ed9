"""What can go wrong with a model, as errors a user can act on."""

from __future__ import annotations

from ptxgen.errors import PtxgenError


class ModelError(PtxgenError):
    """A model is missing, damaged, or refused by llama.cpp."""


class ContextFull(PtxgenError):
    """The tokens to evaluate do not fit the context that is left."""

    def __init__(self, held: int, wanted: int, n_ctx: int) -> None:
        super().__init__(
            f"the model's context of {n_ctx} tokens is full",
            why=f"{held} tokens are held and {wanted} more were to be evaluated",
            fix="use a smaller --max-tokens, a shorter task, or a model with a longer context",
        )
