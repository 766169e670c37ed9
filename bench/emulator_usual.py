"""The usual kernels beyond products and sums: atomics, transposition, shuffles, divergence, local arrays, f16."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.emulator_work import Work
from ptxgen.executing import Buffer, Launch

_HEAD = """.version 7.0
.target sm_80
.address_size 64
"""
#: The thread of the grid in %r1 (blocks of 256), both arguments in %rd1 and %rd2.
_START = """.visible .entry measured(.param .u64 x, .param .u64 out)
{
.reg .pred %p<4>;
.reg .b16 %rs<8>;
.reg .b32 %r<32>;
.reg .b64 %rd<16>;
.reg .f32 %f<16>;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mad.lo.u32 %r1, %r3, 256, %r2;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [out];
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
"""
_END = "ret;\n}\n"

HISTOGRAM = _HEAD + _START + """
.shared .align 4 .u32 bins[256];
mov.u32 %r4, bins;
mad.lo.u32 %r5, %r2, 4, %r4;
st.shared.u32 [%r5], 0;
bar.sync 0;
ld.global.u32 %r6, [%rd4];
mad.lo.u32 %r7, %r6, 4, %r4;
red.shared.add.u32 [%r7], 1;
bar.sync 0;
ld.shared.u32 %r8, [%r5];
mul.wide.u32 %rd6, %r2, 4;
add.s64 %rd7, %rd2, %rd6;
red.global.add.u32 [%rd7], %r8;
""" + _END

#: Tiles of 32 x 32 by 32 x 8 threads; rows of 33 words in shared memory. The side is in %nctaid.
TRANSPOSE = _HEAD + _START.replace("%tid.x", "%tid.y") + """
.shared .align 4 .b32 tile[1056];
mov.u32 %r4, %tid.x;
mov.u32 %r5, %ctaid.y;
mov.u32 %r6, %nctaid.x;
shl.b32 %r6, %r6, 5;
mad.lo.u32 %r7, %r3, 32, %r4;
mad.lo.u32 %r8, %r5, 32, %r2;
mad.lo.u32 %r9, %r8, %r6, %r7;
mul.wide.u32 %rd3, %r9, 4;
add.s64 %rd4, %rd1, %rd3;
mul.wide.u32 %rd6, %r6, 32;
mov.u32 %r10, tile;
mad.lo.u32 %r11, %r2, 33, %r4;
mad.lo.u32 %r11, %r11, 4, %r10;
""" + "".join(
    f"ld.global.u32 %r12, [%rd4];\nst.shared.u32 [%r11+{4 * 33 * 8 * row}], %r12;\nadd.s64 %rd4, %rd4, %rd6;\n"
    for row in range(4)
) + """
bar.sync 0;
mad.lo.u32 %r13, %r5, 32, %r4;
mad.lo.u32 %r14, %r3, 32, %r2;
mad.lo.u32 %r15, %r14, %r6, %r13;
mul.wide.u32 %rd7, %r15, 4;
add.s64 %rd8, %rd2, %rd7;
mad.lo.u32 %r16, %r4, 33, %r2;
mad.lo.u32 %r16, %r16, 4, %r10;
""" + "".join(
    f"ld.shared.u32 %r12, [%r16+{4 * 8 * row}];\nst.global.u32 [%rd8], %r12;\nadd.s64 %rd8, %rd8, %rd6;\n"
    for row in range(4)
) + _END

WARP_SUM = _HEAD + _START + "ld.global.f32 %f1, [%rd4];\n" + "".join(
    f"shfl.sync.bfly.b32 %f2, %f1, {step}, 31, -1;\nadd.f32 %f1, %f1, %f2;\n" for step in (16, 8, 4, 2, 1)
) + """
and.b32 %r4, %r2, 31;
setp.ne.u32 %p1, %r4, 0;
@%p1 bra $L_end;
shr.u32 %r5, %r1, 5;
mul.wide.u32 %rd6, %r5, 4;
add.s64 %rd7, %rd2, %rd6;
st.global.f32 [%rd7], %f1;
$L_end:
""" + _END

#: How many steps a number takes to 1: halved if even, three times itself and one if odd.
COLLATZ = _HEAD + _START + """
ld.global.u32 %r4, [%rd4];
mov.u32 %r5, 0;
$L_1:
setp.le.u32 %p1, %r4, 1;
@%p1 bra $L_3;
add.u32 %r5, %r5, 1;
and.b32 %r6, %r4, 1;
setp.eq.u32 %p2, %r6, 0;
@%p2 bra $L_2;
mad.lo.u32 %r4, %r4, 3, 1;
bra $L_1;
$L_2:
shr.u32 %r4, %r4, 1;
bra $L_1;
$L_3:
st.global.u32 [%rd5], %r5;
""" + _END

#: Sixteen words of local memory filled through a function, then summed up in another order.
LOCAL_ARRAYS = _HEAD + """
.func (.reg .u32 mixed) mix(.reg .u32 word, .reg .u32 number)
{
.reg .b32 %r<4>;
mad.lo.u32 %r1, word, 1664525, number;
shr.u32 %r2, %r1, 7;
xor.b32 mixed, %r1, %r2;
ret;
}
""" + _START + """
.local .align 4 .b32 words[16];
ld.global.u32 %r4, [%rd4];
mov.u32 %r5, 0;
mov.u32 %r6, words;
$L_1:
call (%r4), mix, (%r4, %r5);
mad.lo.u32 %r7, %r5, 4, %r6;
st.local.u32 [%r7], %r4;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p1, %r5, 16;
@%p1 bra $L_1;
mov.u32 %r8, 0;
$L_2:
sub.u32 %r5, %r5, 1;
mad.lo.u32 %r9, %r5, 7, %r4;
and.b32 %r9, %r9, 15;
mad.lo.u32 %r7, %r9, 4, %r6;
ld.local.u32 %r10, [%r7];
mad.lo.u32 %r8, %r10, %r5, %r8;
setp.ne.u32 %p1, %r5, 0;
@%p1 bra $L_2;
st.global.u32 [%rd5], %r8;
""" + _END

_COEFFICIENTS = (0.5, -0.25, 0.75, 1.5, -1.0, 0.125, 0.25, -0.5)
#: A polynomial of two f16 a thread, by Horner's rule.
HALVES = _HEAD + _START + "ld.global.b32 %r4, [%rd4];\nmov.b32 %r5, 0;\n" + "".join(
    f"mov.b32 %r6, {int(np.float16(c).view(np.uint16)) * 0x10001};\nfma.rn.f16x2 %r5, %r5, %r4, %r6;\n"
    for c in _COEFFICIENTS
) + "st.global.b32 [%rd5], %r5;\n" + _END


def _integers(count: int, below: int) -> npt.NDArray[np.uint32]:
    return np.random.default_rng(1).integers(0, below, count).astype(np.uint32)


def _work(
    ptx: str, x: npt.NDArray[np.generic], out: npt.NDArray[np.generic], numpy: Callable[[], npt.NDArray[np.generic]],
    launch: Launch | None = None, *, initialised: bool = False, tolerance: float = 0.0,
) -> Work:
    launch = launch or Launch((x.size // 256, 1, 1), (256, 1, 1))
    return Work(ptx, launch, [Buffer(x), Buffer(out, initialised=initialised)], 1, numpy, tolerance)


def histogram(threads: int) -> Work:
    """One word a thread, 256 bins in shared memory, then added up in global memory."""
    x = _integers(threads, 256)
    out = np.zeros(256, np.uint32)
    return _work(HISTOGRAM, x, out, lambda: np.bincount(x, minlength=256).astype(np.uint32), initialised=True)


def transpose(threads: int) -> Work:
    """Four words a thread, through padded shared memory. `threads` is a power of four."""
    side = 2 * int(threads**0.5)
    x = _integers(side * side, 1 << 32).reshape(side, side)
    launch = Launch((side // 32, side // 32, 1), (32, 8, 1))
    return _work(TRANSPOSE, x, np.zeros_like(x), lambda: np.ascontiguousarray(x.T), launch)


def warp_sum(threads: int) -> Work:
    """A sum of each warp, by shuffles."""
    x = np.random.default_rng(1).uniform(-1, 1, threads).astype(np.float32)
    out = np.zeros(threads // 32, np.float32)
    return _work(WARP_SUM, x, out, lambda: x.reshape(-1, 32).sum(axis=1), tolerance=1e-4)


def collatz(threads: int) -> Work:
    """Loops of 0 to 237 trips, with a branch in each."""
    x = _integers(threads, 4096) + np.uint32(1)

    def steps() -> npt.NDArray[np.uint32]:
        word, taken = x.copy(), np.zeros(threads, np.uint32)
        while (going := word > 1).any():
            taken += going
            word = np.where(going, np.where(word & 1, word * np.uint32(3) + np.uint32(1), word >> 1), word)
        return taken

    return _work(COLLATZ, x, np.zeros(threads, np.uint32), steps)


def local_arrays(threads: int) -> Work:
    """Sixteen words of local memory a thread, sixteen calls, indices that differ by thread."""
    x = _integers(threads, 1 << 32)

    def sums() -> npt.NDArray[np.uint32]:
        word, words, total = x, [], np.zeros(threads, np.uint32)
        for number in range(16):
            word = word * np.uint32(1664525) + np.uint32(number)
            word = word ^ (word >> np.uint32(7))
            words.append(word)
        table = np.stack(words)
        for number in reversed(range(16)):
            place = (np.uint32(7 * number) + word) & np.uint32(15)
            total += np.take_along_axis(table, place[None].astype(np.intp), axis=0)[0] * np.uint32(number)
        return total

    return _work(LOCAL_ARRAYS, x, np.zeros(threads, np.uint32), sums)


def halves(threads: int) -> Work:
    """Sixteen fused multiply-adds in f16 a thread, two at once."""
    x = np.random.default_rng(1).uniform(-1, 1, 2 * threads).astype(np.float16)

    def polynomial() -> npt.NDArray[np.float16]:
        value = np.zeros_like(x)
        for c in _COEFFICIENTS:
            value = (value.astype(np.float32) * x + np.float32(c)).astype(np.float16)
        return value

    launch = Launch((threads // 256, 1, 1), (256, 1, 1))
    return _work(HALVES, x, np.zeros_like(x), polynomial, launch, tolerance=4e-3)


USUAL: dict[str, Callable[[int], Work]] = {
    "histogram": histogram, "transpose": transpose, "warp sum": warp_sum, "collatz": collatz,
    "local arrays": local_arrays, "halves": halves,
}
