"""From a name to a session: the random model, or a GGUF file run by llama.cpp."""

from __future__ import annotations

from ptxgen.models.catalogue import file_hash
from ptxgen.models.find import chosen_model, find_model
from ptxgen.models.gguf import read_header
from ptxgen.models.random import RandomSession
from ptxgen.models.session import Session

RANDOM = "random"


def open_session(
    name_or_path: str | None = None, *, n_ctx: int = 0, seed: int = 0, threads: int | None = None
) -> Session:
    """A session on "random", on what `find_model` finds for a name or path, or on the default model.

    `n_ctx` 0 lets the model's kind decide. `seed` matters to the random model only. Raises ModelError.
    """
    wanted, _ = chosen_model(name_or_path)
    if wanted == RANDOM:
        return RandomSession(seed=seed, n_ctx=n_ctx)
    path = find_model(name_or_path)
    read_header(path)  # before the libraries load and the bytes are hashed: a wrong file is told at once
    from ptxgen.models.llama import LlamaSession

    return LlamaSession(path, sha256=file_hash(path), n_ctx=n_ctx, threads=threads)
