"""The errors granted to approximate instructions hold on a real GPU."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.errors import PtxgenError
from ptxgen.executing import make_executor
from ptxgen.executing.protocol import Buffer, Launch, Scalar
from ptxgen.spec import parse_oracle
from ptxgen.verifying.evaluate import evaluate
from ptxgen.verifying.oracle import Expected
from ptxgen.verifying.storage import DTYPES, PRECISIONS, widen
from ptxgen.verifying.tolerance import wrong_elements
from ptxgen.verifying.tracked import exact

pytestmark = pytest.mark.gpu

EXP = "mul.f32 %f3, %f1, 0f3FB8AA3B; ex2.approx.f32 %f2, %f3;"
LOG = "lg2.approx.f32 %f3, %f1; mul.f32 %f2, %f3, 0f3F317218;"
FLOATS = [
    ("exp(x)", EXP, -90, 89),
    ("exp(x)", EXP.replace("approx", "approx.ftz"), -110, 89),
    ("exp2(x)", "ex2.approx.f32 %f2, %f1;", -150, 128),
    ("expm1(x)", EXP + " add.f32 %f2, %f2, 0fBF800000;", -5, 20),
    ("log(x)", LOG, 0, 4),
    ("log(x)", LOG, 0, 1e6),
    ("log2(x)", "lg2.approx.f32 %f2, %f1;", 0.4, 2.1),
    ("log10(x)", "lg2.approx.f32 %f3, %f1; mul.f32 %f2, %f3, 0f3E9A209B;", 0, 100),
    ("log1p(x)", "add.f32 %f1, %f1, 0f3F800000; " + LOG, -0.9, 9),
    ("sqrt(x)", "sqrt.approx.f32 %f2, %f1;", 0, 1e4),
    ("sqrt(x)", "sqrt.approx.ftz.f32 %f2, %f1;", 0, 1e-37),
    ("1 / sqrt(x)", "rsqrt.approx.f32 %f2, %f1;", 1e-3, 1e4),
    ("1 / x", "rcp.approx.ftz.f32 %f2, %f1;", -100, 100),
    ("3.0 / x", "mov.f32 %f3, 0f40400000; div.approx.f32 %f2, %f3, %f1;", -100, 100),
    ("3.0 / x", "mov.f32 %f3, 0f40400000; div.full.f32 %f2, %f3, %f1;", -1e30, 1e30),
    ("sin(x)", "sin.approx.f32 %f2, %f1;", -6.28, 6.28),
    ("cos(x)", "cos.approx.f32 %f2, %f1;", -6.28, 6.28),
    ("cos(x)", "cos.approx.f32 %f2, %f1;", -314, 314),
    ("tanh(x)", "tanh.approx.f32 %f2, %f1;", -12, 12),
    ("cbrt(x)", "lg2.approx.f32 %f3, %f1; mul.f32 %f3, %f3, 0f3EAAAAAB; ex2.approx.f32 %f2, %f3;", 1e-3, 500),
    (
        "power(abs(x), 2.5)",
        "abs.f32 %f3, %f1; lg2.approx.f32 %f3, %f3; mul.f32 %f3, %f3, 0f40200000; ex2.approx.f32 %f2, %f3;",
        -50,
        50,
    ),
    (
        "1 / (1 + exp(-x))",
        "neg.f32 %f1, %f1; " + EXP + " add.f32 %f3, %f2, 0f3F800000; rcp.approx.f32 %f2, %f3;",
        -80,
        80,
    ),
]
HALVES = [
    ("tanh(x)", "tanh.approx.f16 %h2, %h1;", "f16"),
    ("exp2(x)", "ex2.approx.f16 %h2, %h1;", "f16"),
    ("tanh(x)", "tanh.approx.bf16 %h2, %h1;", "bf16"),
    ("exp2(x)", "ex2.approx.ftz.bf16 %h2, %h1;", "bf16"),
]


@pytest.fixture(scope="module")
def gpu():
    try:
        executor = make_executor("gpu", "sm_90")
    except PtxgenError as error:
        pytest.skip(f"no GPU: {error}")
    yield executor
    executor.close()


def kernel(body: str, kind: str) -> str:
    width, register, suffix = (4, "%f", "f32") if kind == "f32" else (2, "%h", "b16")
    return f"""
.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out, .param .u32 n)
{{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<4>; .reg .b16 %h<3>;
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; ld.param.u32 %r5, [n];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
    setp.ge.u32 %p, %r4, %r5; @%p bra END;
    mul.wide.u32 %rd3, %r4, {width}; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
    ld.global.{suffix} {register}1, [%rd4];
    {body}
    st.global.{suffix} [%rd5], {register}2;
END: ret;
}}
"""


def rejected(gpu, text: str, body: str, kind: str, x: np.ndarray) -> np.ndarray:
    """The inputs at which what the GPU computes would be called wrong."""
    launch = Launch((-(-x.size // 256), 1, 1), (256, 1, 1))
    arguments = [Buffer(x, read_only=True), Buffer(np.zeros_like(x), initialised=False), Scalar("u32", x.size)]
    outcome = gpu.run(kernel(body, kind), "k", launch, arguments)
    assert outcome.ok, outcome.faults
    precision = PRECISIONS[kind]
    result = evaluate(parse_oracle(text, frozenset("x")), {"x": exact(widen(kind, x), precision)}, precision)
    return x[wrong_elements(Expected(kind, result.value, result.bound), outcome.buffers[1])]


@pytest.mark.parametrize(("text", "body", "low", "high"), FLOATS)
def test_f32(gpu, text, body, low, high):
    rng = np.random.default_rng(0)
    small = np.geomspace(low if low > 0 else 1e-44, high, 1 << 16)
    x = np.concatenate([rng.uniform(low, high, 1 << 20), small, -small if low < 0 else small])
    x = x[(x >= low) & (x <= high)].astype(np.float32)
    assert rejected(gpu, text, body, "f32", x).size == 0


@pytest.mark.parametrize(("text", "body", "kind"), HALVES)
def test_every_half(gpu, text, body, kind):
    x = np.arange(65536, dtype=np.uint16).view(DTYPES[kind])
    assert rejected(gpu, text, body, kind, x).size == 0
