"""llama-cpp-python's own `Llama`, for the tests of what is used through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ptxgen.models import find_model


@pytest.fixture
def small_llama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """SmolLM2 in llama-cpp-python's class, which has no argument for plain buffers: see `LlamaSession`."""
    import llama_cpp

    from ptxgen.models.llama import built_with_amx

    defaults = llama_cpp.llama_model_default_params

    def plain() -> Any:
        params = defaults()
        params.use_extra_bufts = not built_with_amx()
        return params

    monkeypatch.setattr(llama_cpp.llama_cpp, "llama_model_default_params", plain)
    model = llama_cpp.Llama(str(find_model("smollm2")), n_ctx=4096, n_threads=1, verbose=False)
    yield model
    model.close()
