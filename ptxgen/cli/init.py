"""`ptxgen-local init NAME`: write a first spec, commented, that loads as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptxgen.cli.output import data, talk
from ptxgen.errors import UsageError
from ptxgen.spec import parse_spec

TEMPLATE = """\
# What a kernel must compute. Run it with: ptxgen-local generate {file}

[kernel]
name = "{name}"
# The task in words, for the model: the formula and which thread does what.
task = "out[i] = a * x[i] for i < n, one thread per element"
# The signature, in order. Types: u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64, with * for a pointer.
params = [
  {{ name = "x",   type = "f32*", access = "in",  shape = ["n"] }},
  {{ name = "out", type = "f32*", access = "out", shape = ["n"] }},    # in | out | inout
  {{ name = "a",   type = "f32" }},
  {{ name = "n",   type = "u32" }},    # a scalar named in a shape is a size
]

[launch]
block = [256]                # threads a block: x, or x, y, or x, y, z
grid  = ["ceil(n / 256)"]    # blocks: arithmetic over sizes
# shared_bytes = 1024        # dynamic shared memory, a number or arithmetic

[target]
arch = "sm_80"               # or a list: assembled for each
ptx  = "auto"                # or "8.0": the lowest that the target allows

# [constraints]
# registers = 32             # the most a thread may use, without spills
# require = ["fma"]          # instructions that must appear
# forbid  = ["atom"]         # and that must not

[oracle]
# What is right, as NumPy would say it, over the parameters' names.
# Several outputs: a table. Longer ones: python = "oracle.py:function".
expr = "a * x"

[verify]
examples = 100
sizes  = {{ n = [0, 2000] }}             # what is tried, smallest and largest
values = {{ x = [-1000.0, 1000.0] }}     # special = true adds infinities and NaN
tolerance = "auto"                     # or {{ rtol = 1e-5, atol = 1e-6 }}, or {{ ulp = 2 }}
"""


def register(app: typer.Typer) -> None:
    @app.command("init")
    def init(
        name: Annotated[str, typer.Argument(help="The kernel's name.", show_default=False)],
        out: Annotated[Path | None, typer.Option("-o", "--out", help="Where it goes [default: NAME.toml].")] = None,
    ) -> None:
        """Write a first spec."""
        path = write_spec(name, out)
        talk.print("A spec to start from: say in it what the kernel computes, then generate.")
        data.print(str(path))


def write_spec(name: str, output: Path | None = None) -> Path:
    """Write the template for a kernel called `name`; a file that is there is never overwritten.

    Raises SpecError for a name that no kernel can have, UsageError where the file cannot be written.
    """
    path = output if output is not None else Path(f"{name.replace('/', '_')[:100]}.toml")
    text = TEMPLATE.format(name=name.replace("\\", "\\\\").replace('"', '\\"'), file=path)
    parse_spec(text, path)
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()  # half a spec would stand in the way of the next try
                raise
    except FileExistsError:
        raise UsageError(f"{path} is there already", fix="name another file with -o") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot write {path}", why=str(reason), fix="name another file with -o") from None
    return path
