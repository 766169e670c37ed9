"""What every executor must do with a launch: arguments of every kind, memory of every space, what outlives nothing.

More cases of the form of `executor_contract`, and what both executors refuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from executor_contract import OUT, REGISTERS, WHO, Case, empty, kernel, line, per_thread

from ptxgen.executing import Alias, Argument, Buffer, Launch, Scalar, Value

NEW = ".version 8.0\n.target sm_90\n.address_size 64\n"
_COPY = """ld.param.u64 %rd3, [in]; add.u64 %rd3, %rd3, %rd5; add.u64 %rd1, %rd1, %rd5;
ld.global.b8 %rs1, [%rd3]; st.global.b8 [%rd1], %rs1;"""


def _copied(name: str, given: np.ndarray, offset: int = 0, out_offset: int = 0) -> Case:
    """Every byte of `given` is copied, a thread a byte; `out` has its shape and type."""
    ptx = kernel("cvt.u64.u32 %rd5, %r1;" + _COPY, ".param .u64 in, .param .u64 out")
    arguments = [
        Buffer(given, read_only=True, offset=offset),
        Buffer(np.zeros(given.shape, given.dtype), initialised=False, offset=out_offset),
    ]
    want = np.ascontiguousarray(given).reshape(given.shape)
    return Case(name, ptx, line(given.nbytes), arguments, {0: want, 1: want})


_ODD = np.arange(24, dtype="f4").reshape(4, 6)
BUFFERS = [
    *[_copied(f"buffer-of-{np.dtype(kind).name}", np.array([0, 1, 77, 127], kind).reshape(2, 2))
      for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?")],
    *[_copied(f"buffer-at-offset-{offset}", np.arange(5, dtype="f4"), offset, out)
      for offset, out in ((4, 0), (100, 252), (4096, 256), (70_000, 131_072))],
    _copied("buffer-in-other-byte-order", np.arange(4, dtype=">u4")),
    _copied("buffer-not-contiguous", _ODD[::2, ::-1]),
    _copied("buffer-in-fortran-order", np.asfortranarray(_ODD)),
    _copied("buffer-without-dimensions", np.array(2.5, "f8")),
    Case("buffers-without-elements", kernel("""
        ld.param.u64 %rd3, [none]; setp.ne.u64 %p1, %rd3, 0; selp.u32 %r10, 1, 0, %p1; st.global.u32 [%rd2], %r10;
    """, ".param .u64 none, .param .u64 out, .param .u64 more"), line(1),
        [Buffer(np.zeros((3, 0), "f4")), empty(1), Buffer(np.zeros(0, "u1"), initialised=False)],
        {0: np.zeros((3, 0), "f4"), 1: np.array([1], "u4"), 2: np.zeros(0, "u1")}),
    Case("buffer-left-as-it-was", kernel("setp.ne.u32 %p1, %r1, 1; @%p1 st.global.u32 [%rd2], %r1;"), line(3),
         [Buffer(np.full(4, 7, "u4"), initialised=False)], {0: np.array([0, 7, 2, 7], "u4")}),
    Case("same-buffer-before-and-behind", kernel("""
        ld.param.u64 %rd3, [first]; ld.param.u64 %rd4, [last]; setp.eq.u64 %p1, %rd3, %rd1;
        setp.eq.u64 %p2, %rd4, %rd1;
        selp.u32 %r10, 1, 0, %p1; selp.u32 %r11, 2, 0, %p2; add.u32 %r10, %r10, %r11; st.global.u32 [%rd4], %r10;
    """, ".param .u64 first, .param .u64 out, .param .u64 last"), line(1), [Alias(1), empty(1), Alias(1)],
        {0: np.array([3], "u4"), 1: np.array([3], "u4"), 2: np.array([3], "u4")}),
]


def _passed(kind: str, value: float, words: int, declared: str = "") -> Case:
    """A scalar's bits, as the kernel finds them."""
    bits = int(kind.lstrip("usbf"))
    load = {8: "ld.param.b8 %rs1, [x]; st.global.b8 [%rd2], %rs1;", 16: "ld.param.b16 %rs1, [x];"
            " st.global.b16 [%rd2], %rs1;", 32: "ld.param.b32 %r10, [x]; st.global.b32 [%rd2], %r10;",
            64: "ld.param.b64 %rd3, [x]; st.global.b64 [%rd2], %rd3;"}[bits]
    ptx = kernel(load, f".param .u64 out, .param .{declared or kind} x")
    out = empty(1, f"u{bits // 8}")
    return Case(f"scalar-{kind}-{value}", ptx, line(1), [out, Scalar(kind, value)],
                {0: np.array([words], f"u{bits // 8}")})


_STRUCTURE = np.array([(-7, 2.5, 200)], np.dtype([("a", "i4"), ("b", "f8"), ("c", "u1")], align=True))
_MANY = np.arange(1000, dtype="u4")
VALUES = [
    *[_passed(f"u{bits}", (1 << bits) - 2, (1 << bits) - 2) for bits in (8, 16, 32, 64)],
    *[_passed(f"s{bits}", -2, (1 << bits) - 2) for bits in (8, 16, 32, 64)],
    *[_passed(f"b{bits}", 129, 129) for bits in (8, 16, 32, 64)],
    _passed("f16", 1 / 3, 0x3555, "b16"), _passed("f16", 1e9, 0x7C00, "b16"), _passed("bf16", 1 / 3, 0x3EAB, "b16"),
    _passed("bf16", 1 + 2**-8 + 2**-40, 0x3F81, "b16"), _passed("f32", 0.1, 0x3DCCCCCD),
    _passed("f32", -0.0, 1 << 31),
    _passed("f64", 0.1, 0x3FB999999999999A), _passed("f64", float("inf"), 0x7FF << 52),
    _passed("f32", 1.0, 0x3F800000, "b32"), _passed("u64", 1 << 63, 1 << 63),
    Case("structure-by-value", kernel("""
        ld.param.s32 %r10, [s]; ld.param.f64 %fd1, [s+8]; ld.param.u8 %r11, [s+16]; cvt.rzi.s32.f64 %r12, %fd1;
        mad.lo.s32 %r10, %r10, 1000, %r11; add.s32 %r10, %r10, %r12; st.global.u32 [%rd2], %r10;
    """, ".param .u64 out, .param .align 8 .b8 s[24]"), line(1), [empty(1), Value(_STRUCTURE)],
        {0: np.array([-7000 + 200 + 2], "i4").view("u4")}),
    Case("three-bytes-by-value", kernel("""
        ld.param.u8 %r10, [s+2]; ld.param.u8 %r11, [s]; mad.lo.u32 %r10, %r10, 256, %r11; st.global.u32 [%rd2], %r10;
    """, ".param .b8 s[3], .param .u64 out"), line(1), [Value(np.array([1, 2, 3], "u1")), empty(1)],
        {1: np.array([769], "u4")}),
    Case("numbers-of-a-vector-by-value", kernel("""
        ld.param.v4.f32 {%f1, %f2, %f3, %f4}, [s]; sub.f32 %f1, %f4, %f1; st.global.f32 [%rd2], %f1;
    """, ".param .align 16 .b8 s[16], .param .u64 out"), line(1),
        [Value(np.array([1, 2, 3, 8], "f4")), empty(1, "f4")], {1: np.array([7], "f4")}),
    Case("four-thousand-bytes-by-value", kernel("""
        mov.u64 %rd3, s; cvta.param.u64 %rd3, %rd3; mad.wide.u32 %rd3, %r1, 4, %rd3; ld.u32 %r10, [%rd3];
        st.global.u32 [%rd2], %r10;
    """, ".param .u64 out, .param .align 4 .b8 s[4000]"), line(500, 2), [empty(1000), Value(_MANY)], {0: _MANY}),
    Case("structure-beside-a-buffer-given-twice", kernel("""
        ld.param.u64 %rd3, [again]; ld.param.u32 %r10, [s+4]; st.global.u32 [%rd3], %r10;
    """, ".param .u64 out, .param .align 4 .b8 s[8], .param .u64 again"), line(1),
        [empty(1), Value(np.array([5, 6], "u4")), Alias(0)], {0: np.array([6], "u4")}),
]

_TILE = """mad.lo.u32 %r12, %r2, 4, BASE; st.shared.u32 [%r12], %r1; bar.sync 0; sub.u32 %r13, LAST, %r2;
mad.lo.u32 %r13, %r13, 4, BASE; ld.shared.u32 %r10, [%r13];"""


def _at_the_end(name: str, shared: int, static: int = 0) -> Case:
    """The last words of dynamic shared memory, beside `static` bytes of the module's own."""
    module = ".extern .shared .align 16 .b8 smem[];" + (f".shared .align 4 .b8 own[{static}];" if static else "")
    own = f"mov.u32 %r15, own; st.shared.u32 [%r15+{static - 4}], 7;" if static else ""
    body = own + f"mov.u32 %r11, smem; add.u32 %r11, %r11, {shared - 128};" + _TILE.replace("BASE", "%r11").replace(
        "LAST", "31")
    return per_thread(name, body, lambda i: i // 32 * 32 + 31 - i % 32, threads=32, module=module, shared=shared)



SPACES = [
    _at_the_end("dynamic-shared-of-48-KiB", 49_152),
    _at_the_end("dynamic-shared-above-48-KiB", 100_000),
    _at_the_end("all-shared-there-is", 232_448),
    _at_the_end("dynamic-beside-static-shared", 1024, 2048),
    # Each below the limit that holds without opting in, the sum above it.
    Case("dynamic-and-static-shared-above-48-KiB-together", kernel("""
        mov.u32 %r11, own; st.shared.u32 [%r11+40956], 5; mov.u32 %r12, smem; st.shared.u32 [%r12+20476], 6;
        ld.shared.u32 %r13, [%r11+40956]; ld.shared.u32 %r14, [%r12+20476]; mad.lo.u32 %r10, %r13, 10, %r14;
        st.global.u32 [%rd2], %r10;
    """, module=".extern .shared .align 16 .b8 smem[]; .shared .align 4 .b8 own[40960];"), line(1, 1, 20_480),
        [empty(1)], {0: np.array([56], "u4")}),
    Case("variables-begin-afresh", kernel("""
        atom.global.add.u32 %r10, [count], 3; ld.global.u32 %r11, [rest+8]; st.global.u32 [rest+8], 1;
        mad.lo.u32 %r10, %r10, 10, %r11; st.global.u32 [%rd2], %r10;
    """, module=".global .u32 count = 7; .global .align 4 .b8 rest[12];"), line(1), [empty(1)],
        {0: np.array([70], "u4")}, runs=3),
    Case("constants-of-several-kinds", kernel("""
        mov.u64 %rd3, table; cvta.const.u64 %rd3, %rd3; ld.u32 %r10, [%rd3+4]; ld.const.u64 %rd4, [where];
        ld.u32 %r11, [%rd4]; ld.const.f32 %f1, [half]; cvt.rzi.u32.f32 %r12, %f1; mad.lo.u32 %r10, %r10, 10, %r11;
        mad.lo.u32 %r10, %r10, 10, %r12; ld.const.u8 %r13, [large+60000]; add.u32 %r10, %r10, %r13;
        st.global.u32 [%rd2], %r10;
    """, module=""".const .align 4 .u32 table[3] = {1, 2, 3}; .global .u32 there = 4; .const .f32 half = 5.5;
        .const .u64 where = generic(there); .const .align 4 .b8 large[60004];"""), line(1), [empty(1)],
        {0: np.array([245], "u4")}, runs=2),
    Case("initialised-variables-point-at-one-another", kernel("""
        ld.global.u64 %rd3, [at]; ld.u64 %rd4, [%rd3]; ld.u32 %r10, [%rd4+4]; st.global.u32 [%rd2], %r10;
    """, module=""".global .align 4 .u32 words[2] = {3, 9}; .global .u64 middle = generic(words);
        .global .u64 at = generic(middle);"""), line(1), [empty(1)], {0: np.array([9], "u4")}, runs=2),
]

LAUNCHES = [
    Case("many-threads-in-three-dimensions", kernel("""
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mad.lo.u32 %r2, %r3, 8, %r2;
        mad.lo.u32 %r1, %r2, 2, %r1; mul.lo.u32 %r10, %r1, 3;
    """ + OUT + "st.global.u32 [%rd2], %r10;", before=""), Launch((1, 1, 1), (2, 8, 64)), [empty(1024)],
        {0: np.arange(1024, dtype="u4") * 3}),
    Case("a-long-grid-in-y", kernel("""
        mov.u32 %r1, %ctaid.y; mov.u32 %r10, %nctaid.y;
    """ + OUT + "st.global.u32 [%rd2], %r10;", before=""), Launch((1, 65_535, 1), (1, 1, 1)), [empty(65_535)],
        {0: np.full(65_535, 65_535, "u4")}),
    Case("a-block-as-required", kernel("st.global.u32 [%rd2], %r1;").replace(
        "k(.param .u64 out)", "k(.param .u64 out) .reqntid 48, 1, 1"), line(48), [empty(48)],
        {0: np.arange(48, dtype="u4")}),
    Case("a-block-as-allowed", kernel("st.global.u32 [%rd2], %r1;").replace(
        "k(.param .u64 out)", "k(.param .u64 out) .maxntid 64"), line(48), [empty(48)],
        {0: np.arange(48, dtype="u4")}),
    *[Case(f"entry-{name}-of-several", f"""{kernel('st.global.u32 [%rd2], %r1;')}
        .visible .entry second(.param .u64 out, .param .u32 more) {{ {REGISTERS} {WHO} {OUT}
        ld.param.u32 %r10, [more]; add.u32 %r10, %r10, %r1; st.global.u32 [%rd2], %r10; ret; }}
        """, line(4), [empty(4), *more], {0: np.arange(4, dtype="u4") + first}, entry=name)
      for name, more, first in (("k", [], 0), ("second", [Scalar("u32", 10)], 10))],
    Case("sizes-of-numpy", kernel("""ld.param.u32 %r10, [x]; add.u32 %r10, %r10, %r1; st.global.u32 [%rd2], %r10;""",
        ".param .u64 out, .param .u64 again, .param .u32 x"),
        Launch((np.int64(2), np.int32(1), 1), (np.uint8(200), 1, 1), np.int64(0)),
        [Buffer(np.zeros(400, "u4"), offset=np.int64(4)), Alias(np.int64(0)), Scalar("u32", np.uint64(5))],
        {0: np.arange(5, 405, dtype="u4")}),
    Case("no-arguments", kernel("", "", before=""), line(32), []),
    Case("a-cluster", NEW + f""".visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 2, 1, 1
        {{ {REGISTERS} {WHO} {OUT} mov.u32 %r10, %cluster_ctarank; mov.u32 %r11, %nclusterid.x;
        mad.lo.u32 %r10, %r10, 10, %r11; st.global.u32 [%rd2], %r10; ret; }}""", line(1, 6), [empty(6)],
        {0: np.array([3, 13] * 3, "u4")}),
    Case("a-cluster-of-sixteen", NEW + f""".visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 16
        {{ {REGISTERS} {WHO} {OUT} mov.u32 %r10, %cluster_ctarank; st.global.u32 [%rd2], %r10; ret; }}""",
        line(1, 32), [empty(32)], {0: np.arange(32, dtype="u4") % 16}),
]

_PRINTF = ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n"
_CALLS_PRINTF = """{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd4; st.param.b64 [b], %rd6;
call (c), vprintf, (a, b); ld.param.b32 %r12, [c]; }"""
_ASSERT = ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
_HEAP = """.extern .func (.param .b64 result) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);
"""


def _text(name: str, text: str) -> str:
    codes = ", ".join(str(code) for code in text.encode() + b"\0")
    return f".global .align 1 .b8 {name}[{len(text) + 1}] = {{{codes}}};\n"


def _malloc(bytes_: int, then: str) -> str:
    return f"""{{ .param .b64 a; .param .b64 b; st.param.b64 [a], {bytes_}; call (b), malloc, (a);
    ld.param.b64 %rd4, [b]; }} {then}"""


LIBRARY = [
    Case("printf", kernel("""
        .local .align 8 .b8 words[16]; mov.u64 %rd5, words; cvta.local.u64 %rd6, %rd5; st.local.u32 [words], %r1;
        mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [words+8], %fd1; mov.u64 %rd3, format;
        cvta.global.u64 %rd4, %rd3;
    """ + _CALLS_PRINTF + "st.global.u32 [%rd2], %r12;", module=_PRINTF + _text("format", "thread %u says %.2f\n")),
        line(40), [empty(40)], {0: np.full(40, 2, "u4")},
        printed=tuple(sorted(f"thread {i} says 1.50" for i in range(40))), runs=2),
    Case("printf-of-much", kernel("""
        mov.u64 %rd6, 0; mov.u64 %rd3, format; cvta.global.u64 %rd4, %rd3; mov.u32 %r11, 0;
        $more: """ + _CALLS_PRINTF + """ add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 50; @%p1 bra $more;
        st.global.u32 [%rd2], %r11;
    """, module=_PRINTF + _text("format", "x" * 100 + "\n")), line(64, 8), [empty(512)], {0: np.full(512, 50, "u4")},
        printed=("x" * 100,) * (512 * 50)),
    Case("an-assertion-that-holds", kernel("""
        setp.lt.u32 %p1, %r1, 1000; @%p1 bra $fine;
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; mov.u64 %rd3, 0;
        st.param.b64 [a], %rd3; st.param.b64 [b], %rd3; st.param.b32 [c], 1; st.param.b64 [d], %rd3;
        st.param.b64 [e], %rd3; call __assertfail, (a, b, c, d, e); }
        $fine: st.global.u32 [%rd2], %r1;
    """, module=_ASSERT), line(8), [empty(8)], {0: np.arange(8, dtype="u4")}),
    Case("memory-of-the-heap", kernel(_malloc(64, """
        setp.eq.u64 %p1, %rd4, 0; @%p1 bra $none; st.u32 [%rd4+60], %r1; ld.u32 %r10, [%rd4+60];
        add.u32 %r10, %r10, 1;
        st.global.u32 [%rd2], %r10; { .param .b64 p; st.param.b64 [p], %rd4; call free, (p); }
        $none:
    """), module=_HEAP), line(32, 2), [empty(64)], {0: np.arange(1, 65, dtype="u4")}),
    # A heap that goes on from launch to launch would be used up.
    Case("a-heap-begins-afresh", kernel(_malloc(600_000, """
        setp.ne.u64 %p1, %rd4, 0; selp.u32 %r10, 1, 0, %p1; st.global.u32 [%rd2], %r10;
    """), module=_HEAP), line(1), [empty(1)], {0: np.array([1], "u4")}, runs=3),
    Case("a-deep-recursion", kernel("""
        { .param .b32 n; .param .b32 r; st.param.b32 [n], 60; call (r), depth, (n); ld.param.b32 %r10, [r]; }
        st.global.u32 [%rd2], %r10;
    """, module="""
        .func (.param .b32 result) depth(.param .b32 n) {
        .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>; .local .align 4 .b8 room[128];
        ld.param.b32 %r1, [n]; mov.u32 %r2, 1; mov.u64 %rd1, room; and.b32 %r5, %r1, 31;
        mad.wide.u32 %rd1, %r5, 4, %rd1;
        st.local.u32 [%rd1], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 bra $end; sub.u32 %r3, %r1, 1;
        { .param .b32 m; .param .b32 s; st.param.b32 [m], %r3; call (s), depth, (m); ld.param.b32 %r4, [s]; }
        ld.local.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r4;
        $end: st.param.b32 [result], %r2; ret; }
    """), line(32), [empty(32)], {0: np.full(32, 60 * 61 // 2 + 1, "u4")}),
]

CASES: tuple[Case, ...] = (*BUFFERS, *VALUES, *SPACES, *LAUNCHES, *LIBRARY)


# ---------------------------------------------------------------- what the caller did wrong

_ONE = kernel("", ".param .u32 n", before="")
_POINTER = kernel("", ".param .u64 p", before="")
_FLOATING = kernel("", ".param .f32 x", before="")
_TWO = kernel("") + ".visible .entry other() { ret; }\n"
_OBJECTS = np.array([None], dtype=object)
#: What users pass who have not read which types there are.
_ARRAY: Any = np.zeros(2)
_NUMBER: Any = 5
_LIST: Any = [1, 2]
_WORD: Any = "1"

#: What: (text, entry, arguments); both executors raise UsageError.
MISUSES: dict[str, tuple[str, str | None, list[Argument]]] = {
    "no such entry": (_ONE, "other", [Scalar("u32", 1)]),
    "an entry that must be named": (_TWO, None, [empty(1)]),
    "no entry at all": (".version 8.0\n.target sm_80\n.address_size 64\n", None, []),
    "too few arguments": (_ONE, None, []),
    "too many arguments": (_ONE, None, [Scalar("u32", 1), Scalar("u32", 1)]),
    "a scalar too wide": (_ONE, None, [Scalar("u64", 1)]),
    "a scalar too narrow": (_ONE, None, [Scalar("u16", 1)]),
    "a float for an integer": (_ONE, None, [Scalar("f32", 1.0)]),
    "an integer for a float": (_FLOATING, None, [Scalar("u32", 1)]),
    "a value above its type": (_ONE, None, [Scalar("u32", 1 << 32)]),
    "a value below its type": (_ONE, None, [Scalar("u32", -1)]),
    "a value that is no integer": (_ONE, None, [Scalar("u32", 1.5)]),
    "infinity for an integer": (_ONE, None, [Scalar("u32", float("inf"))]),
    "an unknown type": (_ONE, None, [Scalar("u33", 1)]),
    "a predicate": (_ONE, None, [Scalar("pred", 1)]),
    "a buffer for a number": (_ONE, None, [empty(1)]),
    "an alias of itself": (_POINTER, None, [Alias(0)]),
    "an alias of nothing": (_POINTER, None, [Alias(3)]),
    "an alias from behind": (_POINTER, None, [Alias(-1)]),
    "a structure of another size": (_POINTER, None, [Value(np.zeros(3, "u4"))]),
    "Python objects": (_POINTER, None, [Buffer(_OBJECTS)]),
    "Python objects by value": (_POINTER, None, [Value(_OBJECTS)]),
    "an array that is no Buffer": (_POINTER, None, [_ARRAY]),
    "a number that is no Scalar": (_ONE, None, [_NUMBER]),
    "a buffer of a list": (_POINTER, None, [Buffer(_LIST)]),
    "a structure of a list": (_POINTER, None, [Value(_LIST)]),
    "a word for a number": (_ONE, None, [Scalar("u32", _WORD)]),
    "a list for a number": (_ONE, None, [Scalar("u32", _LIST)]),
    "a word for a float": (_FLOATING, None, [Scalar("f32", _WORD)]),
    "a negative offset": (_POINTER, None, [Buffer(np.zeros(1), offset=-8)]),
}


def _with(directives: str) -> str:
    return NEW + f".visible .entry k() {directives} {{ ret; }}\n"


_PLAIN = _with("")
#: What: (text, launch); both executors give one `launch` fault.
REFUSED: dict[str, tuple[str, Launch]] = {
    **{f"grid {grid}": (_PLAIN, Launch(grid, (32, 1, 1)))
       for grid in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 65_536, 1), (1, 1, 65_536), (1 << 31, 1, 1))},
    **{f"block {block}": (_PLAIN, Launch((1, 1, 1), block))
       for block in ((0, 1, 1), (1, 0, 1), (1025, 1, 1), (32, 33, 1), (1, 1, 65), (2048, 1, 1))},
    "not the required block": (_with(".reqntid 64"), line(32)),
    "the required threads in another shape": (_with(".reqntid 64"), Launch((1, 1, 1), (32, 2, 1))),
    "more than the largest block": (_with(".maxntid 64"), line(65)),
    "half a cluster": (_with(".explicitcluster .reqnctapercluster 2"), line(32, 3)),
    "a cluster of 32": (_with(".explicitcluster .reqnctapercluster 32"), line(32, 32)),
    "a cluster of no known size": (_with(".explicitcluster"), line(32)),
    "more shared memory than there is": (_PLAIN, line(32, 1, 300_000)),
    "one byte more shared memory than there is": (_PLAIN, line(32, 1, 232_449)),
    "negative shared memory": (_PLAIN, line(32, 1, -1)),
}
