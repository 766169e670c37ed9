"""`ptxgen-local verify SPEC KERNEL.ptx`: is a kernel, whoever wrote it, what the spec asks for?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from ptxgen.assembling import Ptxas, ToolMissing, annotate, find_ptxas
from ptxgen.cli.check import read_ptx
from ptxgen.cli.output import data, print_json, talk
from ptxgen.executing import make_executor
from ptxgen.spec import Spec, load_spec
from ptxgen.verifying import Failure, Verdict, verify


def register(app: typer.Typer) -> None:
    @app.command("verify")
    def verify_kernel(
        spec: Annotated[Path, typer.Argument(help="The spec.toml.", show_default=False)],
        kernel: Annotated[str, typer.Argument(metavar="KERNEL.ptx", help="The kernel, or - for standard input.")],
        executor: Annotated[str, typer.Option(help="auto, emulator or gpu.")] = "auto",
        examples: Annotated[
            int | None, typer.Option(min=1, max=100_000, help="How many to run [default: the spec's].")
        ] = None,
        seed: Annotated[int, typer.Option(min=0, max=2**31, help="The same seed, the same examples.")] = 0,
        json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    ) -> None:
        """Test a kernel against its spec."""
        wanted = load_spec(spec)
        _, ptx = read_ptx(kernel)
        ptxas = _find_ptxas()
        verdict = _rejected(wanted, ptx, ptxas) or _tested(wanted, ptx, ptxas, executor, examples, seed)
        if json_:
            print_json(verdict_document(verdict))
        else:
            _tell(verdict)
        if not verdict.ok:
            raise typer.Exit(1)


def _find_ptxas() -> Ptxas | None:
    try:
        return find_ptxas()[0]
    except ToolMissing:
        talk.print("ptxas is not here, so the kernel is only run: ptxgen-local doctor says how to get it")
        return None


def _rejected(spec: Spec, ptx: str, ptxas: Ptxas | None) -> Verdict | None:
    """What ptxas says for the first target that it refuses; None where it accepts all or is not there."""
    if ptxas is None:
        return None
    for arch in spec.target.arch:
        assembly = ptxas.assemble(ptx, arch)
        if not assembly.ok:
            errors = [message for message in assembly.messages if message.severity != "warning"]
            message = f"ptxas rejects it for {arch}:\n{annotate(ptx, errors or list(assembly.messages))}"
            return Verdict(False, "none", 0, (), (Failure("ptxas", {}, None, None, None, None, message),))
    return None


def _tested(
    spec: Spec, ptx: str, ptxas: Ptxas | None, executor: str, examples: int | None, seed: int
) -> Verdict:
    targets = spec.target.arch
    assemble = (lambda text, arch: ptxas.assemble(text, arch).cubin) if ptxas is not None else None
    with closing(make_executor(executor, targets, assemble=assemble)) as machine:
        return verify(spec, ptx, machine, examples=examples, seed=seed, arch=targets[0])


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """The verdict in the shape of `verify --json`."""
    return {
        "ok": verdict.ok,
        "executor": verdict.executor,
        "examples": verdict.examples,
        "sizes_tried": verdict.sizes_tried,
        "failures": verdict.failures,
    }


def _tell(verdict: Verdict) -> None:
    if verdict.ok:
        sizes = f"{len(verdict.sizes_tried)} different sizes" if len(verdict.sizes_tried) > 1 else "one size"
        data.print(f"right: {verdict.examples} examples at {sizes}, on the {verdict.executor}")
        return
    for failure in verdict.failures:
        data.print(f"wrong ({failure.check}): {failure.message}")
        for name, value in failure.inputs.items():
            data.print(f"  {name} = {value}")
    if verdict.examples:
        data.print(f"found after {verdict.examples} example(s), on the {verdict.executor}")
