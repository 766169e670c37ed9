"""Numba kernels of the usual sort."""

import math

from numba import cuda, float32, float64, int32, int64, uint8, void


@cuda.jit(device=True)
def clamp(x, low, high):
    return max(low, min(x, high))


@cuda.jit(device=True)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def axpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def block_sums(x, out):
    room = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    room[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            room[t] += room[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, room[0])


def matrix_product(a, b, c):
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for tile in range((a.shape[1] + 15) // 16):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < a.shape[0] and tx + tile * 16 < a.shape[1]:
            left[ty, tx] = a[y, tx + tile * 16]
        if x < b.shape[1] and ty + tile * 16 < b.shape[0]:
            right[ty, tx] = b[ty + tile * 16, x]
        cuda.syncthreads()
        for k in range(16):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def mandelbrot(out, most):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        c = complex(-2.0 + x * 0.125, -1.0 + y * 0.125)
        z = complex(0.0, 0.0)
        n = 0
        while n < most and (z.real * z.real + z.imag * z.imag) < 16.0:
            z = z * z + c
            n += 1
        out[y, x] = n


def histogram(data, counts):
    room = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if t < 32:
        room[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(room, data[i] & 31, 1)
    cuda.syncthreads()
    if t < 32:
        cuda.atomic.add(counts, t, room[t])


def warp_scan(x, out):
    i = cuda.grid(1)
    v = int64(x[i])
    lane = cuda.laneid
    d = 1
    while d < 32:
        other = cuda.shfl_up_sync(0xFFFFFFFF, v, d)
        if lane >= d:
            v += other
        d *= 2
    out[i] = v + cuda.popc(cuda.ballot_sync(0xFFFFFFFF, x[i] > 0))


def local_arrays(x, out):
    i = cuda.grid(1)
    mine = cuda.local.array(8, float64)
    for k in range(8):
        mine[k] = x[i, k]
    for k in range(8):
        for j in range(7 - k):
            if mine[j] > mine[j + 1]:
                mine[j], mine[j + 1] = mine[j + 1], mine[j]
    for k in range(8):
        out[i, k] = mine[k] + clamp(mine[7 - k], -1.0, 1.0)


def functions(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[i, 0] = math.sin(v) * math.exp(-v)
    out[i, 1] = math.sqrt(abs(v)) + math.log1p(abs(v))
    out[i, 2] = math.erf(v) + math.gamma(abs(v) + 1.0)
    out[i, 3] = math.atan2(v, 2.0) + v ** 3
    out[i, 4] = v // 0.75 + v % 0.75


def recursive(out):
    i = cuda.grid(1)
    out[i] = fibonacci(i % 10)


def wide_integers(a, b, out):
    i = cuda.grid(1)
    if b[i] != 0:
        out[i] = a[i] // b[i] * 10 + a[i] % b[i] + (a[i] >> 3) - (b[i] << 2)
    else:
        out[i] = -1


def strided(x, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        total = 0
        for k in range(x.shape[0]):
            total += x[k, i, j]
        out[i, j] = total


def exchange(x, out):
    i = cuda.grid(1)
    old = cuda.atomic.cas(out, i % 8, -1, i)
    if old == -1:
        x[i] = 1
    cuda.atomic.max(out, 8 + i % 8, i)
    cuda.atomic.xor(out, 16, i * 77)


KERNELS = {
    "numba_axpy": (axpy, void(float32, float32[::1], float32[::1], float32[::1])),
    "numba_block_sums": (block_sums, void(float64[::1], float64[::1])),
    "numba_matrix_product": (matrix_product, void(float32[:, ::1], float32[:, ::1], float32[:, ::1])),
    "numba_mandelbrot": (mandelbrot, void(int32[:, ::1], int32)),
    "numba_histogram": (histogram, void(uint8[::1], int32[::1])),
    "numba_warp_scan": (warp_scan, void(int32[::1], int32[::1])),
    "numba_local_arrays": (local_arrays, void(float64[:, ::1], float64[:, ::1])),
    "numba_functions": (functions, void(float64[::1], float64[:, ::1])),
    "numba_recursive": (recursive, void(int64[::1])),
    "numba_wide_integers": (wide_integers, void(int64[::1], int64[::1], int64[::1])),
    "numba_strided": (strided, void(int32[:, :, :], int32[:, :])),
    "numba_exchange": (exchange, void(int32[::1], int32[::1])),
}
