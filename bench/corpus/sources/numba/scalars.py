"""Numba device code: every type, mathematics, records, local and shared arrays."""

import math

import numpy as np
from numba import cuda, float32, float64, int8, int16, int32, int64, uint8, uint32, uint64, void
from numba.types import Array, complex64, float16


def arithmetic(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * b[i] // 3 + a[i] % 7 - (b[i] ^ 5) + (a[i] << 2) + (b[i] >> 1) + max(a[i], b[i]) + abs(a[i])


def mathematics(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        v = x[i]
        out[i] = (
            math.sin(v)
            + math.exp(v)
            + math.log(v)
            + math.sqrt(v)
            + math.pow(v, 2.5)
            + math.atan2(v, 2.0)
            + math.floor(v)
            + math.fabs(v)
            + math.erf(v)
            + math.tanh(v)
            + math.hypot(v, v)
            + math.fmod(v, 3.0)
            + round(v)
        )


def halves(x, out):
    i = cuda.grid(1)
    h = float16(x[i])
    out[i] = (
        float32(cuda.fp16.hfma(h, h, cuda.fp16.hadd(h, float16(1.5))))
        + float32(cuda.fp16.hsin(h))
        + (h > float16(2.0))
    )


def complexes(z):
    i = cuda.grid(1)
    z[i] = z[i] * z[i] + complex(1.0, -2.0)


def intrinsics(x, y, out):
    i = cuda.threadIdx.x + cuda.blockIdx.y * cuda.blockDim.z + cuda.gridDim.x + cuda.laneid
    out[i] = cuda.popc(x[i]) + cuda.clz(x[i]) + cuda.brev(x[i]) + cuda.ffs(x[i]) + cuda.selp(i > 3, 4, 5)
    cuda.nanosleep(20)
    y[i] = cuda.fma(y[i], 2.0, 3.0) + cuda.cbrt(y[i])


def tiled(a, out):
    tile = cuda.shared.array((32, 33), float32)
    dynamic = cuda.shared.array(0, int32)
    mine = cuda.local.array(8, float64)
    x, y = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
    dynamic[cuda.threadIdx.x] = x
    for k in range(8):
        mine[k] = a[y, k]
    cuda.syncthreads()
    out[x, y] = tile[cuda.threadIdx.x, cuda.threadIdx.y] + dynamic[cuda.threadIdx.y] + mine[x % 8]


_TABLE = np.array([[1.5, 2.5], [3.5, -0.0]])


def constant(out):
    table = cuda.const.array_like(_TABLE)
    out[cuda.threadIdx.x, 0] = table[cuda.threadIdx.x, 1]


KERNELS = [
    (arithmetic, void(int32[:], int32[:], int32[:])),
    (arithmetic, void(int64[::1], int64[::1], int64[::1])),
    (arithmetic, void(uint8[:], uint8[:], uint8[:])),
    (arithmetic, void(int16[:], int16[:], int8[:])),
    (arithmetic, void(uint64[:], uint64[:], uint64[:])),
    (mathematics, void(float32[:], float32[:])),
    (mathematics, void(float64[:], float64[:])),
    (halves, void(float32[:], float32[:])),
    (complexes, void(complex64[:])),
    (intrinsics, void(uint32[:], float32[:], int32[:])),
    (tiled, void(float32[:, :], float64[:, ::1])),
    (constant, void(Array(float64, 2, "F"))),
]
