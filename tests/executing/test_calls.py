"""Functions: arguments and results of every kind, recursion, calls through registers, the stack, and printf."""

from __future__ import annotations

import math

import numpy as np
import pytest
from executor_contract import HEADER

from ptxgen.errors import PtxgenError
from ptxgen.executing import Buffer, Launch, Outcome
from ptxgen.executing.emulator import Emulator, fitting, library, stack

EMULATOR = Emulator()
ENTRY = """.visible .entry k(.param .u64 out)
{
.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<8>;
mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r1, 4, %rd1;
"""


def run(functions: str, body: str, threads: int = 32) -> Outcome:
    ptx = HEADER + functions + ENTRY + body + "\nret;\n}\n"
    return EMULATOR.run(ptx, "k", Launch((1, 1, 1), (threads, 1, 1)), [Buffer(np.zeros(threads, np.uint32))])


def words(functions: str, body: str, threads: int = 32) -> list[int]:
    outcome = run(functions, body + "\nst.global.b32 [%rd2], %r10;", threads)
    assert outcome.ok, outcome.faults
    found = outcome.buffers[0]
    assert found is not None
    return [int(word) for word in found]


FACTORIAL = """.func (.param .b32 r) factorial(.param .b32 n)
{
.reg .pred %p<4>; .reg .b32 %r<8>;
ld.param.u32 %r1, [n];
mov.u32 %r2, 1;
setp.le.u32 %p1, %r1, 1;
@%p1 bra $L_done;
sub.u32 %r3, %r1, 1;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), factorial, (a); ld.param.b32 %r4, [b]; }
mul.lo.u32 %r2, %r1, %r4;
$L_done:
st.param.b32 [r], %r2;
ret;
}
"""
CALL = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], ARG; call (b), FUNCTION, (a); ld.param.b32 %r10, [b]; }"


def test_a_function_calls_itself_to_different_depths() -> None:
    body = "rem.u32 %r2, %r1, 13;" + CALL.replace("ARG", "%r2").replace("FUNCTION", "factorial")
    assert words(FACTORIAL, body) == [math.factorial(i % 13) for i in range(32)]


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


FIBONACCI = """.func (.reg .b32 %ret) fib(.reg .b32 %n)
{
.reg .pred %p<4>; .reg .b32 %r<8>;
mov.u32 %ret, %n;
setp.lt.u32 %p1, %n, 2;
@%p1 ret;
sub.u32 %r1, %n, 1;
call (%r2), fib, (%r1);
sub.u32 %r3, %n, 2;
call (%r4), fib, (%r3);
add.u32 %ret, %r2, %r4;
ret;
}
"""


def test_registers_outlive_the_calls_of_the_same_function() -> None:
    assert words(FIBONACCI, "rem.u32 %r2, %r1, 9; call (%r10), fib, (%r2);") == [fibonacci(i % 9) for i in range(32)]


def test_functions_that_call_each_other() -> None:
    functions = """.func (.reg .b32 %ret) odd(.reg .b32 %n);
    .func (.reg .b32 %ret) even(.reg .b32 %n)
    { .reg .pred %p<4>; .reg .b32 %r<8>; mov.u32 %ret, 1; setp.eq.u32 %p1, %n, 0; @%p1 ret;
    sub.u32 %r1, %n, 1; call (%ret), odd, (%r1); ret; }
    .func (.reg .b32 %ret) odd(.reg .b32 %n)
    { .reg .pred %p<4>; .reg .b32 %r<8>; mov.u32 %ret, 0; setp.eq.u32 %p1, %n, 0; @%p1 ret;
    sub.u32 %r1, %n, 1; call (%ret), even, (%r1); ret; }
    """
    assert words(functions, "call (%r10), even, (%r1);") == [1 - i % 2 for i in range(32)]


def test_local_arrays_of_a_recursive_function_are_its_own() -> None:
    functions = """.func (.reg .b32 %ret) f(.reg .b32 %n)
    { .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .local .align 4 .b8 mine[8];
    mov.u64 %rd1, mine; st.local.u32 [%rd1], %n; st.local.u32 [mine+4], 1000;
    mov.u32 %r2, 0; setp.eq.u32 %p1, %n, 0; @%p1 bra $L_1; sub.u32 %r1, %n, 1; call (%r2), f, (%r1);
    $L_1: ld.local.u32 %r3, [mine]; ld.local.u32 %r4, [%rd1+4]; add.u32 %ret, %r2, %r3; add.u32 %ret, %ret, %r4;
    ret; }
    """
    body = "and.b32 %r2, %r1, 7; call (%r10), f, (%r2);"
    assert words(functions, body) == [sum(range(i % 8 + 1)) + 1000 * (i % 8 + 1) for i in range(32)]


def test_a_recursive_function_begins_with_undefined_locals() -> None:
    functions = """.func (.reg .b32 %ret) f(.reg .b32 %n)
    { .reg .pred %p<4>; .reg .b32 %r<8>; .local .align 4 .b32 mine;
    mov.u32 %ret, 0; setp.eq.u32 %p1, %n, 0; @%p1 bra $L_1; sub.u32 %r1, %n, 1; call (%r2), f, (%r1);
    call (%r2), f, (%r1); st.local.u32 [mine], 5; ret;
    $L_1: ld.local.u32 %ret, [mine]; ret; }
    """
    for use in ("st.global.u32 [%rd2], %r10;", "setp.eq.u32 %p1, %r10, 0; @%p1 ret;"):
        outcome = run(functions, f"mov.u32 %r2, 1; call (%r10), f, (%r2); {use}")
        assert [f.kind for f in outcome.faults] == ["uninitialised-read"]


def test_endless_recursion_overflows_the_stack() -> None:
    functions = ".func f(.reg .b32 %n) { .local .b8 big[256]; st.local.u8 [big], 1; call f, (%n); ret; }"
    outcome = run(functions, "call f, (%r1);")
    assert [fault.kind for fault in outcome.faults] == ["stack-overflow"]


ENDLESS = {
    "itself": (".func f() { call f; ret; }", "call f;"),
    "each other": (".func g(); .func f() { call g; ret; } .func g() { call f; ret; }", "call f;"),
    "through a register": (
        ".func f(.reg .b64 %p) { P: .callprototype _ (.reg .b64 _); call %p, (%p), P; ret; }",
        "mov.u64 %rd3, f; call f, (%rd3);",
    ),
}


@pytest.mark.parametrize("who", ENDLESS)
def test_endless_recursion_without_variables_overflows_the_stack_too(who: str) -> None:
    outcome = run(*ENDLESS[who])
    assert [fault.kind for fault in outcome.faults] == ["stack-overflow"]


def test_functions_that_end_need_no_stack_without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "SIZE", 64)
    chain = "".join(f".func f{n}() {{ call f{n - 1}; ret; }}\n" for n in range(1, 100))
    outcome = Emulator().run(
        HEADER + ".func f0() { ret; }\n" + chain + ".visible .entry k() { call f99; ret; }", None,
        Launch((1, 1, 1), (1, 1, 1)), [],
    )
    assert outcome.ok, outcome.faults


def test_registers_kept_over_calls_are_no_more_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "free_memory", lambda: 1 << 10)
    with pytest.raises(PtxgenError, match="more memory than there is"):
        run(*ENDLESS["itself"])


TWO = """.func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [x]; shl.b32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) square(.param .b32 x)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [x]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }
.global .align 8 .u64 table[2] = {twice, square};
"""
BY_POINTER = """{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
call (b), %rd5, (a), proto; ld.param.b32 %r10, [b]; }
"""


def test_calls_through_a_register() -> None:
    body = """mov.u64 %rd3, twice; mov.u64 %rd4, square; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;
    selp.b64 %rd5, %rd3, %rd4, %p1;""" + BY_POINTER
    assert words(TWO, body) == [2 * i if i % 2 == 0 else i * i for i in range(32)]


def test_calls_through_a_table_in_memory() -> None:
    body = """mov.u64 %rd3, table; and.b32 %r2, %r1, 1; mad.wide.u32 %rd4, %r2, 8, %rd3; ld.global.u64 %rd5, [%rd4];
    """ + BY_POINTER
    assert words(TWO, body) == [2 * i if i % 2 == 0 else i * i for i in range(32)]


def test_a_call_of_no_function_is_named() -> None:
    outcome = run(TWO, "mov.u64 %rd5, 12345;" + BY_POINTER)
    assert [fault.kind for fault in outcome.faults] == ["out-of-bounds"]
    assert outcome.faults[0].address == 12345


def test_a_function_may_call_itself_through_a_register() -> None:
    functions = """.func (.reg .b32 %ret) f(.reg .b32 %n)
    { .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; mov.u32 %ret, 0; setp.eq.u32 %p1, %n, 0; @%p1 ret;
    mov.u64 %rd1, f; sub.u32 %r1, %n, 1;
    proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
    call (%r2), %rd1, (%r1), proto; add.u32 %ret, %r2, %n; ret; }
    """
    assert words(functions, "call (%r10), f, (%r1);") == [sum(range(i + 1)) for i in range(32)]


@pytest.mark.parametrize("recursive", [False, True])
def test_arguments_in_registers_and_constants(recursive: bool) -> None:
    inside = "setp.ne.u32 %p1, %r1, %r1; @%p1 call (%r3), f, (%r1, 5);" if recursive else ""
    functions = f""".func (.param .b32 r) f(.param .b32 x, .param .b32 y)
    {{ .reg .pred %p<4>; .reg .b32 %r<4>; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y]; {inside}
    mad.lo.u32 %r1, %r1, 10, %r2; st.param.b32 [r], %r1; ret; }}"""
    assert words(functions, "call (%r10), f, (%r1, 7);") == [10 * i + 7 for i in range(32)]


@pytest.mark.parametrize("recursive", [False, True])
def test_structures_are_passed_by_value(recursive: bool) -> None:
    inside = "@!%p2 bra $L_1; call (r), f, (x); $L_1:" if recursive else ""
    functions = f""".func (.param .align 4 .b8 r[12]) f(.param .align 4 .b8 x[12])
    {{ .reg .pred %p<4>; .reg .b32 %r<8>; setp.ne.u32 %p2, %r7, %r7; {inside}
    ld.param.u32 %r1, [x]; ld.param.u32 %r2, [x+4]; ld.param.u32 %r3, [x+8];
    st.param.b32 [r], %r3; st.param.b32 [r+4], %r1; st.param.b32 [r+8], %r2; ret; }}""".replace(
        "setp.ne.u32 %p2, %r7, %r7;", "mov.u32 %r7, 0; setp.ne.u32 %p2, %r7, 0;"
    )
    body = """{ .param .align 4 .b8 a[12]; .param .align 4 .b8 b[12];
    st.param.b32 [a], %r1; st.param.b32 [a+4], 100; st.param.b32 [a+8], 1000;
    call (b), f, (a);
    ld.param.b32 %r2, [b]; ld.param.b32 %r3, [b+4]; ld.param.b32 %r4, [b+8]; ld.param.b32 %r5, [a]; }
    add.u32 %r10, %r2, %r3; add.u32 %r10, %r10, %r4; add.u32 %r10, %r10, %r5;"""
    assert words(functions, body) == [1100 + 2 * i for i in range(32)]


def test_a_guarded_call_is_made_by_some() -> None:
    body = "mov.u32 %r10, 7; setp.lt.u32 %p1, %r1, 5; @%p1 call (%r10), fib, (%r1);"
    assert words(FIBONACCI, body) == [fibonacci(i) if i < 5 else 7 for i in range(32)]


def test_warps_meet_again_after_calls() -> None:
    body = """and.b32 %r2, %r1, 3; call (%r3), fib, (%r2); bar.sync 0;
    shfl.sync.bfly.b32 %r10, %r3, 1, 31, 0xffffffff;"""
    assert words(FIBONACCI, body) == [fibonacci((i ^ 1) % 4) for i in range(32)]


# ---------------------------------------------------------------- alloca


def test_memory_from_the_stack() -> None:
    body = """stacksave.u64 %rd3; and.b32 %r2, %r1, 3; add.u32 %r2, %r2, 1; mul.wide.u32 %rd4, %r2, 8;
    alloca.u64 %rd5, %rd4; alloca.u64 %rd6, %rd4, 64;
    st.local.u32 [%rd5], %r1; st.local.u32 [%rd6], 5; ld.local.u32 %r3, [%rd5]; ld.local.u32 %r4, [%rd6];
    and.b64 %rd7, %rd6, 63; cvt.u32.u64 %r5, %rd7;
    add.u32 %r10, %r3, %r4; add.u32 %r10, %r10, %r5;
    stackrestore.u64 %rd3; alloca.u64 %rd8, %rd4; sub.u64 %rd9, %rd8, %rd5; cvt.u32.u64 %r6, %rd9;
    add.u32 %r10, %r10, %r6;"""
    assert words("", body) == [i + 5 for i in range(32)]


@pytest.mark.parametrize(("body", "kind"), [
    *((f"mov.u64 %rd4, {size}; alloca.u64 %rd5, %rd4;", "stack-overflow") for size in (
        100000, 16385, -8, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000)),
    *((f"mov.u64 %rd4, {top}; stackrestore.u64 %rd4;", "stack-overflow") for top in (0, -1, 0x8000000000000000)),
    ("mov.u32 %r4, -16; alloca.u32 %r5, %r4;", "stack-overflow"),
    ("mov.u64 %rd4, 16; alloca.u64 %rd5, %rd4; ld.local.u32 %r10, [%rd5]; st.global.u32 [%rd2], %r10;",
     "uninitialised-read"),
])
def test_misuse_of_the_stack(body: str, kind: str) -> None:
    assert [fault.kind for fault in run("", body).faults] == [kind]


# ---------------------------------------------------------------- printf

PRINTF = """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 text[] = {TEXT, 0};
.global .align 1 .b8 name[4] = {97, 98, 99, 0};
"""
PRINT = """{ .param .b64 a; .param .b64 b; .param .b32 c; .local .align 8 .b8 buffer[64];
mov.u64 %rd3, text; cvta.global.u64 %rd4, %rd3; mov.u64 %rd5, buffer; cvta.local.u64 %rd6, %rd5;
FILL
st.param.b64 [a], %rd4; st.param.b64 [b], %rd6; call (c), vprintf, (a, b); ld.param.b32 %r10, [c]; }
st.global.b32 [%rd2], %r10;"""


def printed(text: str, fill: str, threads: int = 1) -> tuple[str, list[int]]:
    letters = ", ".join(str(ord(c)) for c in text)
    outcome = run(PRINTF.replace("TEXT", letters), PRINT.replace("FILL", fill), threads)
    assert outcome.ok, outcome.faults
    return outcome.printed, [int(w) for w in outcome.buffers[0]]  # type: ignore[union-attr]


def test_each_thread_prints_in_turn() -> None:
    assert printed("t=%d\n", "st.local.u32 [buffer], %r1;", 3) == ("t=0\nt=1\nt=2\n", [1, 1, 1])


@pytest.mark.parametrize(("text", "fill", "want", "count"), [
    ("none", "", "none", 0),
    ("%5.1f|%-6d|%x%%", "st.local.f64 [buffer], 0d4004000000000000; st.local.u32 [buffer+8], -3; "
     "st.local.u32 [buffer+12], 255;", "  2.5|-3    |ff%", 3),
    ("%u %lld", "st.local.u32 [buffer], -1; st.local.u64 [buffer+8], -5;", "4294967295 -5", 2),
    ("%s!%c", "mov.u64 %rd7, name; cvta.global.u64 %rd7, %rd7; st.local.u64 [buffer], %rd7; "
     "st.local.u32 [buffer+8], 65;", "abc!A", 2),
    ("%.*f", "st.local.u32 [buffer], -1; st.local.f64 [buffer+8], 0d4004000000000000;", "2.500000", 2),
    ("%.f|%.d|", "st.local.f64 [buffer], 0d4008000000000000; st.local.u32 [buffer+8], 0;", "3||", 2),
    ("%*d", "st.local.u32 [buffer], 4; st.local.u32 [buffer+4], 7;", "   7", 2),
    ("%hhu %g", "st.local.u32 [buffer], 300; st.local.f64 [buffer+8], 0d3FE0000000000000;", "44 0.5", 2),
])
def test_formats(text: str, fill: str, want: str, count: int) -> None:
    assert printed(text, fill) == (want, [count])


@pytest.mark.parametrize("text", ["%999999999d", "%-999999999d", "%.999999999d", "%.99999999999f", "%*d", "%.*d"])
def test_a_piece_of_text_is_of_bounded_length(text: str) -> None:
    found, _ = printed(text, "st.local.u32 [buffer], 2147483647; st.local.u32 [buffer+4], 7;")
    assert 0 < len(found) < 5000


def test_what_is_printed_is_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_MOST_PRINTED", 10)
    assert printed("abc\n", "", 32) == ("abc\nabc\nab" + library._CUT, [0] * 32)


def test_a_failed_assertion_is_a_trap_with_its_text() -> None:
    params = ".param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s"
    functions = f""".extern .func __assertfail({params});
    .global .align 1 .b8 text[5] = {{120, 60, 121, 0, 0}};"""
    body = """{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
    mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3; st.param.b64 [m], %rd3; st.param.b64 [f], %rd3;
    st.param.b32 [l], 7; st.param.b64 [n], %rd3; st.param.b64 [s], 1;
    setp.eq.u32 %p1, %r1, 3; @%p1 call __assertfail, (m, f, l, n, s); }"""
    (fault,) = run(functions, body).faults
    assert (fault.kind, fault.thread) == ("trap", (3, 0, 0))
    assert "x<y" in fault.message


# ---------------------------------------------------------------- the device heap

HEAP = """.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
"""
ALLOCATE = """{ .param .b64 a; .param .b64 b; add.u32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 4; st.param.b64 [a], %rd3;
call (b), malloc, (a); ld.param.b64 %rd4, [b]; }
"""
FREE = "{ .param .b64 a; st.param.b64 [a], %rd4; call free, (a); }\n"


def test_every_thread_gets_memory_of_its_own() -> None:
    body = ALLOCATE + "st.u32 [%rd4], %r1; bar.sync 0; ld.u32 %r10, [%rd4];" + FREE
    assert words(HEAP, body) == list(range(32))


@pytest.mark.parametrize(("body", "kind"), [
    (ALLOCATE + "ld.u32 %r10, [%rd4];", "uninitialised-read"),
    (ALLOCATE + "st.u32 [%rd4+16], %r1; st.u32 [%rd4+256], %r1;", "out-of-bounds"),
    (ALLOCATE + FREE + "st.u32 [%rd4], %r1;", "out-of-bounds"),
    (ALLOCATE + FREE + FREE, "out-of-bounds"),
    ("mov.u64 %rd4, 0;" + FREE, ""),
])
def test_misuse_of_the_heap(body: str, kind: str) -> None:
    assert [fault.kind for fault in run(HEAP, body).faults] == ([kind] if kind else [])


def test_a_heap_that_is_full_gives_no_address() -> None:
    body = ALLOCATE.replace("mul.wide.u32 %rd3, %r2, 4;", "mov.u64 %rd3, 65536;")
    body += "setp.eq.u64 %p1, %rd4, 0; selp.u32 %r10, 1, 0, %p1;"
    found = words(HEAP, body)
    assert found[:15] == [0] * 15
    assert found[16:] == [1] * 16
