"""Coverage-guided fuzzing of all that reads PTX: any bytes, no crash, no hang, always a diagnostic in its place.

    python -m fuzz.parse_bytes CORPUS_FOLDER -max_total_time=600
    python -m fuzz.parse_bytes CRASH_FILE                      one finding again

Needs `pip install 'ptxgen-local[fuzz]'` (atheris, Linux). The folder collects inputs that reach new code; a new one
is filled with the project's kernels and pieces of compilers' files. Options with a single dash are libFuzzer's. A
finding is written to the working folder as `crash-...`, `timeout-...` or `oom-...`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("fuzz.parse_bytes needs atheris: pip install 'ptxgen-local[fuzz]'")

with atheris.instrument_imports(include=["ptxgen.ptx", "ptxgen.semantics", "lark"]):
    from ptxgen.isa import load_table
    from ptxgen.ptx import Diagnostic, draw, parse, parse_tolerant, print_module
    from ptxgen.semantics.checking import check_module

ROOT = Path(__file__).resolve().parent.parent
#: Bounded work: a parse may take so long, and so much longer for every byte (far above what is measured).
SECONDS = 5.0
SECONDS_A_BYTE = 0.002
LONGEST = 4096
_DICTIONARY = (
    ".version 8.0", ".target sm_90", ".address_size 64", ".visible .entry k(", ".param .u64 a", ".func", ".global",
    ".reg .b32 %r<4>;", ".shared", ".align 4", ".b8", ".section .debug_str {", ".loc 1 2 3", ".file 1 \\\"a\\\"",
    ".pragma \\\"nounroll\\\";", "ld.global.f32", "add.s32 %r1, %r2, 3;", "mov.b64 {%r1, %r2}, %rd1;",
    "call (r), f, (a);", ": .callprototype _ ();", ".branchtargets", "@%p1 bra", "$L_1:", "setp.eq.s32 %p1|%p2,",
    "0f3F800000", "0d", "WARP_SZ", "ret;", "/*", "*/", "//", "{", "}", "[%rd1+4]", "generic(", "0xFF(",
    ".attribute(.managed)", ".maxntid 1", ".noreturn", "\\xEF\\xBB\\xBF", "\\x0D\\x0A",
)  # fmt: skip


def check_bytes(data: bytes) -> None:
    """What must hold of any bytes; raises AssertionError, or whatever the code raises."""
    text = data.decode("utf-8", errors="replace")
    started = time.process_time()
    module, faults = parse_tolerant(text)
    findings = check_module(module, load_table())
    spent = time.process_time() - started
    assert spent < SECONDS + SECONDS_A_BYTE * len(data), f"{spent:.1f} s for {len(data)} bytes"
    for diagnostic in (*faults, *findings):
        assert in_text(diagnostic, text), diagnostic
        assert draw(diagnostic, text)
    lost, beyond_ascii = bool(module.lost), any(f.code != "non-ascii" for f in faults)
    assert bool(faults) >= lost >= beyond_ascii, (module.lost, faults)
    if not faults:
        assert parse(print_module(module)) == module


def in_text(diagnostic: Diagnostic, text: str) -> bool:
    """Whether its place is one of the text, the end of a line or of the text included."""
    span = diagnostic.span
    lines = text.split("\n")
    if not 1 <= span.line <= len(lines):
        return False
    return 1 <= span.column <= len(lines[span.line - 1]) + 1 and (span.line, span.column) <= (
        span.end_line, span.end_column
    )  # fmt: skip


def fill(folder: Path) -> None:
    """A first corpus: small whole kernels, and pieces of larger files."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        return
    for path in sorted((ROOT / "tests/kernels").glob("*.ptx")):
        (folder / path.name).write_bytes(path.read_bytes()[:LONGEST])
    for path in sorted((ROOT / "tests/ptx/corpus").glob("*.ptx")):
        content = path.read_bytes()
        for at in range(0, len(content), LONGEST // 2):
            (folder / f"{path.stem}-{at}.ptx").write_bytes(content[at : at + LONGEST // 2])


def main() -> None:
    """Hand over to libFuzzer, which ends the process."""
    folders = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    if folders and not folders[0].is_file():
        fill(folders[0])
        words = folders[0].parent / "ptx.dict"
        words.write_text("".join(f'"{word}"\n' for word in _DICTIONARY), encoding="ascii")
        sys.argv += [f"-dict={words}", f"-max_len={LONGEST}", "-timeout=300", "-rss_limit_mb=3000"]
    load_table()
    atheris.Setup(sys.argv, check_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
