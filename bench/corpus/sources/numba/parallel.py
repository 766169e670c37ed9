"""Numba: atomics, shuffles, votes, barriers, device functions, recursion, printing, cooperative groups, asserts."""

from numba import cuda, float32, float64, int32, int64, uint32, uint64, void


@cuda.jit(device=True)
def doubled(x):
    return x + x


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def both(x, y):
    return x + y, x * y


def called(x, out):
    i = cuda.grid(1)
    s, p = both(x[i], doubled(x[i]))
    out[i] = s + p


def recursive(out):
    i = cuda.grid(1)
    out[i] = factorial(i)


def atomics(i32s, u32s, i64s, f32s, f64s):
    i = cuda.grid(1)
    old = (
        cuda.atomic.add(i32s, i, 1)
        + cuda.atomic.max(i32s, i, 5)
        + cuda.atomic.min(i32s, i, -5)
        + cuda.atomic.cas(i32s, i, 3, 4)
    )
    cuda.atomic.and_(u32s, i, 7)
    cuda.atomic.or_(u32s, i, 8)
    cuda.atomic.xor(u32s, i, 9)
    cuda.atomic.inc(u32s, i, 10)
    cuda.atomic.dec(u32s, i, 11)
    cuda.atomic.exch(u32s, i, 12)
    cuda.atomic.sub(i32s, i, old)
    cuda.atomic.add(i64s, i, 3)
    cuda.atomic.add(f32s, i, 1.5)
    cuda.atomic.max(f32s, i, 1.5)
    cuda.atomic.add(f64s, i, 2.5)
    cuda.atomic.nanmin(f64s, i, 2.5)


def warps(x, out):
    i = cuda.threadIdx.x
    mask = 0xFFFFFFFF
    v = (
        cuda.shfl_sync(mask, x[i], 3)
        + cuda.shfl_up_sync(mask, x[i], 1)
        + cuda.shfl_down_sync(mask, x[i], 2)
        + cuda.shfl_xor_sync(mask, x[i], 4)
    )
    if (cuda.any_sync(mask, v > 3) and cuda.all_sync(mask, v > 2)) or cuda.eq_sync(mask, v > 1):
        v += cuda.ballot_sync(mask, v > 0)
    cuda.syncwarp()
    out[i] = (
        v
        + cuda.syncthreads_count(v)
        + cuda.syncthreads_and(v)
        + cuda.syncthreads_or(v)
        + cuda.match_any_sync(mask, v)
        + cuda.activemask()
        + cuda.lanemask_lt()
    )
    cuda.threadfence()
    cuda.threadfence_block()
    cuda.threadfence_system()


def shuffled_floats(x, y):
    i = cuda.threadIdx.x
    x[i] = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
    y[i] = cuda.shfl_down_sync(0xFFFFFFFF, y[i], 1)


def printed(x, y):
    i = cuda.grid(1)
    print("thread", i, x[i], y[i])


def divided(x):
    x[1] //= x[0]


def grid_wide(x):
    g = cuda.cg.this_grid()
    x[cuda.grid(1)] = 1.0
    g.sync()
    x[cuda.grid(1)] += x[0]


def looped(x, out, n):
    total = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] < 0:
            continue
        if x[i] > 100:
            break
        total += x[i]
    while total > 10:
        total /= 2
    out[cuda.grid(1)] = total


KERNELS = [
    (called, void(float32[:], float32[:])),
    (called, void(int64[:], int64[:])),
    (recursive, void(int64[:])),
    (atomics, void(int32[:], uint32[:], uint64[:], float32[:], float64[:])),
    (warps, void(int32[:], int32[:])),
    (shuffled_floats, void(float32[:], float64[:])),
    (printed, void(float32[:], int32[:])),
    (divided, void(int32[:])),
    (grid_wide, void(float64[:])),
    (looped, void(float32[:], float64[:], int32)),
]
