"""Every kernel we wrote ourselves, with its spec: the references, and those under tests/kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ptxgen.isa import load_table
from ptxgen.prompting.references import FOLDER
from ptxgen.spec import Spec, load_spec

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
KERNELS = ROOT / "tests" / "kernels"


@dataclass(frozen=True)
class Kernel:
    name: str
    spec_path: Path
    path: Path

    @property
    def spec(self) -> Spec:
        return load_spec(self.spec_path)

    @property
    def ptx(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def header(self) -> str:
        spec = self.spec
        return spec.header(spec.target.arch[0], load_table())

    def body(self) -> list[str]:
        """The lines after the header."""
        return self.ptx.removeprefix(self.header()).splitlines()


@cache
def references() -> list[Kernel]:
    return [Kernel(path.stem, path.with_suffix(".toml"), path) for path in sorted(FOLDER.glob("*.ptx"))]


@cache
def correct_kernels() -> list[Kernel]:
    """One kernel for each example, and variants: `<example>__<variant>.ptx`, or with a spec beside them."""
    found = [Kernel(p.stem, ROOT / "examples" / f"{p.stem}.toml", p) for p in sorted(KERNELS.glob("*.ptx"))]
    for path in sorted((KERNELS / "variants").glob("*.ptx")):
        own = path.with_suffix(".toml")
        example = ROOT / "examples" / f"{path.stem.partition('__')[0]}.toml"
        found.append(Kernel(path.stem, own if own.exists() else example, path))
    return found


def opcodes(lines: list[str]) -> list[str]:
    """The opcodes of statements, without guards."""
    found = (re.match(r"\t(?:@!?%p\d+ )?([a-z][\w.]*)", line) for line in lines)
    return [match[1] for match in found if match]
