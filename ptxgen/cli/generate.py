"""`ptxgen-local generate`: from a spec to a verified kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ptxgen.cli.generate_live import live_events
from ptxgen.cli.generate_report import report
from ptxgen.cli.output import data, print_json
from ptxgen.errors import Interrupted, UsageError
from ptxgen.generating import (
    Flags,
    OutputError,
    build_manifest,
    check_writable,
    generate,
    generation_json,
    kernel_text,
    make_folder,
    manifest_path,
    resolve_options,
    write_generation,
)
from ptxgen.models import interrupts_deferred
from ptxgen.spec import load_spec


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate_command)


def generate_command(
    spec: Annotated[Path, typer.Argument(help="The spec.toml.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where the kernel goes [default: KERNEL.ptx].")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model's name, a GGUF file, or 'random'.")] = None,
    level: Annotated[
        str | None, typer.Option(help="none, syntax, typed, scoped, typestate or full [default: full].")
    ] = None,
    candidates: Annotated[int | None, typer.Option(help="Attempts from one prompt [default: 4].")] = None,
    repair: Annotated[int | None, typer.Option(help="Rounds of repair after them [default: 2].")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed, the same kernel [default: 0].")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Of every candidate after the greedy first [default: 0.2].")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens a kernel may have [default: 2048].")] = None,
    executor: Annotated[str, typer.Option(help="auto, emulator or gpu.")] = "auto",
    keep: Annotated[
        Path | None, typer.Option(help="A folder for every candidate's PTX and log.", show_default=False)
    ] = None,
    arch: Annotated[
        str | None, typer.Option(help="Targets instead of the spec's, as sm_80,sm_90.", show_default=False)
    ] = None,
    ptxas: Annotated[str | None, typer.Option(help="The ptxas to use.", show_default=False)] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make a kernel for a spec, assembled and verified, with a manifest beside it."""
    try:
        loaded = load_spec(spec)
        flags = Flags(
            model=model, level=level, temperature=temperature, seed=seed, candidates=candidates,
            repair=repair, max_tokens=max_tokens, executor=executor, ptxas=ptxas, keep=keep,
            arch=_names(arch),
        )  # fmt: skip
        options = resolve_options(flags, loaded)
        target = out or Path(f"{loaded.kernel.name}.ptx")
        check_writable(target, spec)
        check_writable(manifest_path(target), spec)
        if keep is not None:
            make_folder(keep)
        with live_events(options, loaded.kernel.name) as events:
            generation = generate(loaded, options, events)
    except KeyboardInterrupt:
        raise Interrupted("interrupted before anything was written") from None

    if generation.status == "unfinished" and generation.best is None:
        raise Interrupted("interrupted before anything was written")
    manifest = build_manifest(generation, loaded, target, sys.argv[1:])
    try:
        with interrupts_deferred():  # a second Ctrl-C must not take what the first one left
            write_generation(generation, manifest, target)
    except OutputError:
        # Minutes of work must not be lost to a full disk.
        if not json_:
            data.print(kernel_text(generation), end="")
        raise
    if json_:
        print_json(generation_json(generation, target, manifest_path(target)))
    else:
        data.print(report(generation, target, manifest_path(target)))
    if generation.status == "unfinished":
        why = "what was made so far is there, marked unfinished"
        raise Interrupted("interrupted", where=str(target), why=why)
    if generation.status == "failed":
        raise typer.Exit(1)


def _names(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("--arch names no target", fix="such as --arch sm_80,sm_90")
    return names
