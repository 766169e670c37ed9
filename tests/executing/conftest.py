"""The GPU that tests marked `gpu` run on."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ptxgen.executing import Executor
from ptxgen.executing.gpu import GpuExecutor, gpu_available


@pytest.fixture(scope="module")
def gpu() -> Iterator[Executor]:
    """PTXGEN_REQUIRE_GPU=1 turns the skip of a machine without a GPU into a failure."""
    if gpu_available() is None and not os.environ.get("PTXGEN_REQUIRE_GPU"):
        pytest.skip("needs an NVIDIA GPU and cuda-bindings (pip install 'ptxgen-local[gpu]')")
    executor = GpuExecutor()
    yield executor
    executor.close()
