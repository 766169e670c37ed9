"""Where a command's words go: data to stdout, talk to stderr, and JSON that any program can read."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from typing import Any

from rich.console import Console

SCHEMA_VERSION = 1

# Square brackets are PTX, not markup; numbers are not for colouring; long lines are the terminal's affair.
#: the answer; plain where it is no terminal or NO_COLOR is set
data = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
#: progress, reports and everything else a person reads
talk = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout, `schema_version` first.

    Dataclasses, paths and NumPy values are written as what they hold. Infinities and NaN, which JSON lacks,
    become the strings "inf", "-inf" and "nan".
    """
    text = json.dumps({"schema_version": SCHEMA_VERSION, **plain(document)}, indent=2, allow_nan=False)
    print(text)


def plain(value: Any) -> Any:
    """The value in JSON's own types."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)
