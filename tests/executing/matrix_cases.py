"""Whole kernels around one mma, wmma or matrix move, with what they must give: for any executor.

Entries are small integers, so that every order of summation gives the same. Fragments are laid out as the manual's
formulas say, written here element by element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ptxgen.executing import Buffer, Executor, Launch
from ptxgen.isa.model import Expansion

HEAD = """.version {version}
.target {target}
.address_size 64
.shared .align 128 .b8 tile[8192];
.visible .entry k({params})
{{
.reg .b64 %rd<32>; .reg .b32 %r<128>; .reg .f32 %f<64>; .reg .f64 %fd<64>; .reg .b16 %rs<32>; .reg .pred %p<8>;
mov.u32 %r120, %tid.x;
"""
BITS = {
    "f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "u8": 8, "s8": 8,
    "u4": 4, "s4": 4, "b1": 1,
}


def encode(value: int, type_name: str) -> int:
    """The bits of a small integer in a type, each by a road of its own."""
    if type_name in {"u8", "s8", "u4", "s4", "b1", "s32"}:
        return value & (1 << BITS[type_name]) - 1
    if type_name == "f64":
        return int(np.array([value], np.float64).view(np.uint64)[0])
    single = int(np.array([value], np.float32).view(np.uint32)[0])
    if type_name in {"f32", "tf32"}:
        return single
    if type_name == "bf16":
        return single >> 16
    half = int(np.array([value], np.float16).view(np.uint16)[0])
    if type_name == "f16":
        return half
    if type_name == "e5m2":
        assert half & 0xFF == 0
        return half >> 8
    sign, size = (0x80 if value < 0 else 0), abs(value)
    if size == 0:
        return sign
    exponent = size.bit_length() - 1
    return sign | (exponent + 7) << 3 | (size << 3 >> exponent) & 7


def entries(rng: np.random.Generator, shape: tuple[int, int], type_name: str) -> np.ndarray:
    """Integers that the type holds exactly."""
    low, high = {
        "u8": (0, 256), "s8": (-128, 128), "u4": (0, 16), "s4": (-8, 8), "b1": (0, 2), "s32": (-1000, 1000),
        "e5m2": (-2, 3), "e4m3": (-4, 5),
    }.get(type_name, (-4, 5))
    if type_name == "f64":
        # No zeros, so that a sum that is zero comes of terms that cancel.
        return rng.integers(1, 5, shape) * rng.choice([-1, 1], shape)
    return rng.integers(low, high, shape)


def element_index(register: int, element: int, type_name: str) -> int:
    return register * max(1, 32 // BITS[type_name]) + element


Place = Callable[[int, int], tuple[int, int]]


def a_place(rows: int, type_name: str) -> Place:
    """(lane, i) to (row, column) of a_i."""
    per = max(1, 32 // BITS[type_name])

    def place(lane: int, i: int) -> tuple[int, int]:
        group, thread = lane >> 2, lane % 4
        register, inner = divmod(i, per)
        if rows == 8:
            return group, register * 4 * per + thread * per + inner
        return group + (8 if register % 2 else 0), register // 2 * 4 * per + thread * per + inner

    return place


def b_place(type_name: str) -> Place:
    per = max(1, 32 // BITS[type_name])

    def place(lane: int, i: int) -> tuple[int, int]:
        register, inner = divmod(i, per)
        return register * 4 * per + lane % 4 * per + inner, lane >> 2

    return place


def c_place(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def fragment(matrix: np.ndarray, place: Place, type_name: str, registers: int) -> np.ndarray:
    """(32, registers) words."""
    per = max(1, 32 // BITS[type_name])
    words = np.zeros((32, registers), np.uint64 if BITS[type_name] == 64 else np.uint32)
    for lane in range(32):
        for i in range(registers * per):
            value = int(matrix[place(lane, i)])
            words[lane, i // per] |= words.dtype.type(encode(value, type_name) << i % per * BITS[type_name])
    return words


@dataclass(frozen=True)
class Case:
    """A kernel over one warp: `inputs` and then the output, whose final words must be `expected`."""

    name: str
    ptx: str
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray

    def check(self, executor: Executor) -> None:
        out = Buffer(np.zeros_like(self.expected))
        arguments = [*(Buffer(words, read_only=True) for words in self.inputs), out]
        outcome = executor.run(self.ptx, "k", Launch((1, 1, 1), (32, 1, 1)), arguments)
        assert outcome.ok, (outcome.faults, self.ptx)
        np.testing.assert_array_equal(outcome.buffers[-1], self.expected, err_msg=self.name)


def register_names(start: int, count: int, bits: int, kind: str) -> list[str]:
    prefix = "%fd" if kind == "f64" else "%rd" if bits == 64 else "%f" if kind == "f32" else "%r"
    return [f"{prefix}{start + i}" for i in range(count)]


def kernel(lines: Sequence[str], params: int, target: str, version: str) -> str:
    names = ", ".join(f".param .u64 p{i}" for i in range(params))
    head = HEAD.format(version=version, target=target, params=names)
    loads = "\n".join(f"ld.param.u64 %rd{20 + i}, [p{i}];" for i in range(params))
    return head + loads + "\n" + "\n".join(lines) + "\nret;\n}\n"


def load_fragment(param: int, names: Sequence[str], bits: int) -> list[str]:
    size = bits // 8
    lines = [f"mad.wide.u32 %rd19, %r120, {size * len(names)}, %rd{20 + param};"]
    return lines + [f"ld.global.b{bits} {name}, [%rd19+{i * size}];" for i, name in enumerate(names)]


def store_fragment(param: int, names: Sequence[str], bits: int) -> list[str]:
    size = bits // 8
    lines = [f"mad.wide.u32 %rd19, %r120, {size * len(names)}, %rd{20 + param};"]
    return lines + [f"st.global.b{bits} [%rd19+{i * size}], {name};" for i, name in enumerate(names)]


def fragments_kernel(expansion: Expansion, kinds: Sequence[str], extra: str = "") -> tuple[str, int]:
    """A kernel that loads every operand after the first and stores the first; its params are the sources, then it."""
    starts = {"d": 0, "a": 10, "b": 20, "c": 30}
    lines, written = [], []
    for number, (operand, kind) in enumerate(zip(expansion.operands[:4], kinds, strict=True)):
        bits = 64 if kind == "f64" else 32
        names = register_names(starts["dabc"[number]], max(operand.vector, 1), bits, kind)
        written.append("{" + ", ".join(names) + "}")
        if number:
            lines += load_fragment(number - 1, names, bits)
        else:
            result = names, bits
    lines.append(f"{expansion.opcode} {', '.join(written)}{extra};")
    sources = 4 if extra else 3
    if extra:
        lines.insert(0, "mad.wide.u32 %rd19, %r120, 4, %rd23;\nld.global.b32 %r100, [%rd19];")
    lines += store_fragment(sources, *result)
    target = f"sm_{max(90, expansion.availability.sm)}"
    version = str(max(expansion.availability.ptx, type(expansion.availability.ptx)(8, 0)))
    return kernel(lines, sources + 1, target, version), sources


def _result_words(matrix: np.ndarray, kind: str, registers: int, rows: int) -> np.ndarray:
    return fragment(matrix, c_place, kind, registers)


def mma_case(expansion: Expansion, seed: int = 0) -> Case:
    """Any dense mma but m8n8k4 over f16."""
    rng = np.random.default_rng(seed)
    opcode = expansion.opcode
    m, _, k = (int(n) for n in re.search(r"m(\d+)n(\d+)k(\d+)", opcode).groups())  # type: ignore[union-attr]
    kinds = [w for w in opcode.split(".") if w in BITS]
    d, a, b, c = kinds
    matrix_a, matrix_b = entries(rng, (m, k), a), entries(rng, (k, 8), b)
    matrix_c = entries(rng, (m, 8), c)
    if "xor" in opcode:
        product = np.array([[int((row ^ column).sum()) for column in matrix_b.T] for row in matrix_a])
    else:
        product = matrix_a @ matrix_b
    total = product + matrix_c
    vectors = [max(operand.vector, 1) for operand in expansion.operands[:4]]
    ptx, _ = fragments_kernel(expansion, [d, a, b, c])
    inputs = (
        fragment(matrix_a, a_place(m, a), a, vectors[1]), fragment(matrix_b, b_place(b), b, vectors[2]),
        fragment(matrix_c, c_place, c, vectors[3]),
    )
    expected = fragment(total, c_place, d, vectors[0])
    if opcode.endswith(".rm"):
        expected[expected == 0] = 1 << 63                # terms that cancel give -0 when rounding down
    return Case(opcode, ptx, inputs, expected)


def sparse_case(expansion: Expansion, seed: int = 0) -> Case:
    """mma.sp: a matrix with random non-zero places, written densely here and packed for the kernel."""
    rng = np.random.default_rng(seed)
    opcode = expansion.opcode
    m, _, k = (int(n) for n in re.search(r"m(\d+)n(\d+)k(\d+)", opcode).groups())  # type: ignore[union-attr]
    d, a, b, c = [w for w in opcode.split(".") if w in BITS]
    pair = 2 if BITS[a] == 4 else 1
    kept, wide = (1, 2) if a == "tf32" else (2, 4)
    chunks = k // (wide * pair)
    dense = np.zeros((m, k), np.int64)
    packed = entries(rng, (m, k // 2), a)
    codes = np.zeros((m, chunks), np.uint32)
    for row in range(m):
        for chunk in range(chunks):
            places = sorted(rng.choice(wide, kept, replace=False).tolist())
            for number, place in enumerate(places):
                for e in range(pair):
                    source = packed[row, (chunk * kept + number) * pair + e]
                    dense[row, (chunk * wide + place) * pair + e] = source
            codes[row, chunk] = places[0] | places[1] << 2 if kept == 2 else (0b1110 if places[0] else 0b0100)
    threads = max(1, chunks // 4)
    selector = (4 // threads - 1) if threads < 4 else 0
    metadata = np.full(32, 0xEEEEEEEE, np.uint32)
    for group in range(8):
        for thread in range(threads):
            # Narrow types: eight chunks a lane, of one row; others: four of each of two rows.
            narrow = BITS[a] <= 8
            rows = [group + thread % 2 * 8] if narrow else [group, group + 8]
            first = thread // 2 * 8 if narrow else thread * 4
            picked = [int(codes[row, first + i]) for row in rows for i in range(8 // len(rows))]
            metadata[group * 4 + selector * threads + thread] = sum(code << 4 * i for i, code in enumerate(picked))
    matrix_b, matrix_c = entries(rng, (k, 8), b), entries(rng, (m, 8), c)
    vectors = [max(operand.vector, 1) for operand in expansion.operands[:4]]
    ptx, _ = fragments_kernel(expansion, [d, a, b, c], extra=f", %r100, {selector}")
    inputs = (
        fragment(packed, a_place(m, a), a, vectors[1]), fragment(matrix_b, b_place(b), b, vectors[2]),
        fragment(matrix_c, c_place, c, vectors[3]), metadata,
    )
    return Case(opcode, ptx, inputs, fragment(dense @ matrix_b + matrix_c, c_place, d, vectors[0]))


def quarter_case(expansion: Expansion, seed: int = 0) -> Case:
    """mma.m8n8k4 over f16: four products."""
    rng = np.random.default_rng(seed)
    words = expansion.opcode.split(".")
    a_order, b_order = [w for w in words if w in {"row", "col"}]
    d, _, _, c = [w for w in words if w in BITS]
    a, b, cs = (rng.integers(-4, 5, (4, *shape)) for shape in ((8, 4), (4, 8), (8, 8)))

    def place(which: str, lane: int, i: int) -> tuple[int, int]:
        high = 0 if lane < 16 else 4
        if which == "a":
            return (lane % 4 + high, i) if a_order == "row" else (i + high, lane % 4)
        if which == "b":
            return (lane % 4, i + high) if b_order == "row" else (i, lane % 4 + high)
        if (c if which == "c" else d) == "f16":
            return lane % 4 + high, i
        return (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)

    def quarters(matrices: np.ndarray, which: str, kind: str, registers: int) -> np.ndarray:
        result = np.zeros((32, registers), np.uint32)
        for lane in range(32):
            mine = matrices[lane % 16 // 4]
            result[lane] = fragment(mine, lambda _, i, lane=lane: place(which, lane, i), kind, registers)[lane]
        return result

    vectors = [operand.vector for operand in expansion.operands]
    ptx, _ = fragments_kernel(expansion, [d, "f16", "f16", c])
    inputs = (
        quarters(a, "a", "f16", vectors[1]), quarters(b, "b", "f16", vectors[2]), quarters(cs, "c", c, vectors[3])
    )
    return Case(expansion.opcode, ptx, inputs, quarters(a @ b + cs, "d", d, vectors[0]))


def stored(matrix: np.ndarray, kind: str, order: str, stride: int) -> np.ndarray:
    """The words of a matrix in memory, `stride` elements from line to line."""
    lines = matrix if order == "row" else matrix.T
    bits = BITS[kind]
    flat = np.zeros(stride * lines.shape[0], object)
    for number, line in enumerate(lines):
        flat[number * stride : number * stride + len(line)] = [encode(int(v), kind) for v in line]
    if bits >= 8:
        return flat.astype(f"u{bits // 8}")
    per = 32 // bits
    words = [sum(int(v) << i * bits for i, v in enumerate(flat[w : w + per])) for w in range(0, len(flat), per)]
    return np.array(words, np.uint32)


def wmma_case(expansion: Expansion, *, space: str = "global", out: str = "row", wide: bool = False) -> Case:
    """load a, b and c, multiply, store, with the strides that the shape implies or wider ones."""
    rng = np.random.default_rng(1)
    words = expansion.opcode.split(".")
    shape = next(w for w in words if re.fullmatch(r"m\d+n\d+k\d+", w))
    m, n, k = (int(x) for x in re.findall(r"\d+", shape))
    orders = [w for w in words if w in {"row", "col"}]
    kinds = [w for w in words if w in BITS]
    d, a, b, c = kinds if len(kinds) == 4 else (kinds[0], "f16", "f16", kinds[1])
    matrices = [entries(rng, s, kind) for s, kind in (((m, k), a), ((k, n), b), ((m, n), c))]
    if "xor" in words:
        total = np.array([[int((r ^ s).sum()) for s in matrices[1].T] for r in matrices[0]]) + matrices[2]
    else:
        total = matrices[0] @ matrices[1] + matrices[2]
    vectors = [max(o.vector, 1) for o in expansion.operands]
    names = [register_names(s, v, BITS[t], "f64" if t == "f64" else "f32" if t == "f32" else "b")
             for s, v, t in zip((0, 10, 20, 30), vectors, (d, a, b, c), strict=True)]
    lines, inputs = [], []
    layouts = [orders[0], orders[1], "col"]
    for number, (which, kind, layout, matrix) in enumerate(zip("abc", (a, b, c), layouts, matrices, strict=True)):
        usual = matrix.shape[1] if layout == "row" else matrix.shape[0]
        stride = usual + max(32, 256 // BITS[kind]) if wide else usual
        inputs.append(stored(matrix, kind, layout, stride))
        register = "{" + ", ".join(names[number + 1]) + "}"
        tail = f", {stride}" if wide else ""
        lines.append(
            f"wmma.load.{which}.sync.aligned.{layout}.{shape}.{space}.{kind} {register}, [%rd{20 + number}]{tail};"
        )
    vector = ["{" + ", ".join(group) + "}" for group in names]
    lines.append(f"{expansion.opcode} {', '.join(vector)};")
    lines.append(f"wmma.store.d.sync.aligned.{out}.{shape}.global.{d} [%rd23], {vector[0]};")
    ptx = kernel(lines, 4, "sm_90", "8.0")
    expected = stored(total, d, out, n if out == "row" else m)
    if "rm" in words:
        expected[expected == 0] = 1 << 63
    return Case(expansion.opcode, ptx, tuple(inputs), expected)
