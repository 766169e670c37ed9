"""Pretended ptxas programs: shell scripts that answer `--version` like one and then misbehave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Pretend = Callable[..., Path]

_SCRIPT = """#!/bin/sh
if [ "$1" = "--version" ]; then
  echo "Cuda compilation tools, release {version}, V{version}"
  exit 0
fi
{body}
"""


@pytest.fixture
def pretend(tmp_path: Path) -> Pretend:
    def make(body: str, *, version: str = "99.1.2", name: str = "ptxas") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_SCRIPT.format(version=version, body=body))
        path.chmod(0o755)
        return path

    return make
