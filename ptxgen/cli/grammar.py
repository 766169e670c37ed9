"""`ptxgen-local grammar`: the grammar of a spec's whole kernel, for other engines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ptxgen.decoding.export import NOTATIONS, kernel_grammar
from ptxgen.errors import UsageError
from ptxgen.isa import load_table
from ptxgen.spec import load_spec


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("grammar")(grammar_command)


def grammar_command(
    spec: Annotated[Path, typer.Argument(help="The spec.toml.", show_default=False)],
    format_: Annotated[
        str, typer.Option("--format", help="lark (also for llguidance) or gbnf (llama.cpp).")
    ] = "lark",
    arch: Annotated[
        str | None, typer.Option(help="The target, such as sm_90 [default: the spec's first].", show_default=False)
    ] = None,
) -> None:
    """Print the grammar of whole kernels for a spec, at the level `typed`."""
    notation = next((n for n in NOTATIONS if n == format_), None)
    if notation is None:
        raise UsageError(f"there is no format {format_!r}", fix=f"--format {' or --format '.join(NOTATIONS)}")
    read = load_spec(spec)
    sys.stdout.write(kernel_grammar(read, load_table(), arch or read.target.arch[0], notation))
