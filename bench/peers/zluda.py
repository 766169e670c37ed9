"""ZLUDA's tests of its compiler: `ptx/src/test/spirv_run/`, a kernel a file, with inputs and outputs in `mod.rs`.

How that project launches them: one block of one thread (`test_ptx!`) or of 64 (`test_ptx_warp!`), arguments are the
input's address and the output's, or the output's twice without an input, the output begins as zeros, and there are
1,024 bytes of dynamic shared memory. It compares with Rust's `==`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.peers.cases import Array, Case, Excuse
from bench.peers.rust import Reader, RustError, Token, array, tokens
from ptxgen.errors import PtxgenError
from ptxgen.executing import Alias, Argument, Buffer, Launch

FOLDER = "ptx/src/test/spirv_run"
_MACROS = {"test_ptx": 1, "test_ptx_with_32": 1, "test_ptx_warp": 64}
_SHARED_BYTES = 1024

#: Kernels with a fault of their own that does no harm where memory beyond a buffer is mapped. Each is run again with
#: the text changed, or with an output longer by as many bytes, and must then give what the test wants.
MENDED: dict[str, tuple[str, tuple[tuple[str, str], ...], int]] = {
    "ldmatrix": ("64 threads read and write tables of 64 words at 128 bytes past their own word",
                 (("values_g[64]", "values_g[96]"), ("values_s[64]", "values_s[320]")), 256),
    "mma_m16n8k16_f32_bf16_bf16_f32_2x": ("64 threads store 32 bytes each where the output has room for 32 of them",
                                          (), 1024),
    "mma_m16n8k16_f32_bf16_bf16_f32": ("64 threads store 16 bytes each where the output has room for 32 of them",
                                       (), 512),
}
#: Older versions whose outcome differs for a reason that is none of the emulator's, and that have no later version.
EXPLAINED = {
    "func_ptr": "expects the value without the function's address, which the kernel adds",
    "alloca_call": "the file has another kernel",
    "assertfail": "expects that the kernel goes on after __assertfail, which ends it",
    "shared_unify_private": "reads shared memory that nothing has written",
    "vote_ballot": "threads outside their own member mask, which is undefined",
    "match_any_32": "threads outside their own member mask, which is undefined",
}


@dataclass(frozen=True, slots=True)
class Test:
    """One line of `mod.rs`. `enabled` False: it stands in a comment there."""

    name: str
    threads: int
    given: Array | None
    expected: Array | None
    both_widths: bool
    enabled: bool = True


def tests(text: str) -> list[Test]:
    """The tests that `mod.rs` names, those in comments too where they can be read."""
    found = list(_invocations(list(tokens(text))))
    names = {test.name for test in found}
    bare = "\n".join(line.lstrip().removeprefix("//") for line in text.splitlines())
    for test in _invocations(list(tokens(bare)), strict=False):
        if test.name not in names:
            found.append(replace(test, enabled=False))
            names.add(test.name)
    return found


def _invocations(listed: list[Token], *, strict: bool = True) -> Iterator[Test]:
    for place, token in enumerate(listed[:-3]):
        if token.text not in _MACROS or [t.text for t in listed[place + 1 : place + 3]] != ["!", "("]:
            continue
        if listed[place + 3].text == "$":
            continue
        try:
            yield _invocation(token.text, listed[place + 3 :])
        except RustError as error:
            if strict:
                raise RustError(f"test {listed[place + 3].text} is written in a new way", why=str(error)) from None


def _invocation(macro: str, rest: list[Token]) -> Test:
    reader = Reader(rest)
    reader.place = 1
    values = []
    while reader.take(","):
        if reader.peek() != ")":
            values.append(array(reader.expression()))
    reader.want(")")
    given = values[0] if len(values) > 1 else None
    return Test(rest[0].text, _MACROS[macro], given, values[-1] if values else None, macro == "test_ptx_with_32")


def case(test: Test, ptx: str, *, narrow: bool = False) -> Case:
    """The launch of a test; `narrow` for the copy with addresses of 32 bits, which must be refused."""
    launch = Launch((1, 1, 1), (test.threads, 1, 1), _SHARED_BYTES)
    expected = test.expected if test.expected is not None else np.zeros(1, np.uint64)
    # What a test without values gets is memory for the two words that its kernel may touch.
    output = Buffer(np.zeros_like(expected) if test.expected is not None else np.zeros(16, np.uint8))
    arguments: tuple[Argument, ...] = (Buffer(test.given), output) if test.given is not None else (output, Alias(0))
    name = test.name + (" (32-bit)" if narrow else "") + ("" if test.enabled else " (in a comment)")
    made = Case(
        name, ptx, test.name, launch, arguments,
        {} if test.expected is None else {1 if test.given is not None else 0: expected},
        refused="32 bits" if narrow else "",
    )
    if test.name not in MENDED or narrow:
        return made
    why, changes, room = MENDED[test.name]
    for old, new in changes:
        ptx = ptx.replace(old, new)
    longer = Buffer(np.zeros(expected.nbytes + room, np.uint8))
    arguments = tuple(longer if argument is output else argument for argument in arguments)
    return replace(made, excuses=(Excuse(why, replace(made, ptx=ptx, arguments=arguments)),))


def _cases(read: Callable[[str], str | None]) -> Iterator[Case]:
    for test in tests(read("mod.rs") or ""):
        ptx = read(f"{test.name}.ptx")
        if ptx is not None:
            yield case(test, ptx)
        if test.both_widths and (ptx := read(f"32/{test.name}.ptx")) is not None:
            yield case(test, ptx, narrow=True)


def read_checkout(checkout: Path) -> list[Case]:
    """The tests as they are in the work tree. Raises PtxgenError if it is no checkout of that project."""
    folder = checkout / FOLDER
    if not (folder / "mod.rs").is_file():
        raise PtxgenError(f"no {FOLDER}/mod.rs in {checkout}", fix="name the top of a checkout of vosen/ZLUDA")

    def read(name: str) -> str | None:
        path = folder / name
        return path.read_text() if path.is_file() else None

    return list(_cases(read))


def read_history(checkout: Path) -> list[Case]:
    """Every version of every test that any branch of the checkout ever had, each once, but those of the work tree."""
    newest = {found.entry: found for found in read_checkout(checkout) if not found.refused}
    seen = {_key(found) for found in newest.values()}
    commits = _git(checkout, "log", "--all", "--format=%h", "--", f"{FOLDER}").decode().split()
    collected: list[Case] = []
    for commit in commits:
        blobs = _blobs(checkout, commit)
        for found in _old_cases(blobs):
            if _key(found) not in seen:
                seen.add(_key(found))
                collected.append(_explained(replace(found, name=f"{found.name} ({commit})"), newest.get(found.entry)))
    return collected


def _explained(found: Case, newest: Case | None) -> Case:
    """An older version that differs is explained if that project has corrected it to what passes."""
    excuses = list(found.excuses)
    if found.entry in EXPLAINED:
        excuses.append(Excuse(EXPLAINED[found.entry]))
    if newest is not None and not found.refused:
        mended = next((excuse.mended for excuse in newest.excuses if excuse.mended is not None), newest)
        excuses.append(Excuse("corrected there later", mended))
    return replace(found, excuses=tuple(excuses))


def _key(found: Case) -> tuple[object, ...]:
    values = [a.data.tobytes() if isinstance(a, Buffer) else b"" for a in found.arguments]
    return (found.ptx, found.launch, tuple(values), tuple(a.tobytes() for a in found.expected.values()))


def _old_cases(blobs: dict[str, str]) -> list[Case]:
    try:
        return list(_cases(blobs.get))
    except RustError:  # a commit whose tests do not compile
        return []


def _blobs(checkout: Path, commit: str) -> dict[str, str]:
    listed = _git(checkout, "ls-tree", "-r", commit, "--", FOLDER).decode().splitlines()
    wanted = [(line.split("\t")[1], line.split()[2]) for line in listed if line.endswith((".ptx", "/mod.rs"))]
    asked = "".join(f"{blob}\n" for _, blob in wanted).encode()
    answer = _git(checkout, "cat-file", "--batch", text=asked)
    found: dict[str, str] = {}
    for path, _ in wanted:
        head, _, rest = answer.partition(b"\n")
        size = int(head.split()[2])
        found[path.removeprefix(FOLDER + "/")] = rest[:size].decode(errors="replace")
        answer = rest[size + 1 :]
    return found


def _git(checkout: Path, *words: str, text: bytes | None = None) -> bytes:
    done = subprocess.run(["git", "-C", str(checkout), *words], input=text, capture_output=True, check=False)
    if done.returncode:
        raise PtxgenError(f"git {words[0]} failed in {checkout}", why=done.stderr.decode(errors="replace").strip())
    return done.stdout
