"""What the language offers beside arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import Case, exact, generator, given, grid, output
from ptxgen.executing import Scalar, Value


def _hanoi(n: int, start: int, to: int, log: int) -> tuple[int, int]:
    if n == 0:
        return 0, log
    left, log = _hanoi(n - 1, start, 6 - start - to, log)
    right, log = _hanoi(n - 1, 6 - start - to, to, log * 31 + start * 4 + to & 0xFFFFFFFF)
    return left + 1 + right, log


def _interpret(code: bytes, x: int) -> int:
    stack: list[int] = []
    pc = 0
    while pc < len(code):
        kind, low = code[pc] >> 4, code[pc] & 15
        if kind in {2, 3, 4}:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if kind == 2 else a * b if kind == 3 else a - b)
        elif kind == 6:
            pc += low if stack.pop() & 1 else 0
        elif kind == 7:
            stack[-2:] = stack[:-3:-1]
        else:
            stack.append(low if kind == 0 else x if kind == 1 else stack[-1])
        pc += 1
    return stack[-1]


def cases() -> Iterator[Case]:
    rng = generator("language")
    i = np.arange(32)
    ackermann = {0: 3, 1: 5, 2: 7, 3: 9}
    moved = [_hanoi(k % 5, 1, 3, 0) for k in range(32)]
    yield Case("language", "recursion", grid(1, 32), (output((32, 3), "i4"), output(32, "u4")),
               {0: exact([[ackermann[k % 4], moved[k][0], k % 2 == 0] for k in range(32)]),
                1: exact(np.array([log for _, log in moved], "u4"))})
    which, a, b = rng.integers(0, 3, 64, dtype="i4"), *rng.integers(-99, 99, (2, 64)).astype("f4")
    yield Case("language", "by_pointer", grid(2, 32), (given(which), given(a), given(b), output(64, "f4")),
               {3: exact(np.choose(which, [a + b, a - b, a * b]))})
    s = rng.integers(1, 20, 32).astype("f4")
    square = i % 3 == 0
    yield Case("language", "shapes", grid(1, 32), (given(s), output((32, 2), "f4")),
               {1: exact(np.stack([np.where(square, s * s, 3 * s * s), np.where(square, 2 * s * s, 6 * s)], 1))})
    words = ["0", "0xff", "0x1fe"]
    lines = [f"thread {k} of block: {1.5 * k:5.2f} {'abc'[k]} {words[k]} {k << 40}%\n" for k in range(3)]
    yield Case("language", "printing", grid(1, 8), (Scalar("s32", 3), Scalar("f32", 1.5)), {}, printed="".join(lines))
    sums = [sum(v * t * place for place, v in enumerate(range(5 + t % 3 - 1, -1, -1), 1)) for t in range(32)]
    yield Case("language", "lists", grid(1, 32), (output(32, "i4"), Scalar("s32", 5)), {0: exact(sums)})
    yield from _values(rng)
    code = bytes([16, 80, 48, 3, 32, 80, 98, 5, 48, 7, 112, 64, 80, 97, 80, 9, 32])
    yield Case("language", "interpreter", grid(1, 32),
               (given(np.frombuffer(code, "u1")), Scalar("s32", len(code)), output(32, "i4")),
               {2: exact([_interpret(code, x) for x in range(32)])})
    short = rng.integers(-99, 99, (32, 3), dtype="i2")
    yield Case("language", "templates", grid(1, 32), (given(short), output((32, 3), "i2"), output(32, "f8")),
               {1: exact((short + i[:, None]) << (i & 3)[:, None]), 2: exact(2.25 + (short[:, 0] * 0.5) ** 2)})
    f = rng.standard_normal(32).astype("f4")
    yield Case("language", "punning", grid(1, 32), (given(f), output(32, "u4")),
               {1: exact((f * np.float32(-2)).view("u4"))})


_SETTINGS = np.dtype({
    "names": ["letter", "factor", "shifts", "low", "high"], "formats": ["i1", "f8", ("i2", 5), "i4", "i4"],
    "offsets": [0, 8, 16, 28, 32], "itemsize": 40,
})


def _values(rng: np.random.Generator) -> Iterator[Case]:
    i = np.arange(32)
    shifts = rng.integers(-9, 9, 5, dtype="i2")
    settings = np.array([(ord("k"), 2.5, shifts, -10, 12)], _SETTINGS)
    x = rng.integers(-9, 9, 32).astype("f4")
    v = np.clip(x * 2.5 + shifts[i % 5], -10, 12) + ord("k") + 20 - 7 + shifts[(i + 1) % 5]
    yield Case("language", "by_value", grid(1, 32),
               (Value(settings), given(x), output(32, "f4"), Value(np.array([10, 20, 30], "u1")),
                Value(np.array([1, 2, -7], "i8"))), {2: exact(v.astype("f4"))})
    text = b"tables of characters"
    shared = np.array([text[k % 20] for k in range(32)]).reshape(4, 8)[::-1, ::-1].reshape(-1)
    yield Case("language", "variables", grid(1, 32), (output(32, "i4"), output(32, "f4")),
               {0: exact(shared + 42000), 1: exact(np.array([[1, 2, 3], [4, 5, 6]])[i % 2, i % 3])})
