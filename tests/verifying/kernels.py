"""Right and wrong NumPy kernels for the example specs, written in the specs' own precision."""

from __future__ import annotations

import numpy as np

F = np.float32
LOG2E = F(1.4426950408889634)


def vector_add(x, y, out, n):
    out[:] = x + y


def saxpy(x, y, out, a, n):
    out[:] = a * x + y


def relu(x, out, n):
    out[:] = np.maximum(x, F(0))


def clamp(x, out, low, high, n):
    out[:] = np.minimum(np.maximum(x, low), high)


def hypot(x, y, out, n):
    out[:] = np.sqrt(x * x + y * y)


def lerp(x, y, out, t, n):
    out[:] = x + t * (y - x)


def _rows(x, width):
    return np.pad(x, (0, -len(x) % width)).reshape(-1, width)


def block_sum(x, out, n):
    rows = _rows(x, 256)
    half = 128
    while half:  # a tree, as the kernel adds
        rows = rows[:, :half] + rows[:, half : 2 * half]
        half //= 2
    out[:] = rows[:, 0]


def warp_sum(x, out, n):
    total = np.zeros(len(out), dtype=F)
    for column in _rows(x, 32).T:  # one after the other, the worst order
        total = total + column
    out[:] = total


def transpose(x, out, rows, cols):
    out[:] = x.T


def histogram(bins, counts, n):
    np.add.at(counts, bins, 1)


def half_add(x, y, out, n):
    out[:] = x + y


def softmax(x, out, rows, cols):
    if not rows:
        return
    peak = x[:, 0]
    for column in x.T:
        peak = np.maximum(peak, column)
    # ex2.approx is off by up to 2 ulp
    powers = np.exp2((x - peak[:, None]) * LOG2E) * F(1 + 2**-22)
    total = np.zeros(rows, dtype=F)
    for column in powers.T:
        total = total + column
    out[:] = powers / total[:, None]


RIGHT = {
    kernel.__name__: kernel
    for kernel in (
        vector_add, saxpy, relu, clamp, hypot, lerp, block_sum, warp_sum, transpose, histogram, half_add, softmax,
    )
}  # fmt: skip
