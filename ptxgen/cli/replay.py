"""`ptxgen-local replay`: the same kernel again, from its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptxgen.cli.output import data, talk
from ptxgen.errors import Interrupted
from ptxgen.generating import check_writable, read_manifest, replay, write_file
from ptxgen.spec import load_spec


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay_command)


def replay_command(
    manifest: Annotated[Path, typer.Argument(help="KERNEL.manifest.json.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the kernel there too.", show_default=False)
    ] = None,
) -> None:
    """Make a kernel again from its manifest: 0 when it is the same byte for byte, 1 when it differs."""
    try:
        record = read_manifest(manifest)
        if out is not None:
            check_writable(out, manifest, record.spec)
        made = replay(record, load_spec(record.spec), warn=lambda change: talk.print(f"note: {change}"))
        if out is not None:
            write_file(out, made.ptx)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None
    if made.same:
        data.print(f"the same kernel, byte for byte: sha256 {record.ptx_sha256}")
        return
    data.print("another kernel came out")
    if made.difference:
        data.print(made.difference)
    if made.changes:
        data.print("what has changed since: " + "; ".join(made.changes))
    raise typer.Exit(1)
