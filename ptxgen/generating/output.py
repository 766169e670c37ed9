"""Putting a run on disk: the kernel, the manifest beside it, and every candidate where that is asked for."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ptxgen.errors import PtxgenError
from ptxgen.generating.candidates import Candidate, Generation

UNFINISHED = "// unfinished\n"

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space, or write elsewhere with -o"),
    errno.EDQUOT: ("your disk quota is used up", "free some space, or write elsewhere with -o"),
    errno.EFBIG: ("the file is larger than a file may be here", "raise the limit (ulimit -f), or use -o"),
    errno.EACCES: ("writing there is not permitted", "write elsewhere with -o"),
    errno.EPERM: ("writing there is not permitted", "write elsewhere with -o"),
    errno.EROFS: ("the file system is read-only", "write elsewhere with -o"),
    errno.ENOENT: ("the folder does not exist", "make it, or write elsewhere with -o"),
    errno.ENOTDIR: ("a part of the path is no folder", "write elsewhere with -o"),
    errno.EEXIST: ("there is a file of that name", "name another folder"),
    errno.EISDIR: ("that is a folder", "name a file with -o"),
    errno.ENODEV: ("that is a device or a pipe", "name a file with -o"),
    errno.EBUSY: ("the run reads that file", "name another with -o"),
}


class OutputError(PtxgenError):
    """A file that cannot be written."""

    def __init__(self, path: Path, error: OSError) -> None:
        why, fix = _REASONS.get(error.errno or 0, (error.strerror or str(error), "write elsewhere with -o"))
        super().__init__("cannot write the result", where=str(path), why=why, fix=fix)


def manifest_path(kernel: Path) -> Path:
    """`saxpy.ptx` has its manifest in `saxpy.manifest.json`."""
    return kernel.with_name(kernel.name.removesuffix(".ptx") + ".manifest.json")


def check_writable(path: Path, *inputs: Path) -> None:
    """Raises OutputError now rather than after minutes of work, and for a place that a file must not replace:
    a folder, a device or pipe, one of `inputs`.
    """
    if path.is_dir():
        raise OutputError(path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if path.exists() and not path.is_file():
        raise OutputError(path, OSError(errno.ENODEV, os.strerror(errno.ENODEV)))
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise OutputError(path, OSError(errno.EBUSY, os.strerror(errno.EBUSY)))
    path = _followed(path)
    try:
        descriptor, trial = tempfile.mkstemp(prefix=".ptxgen-", dir=path.parent)
        os.close(descriptor)
        os.unlink(trial)
    except OSError as error:
        raise OutputError(path, error) from error


def write_file(path: Path, text: str) -> None:
    """The whole file or, when that fails, the one that was there before. Raises OutputError."""
    trial = ""
    path = _followed(path)
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", prefix=".ptxgen-", dir=path.parent, delete=False
        ) as file:
            trial = file.name
            file.write(text)
        # A temporary file is private; what replaces the result has the mode that any new file gets.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(trial, 0o666 & ~mask)
        os.replace(trial, path)
    except BaseException as error:
        if trial and os.path.exists(trial):
            os.unlink(trial)
        if isinstance(error, OSError):
            raise OutputError(path, error) from error
        raise


def _followed(path: Path) -> Path:
    """The file that a link names: the link stays one when the file is replaced."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def kernel_text(generation: Generation) -> str:
    """The text of the best candidate, marked where it is not whole or was not judged to the end."""
    best = generation.best
    if best is None:
        return UNFINISHED
    return UNFINISHED + best.ptx if generation.status == "unfinished" else best.ptx


def write_generation(generation: Generation, manifest: dict[str, Any], out: Path) -> None:
    """The kernel and its manifest. Raises OutputError."""
    write_file(out, kernel_text(generation))
    write_file(manifest_path(out), json.dumps(manifest, indent=2) + "\n")


def make_folder(folder: Path) -> None:
    """The folder and those above it, where they are missing. Raises OutputError where one cannot be made or
    written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(folder, error) from error
    check_writable(folder / "candidate")


def keep_candidate(folder: Path, kernel: str, candidate: Candidate) -> None:
    """`KERNEL.INDEX.ptx` and `KERNEL.INDEX.log` in `folder`, which is made. Raises OutputError."""
    make_folder(folder)
    write_file(folder / f"{kernel}.{candidate.index}.ptx", candidate.ptx)
    write_file(folder / f"{kernel}.{candidate.index}.log", candidate_log(candidate))


def candidate_log(candidate: Candidate) -> str:
    """All that is known of a candidate, to be read by a person."""
    recipe = candidate.recipe
    lines = [
        f"candidate {candidate.index}: {candidate.status}",
        f"seed {recipe.seed}, temperature {recipe.temperature:g}",
        f"{candidate.tokens} tokens, {candidate.forced_tokens} forced, {candidate.statements} statements",
        f"{candidate.decode_seconds:.2f} s decoding, {candidate.mask_seconds:.3f} s masks, "
        f"{candidate.judge_seconds:.2f} s judging",
    ]
    if recipe.parent is not None:
        lines += [f"repairs candidate {recipe.parent}, which was told:", recipe.report]
    for assembly in candidate.assemblies:
        verdict = f"{assembly.registers} registers" if assembly.ok else "refused"
        lines.append(f"ptxas {assembly.arch}: {verdict}")
        lines += [f"  line {said.line}: {said.severity}: {said.text}" for said in assembly.messages]
    if candidate.verdict is not None:
        lines.append(f"verified on the {candidate.verdict.executor}: {candidate.verdict.examples} examples")
        lines += [f"  {failure.message}" for failure in candidate.verdict.failures]
    if candidate.trouble:
        lines.append(f"trouble: {candidate.trouble}")
    return "\n".join(lines) + "\n"
