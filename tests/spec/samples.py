"""A small valid spec, and ways to change one line of it."""

from __future__ import annotations

VALID = """\
[kernel]
name = "scale"
task = "out[i] = a * x[i] for i < n, one thread per element"
params = [
  { name = "x",   type = "f32*", access = "in",  shape = ["n"] },
  { name = "out", type = "f32*", access = "out", shape = ["n"] },
  { name = "a",   type = "f32" },
  { name = "n",   type = "u32" },
]

[launch]
block = [256]
grid  = ["ceil(n / 256)"]

[target]
arch = "sm_80"

[oracle]
expr = "a * x"

[verify]
sizes = { n = [0, 500] }
"""


def changed(old: str, new: str) -> str:
    assert old in VALID, f"the sample has no {old!r}"
    return VALID.replace(old, new, 1)
