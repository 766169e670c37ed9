"""What two versions of ptxas said of whole modules, and recording it anew.

`modules/*.txt` hold groups of cases. A group is `=== ARCH`, a template, `---`, and one case a line: two signs, for
ptxas 13.0 and for 13.5 (`+` accepted, `-` refused, `!` no verdict, `?` not asked yet), and the text that takes the
place of `@@@` in the template; several places are filled in order by pieces separated with `@@@`, and `\\n` is a line
break. `python -m tests.semantics.recorded_modules [FAMILY ...]` asks both and writes the signs (`--new` only where
there are none).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "modules"
PLACE = "@@@"


@dataclass(frozen=True)
class ModuleCase:
    """One recorded module. `name` tells it apart: family, number of the group, the text filled in."""

    family: str
    group: int
    fill: str
    arch: str
    template: str
    signs: str

    @property
    def name(self) -> str:
        return f"{self.family}:{self.group}: {self.fill}"

    @property
    def ptx(self) -> str:
        pieces = iter(self.fill.replace("\\n", "\n").split(PLACE))
        first, *rest = self.template.split(PLACE)
        return "".join((first, *(next(pieces, "") + part for part in rest)))

    @property
    def accepted(self) -> bool | None:
        """The newer ptxas's verdict, the older's where that one gave none; None where neither did."""
        told = [sign for sign in reversed(self.signs) if sign in "+-"]
        return told[0] == "+" if told else None


def module_cases(families: tuple[str, ...] = ()) -> Iterator[ModuleCase]:
    """Every case, or those of some families, in the order of the files."""
    for path in sorted(FOLDER.glob("*.txt")):
        if not families or path.stem in families:
            yield from _cases_of(path)


def _cases_of(path: Path) -> Iterator[ModuleCase]:
    arch, template, group, inside = "", "", 0, False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            arch, template, inside = line[4:].strip(), "", True
            group += 1
        elif inside and line == "---":
            inside = False
        elif inside:
            template += line + "\n"
        elif line and not line.startswith("#"):
            yield ModuleCase(path.stem, group, line[3:], arch, template, line[:2])


def record(families: tuple[str, ...], only_new: bool) -> None:
    """Ask both versions for every case and write the signs anew."""
    from ptxgen.assembling import find_ptxas

    tools = {tool.version[:4]: tool for tool in find_ptxas()}
    asked = [tools["13.0"], tools["13.5"]]
    for path in sorted(FOLDER.glob("*.txt")):
        if families and path.stem not in families:
            continue
        cases = _cases_of(path)
        lines: list[str] = []
        inside = False
        for line in path.read_text(encoding="utf-8").splitlines():
            inside = (inside or line.startswith("=== ")) and line != "---"
            if not inside and line and not line.startswith("#") and line != "---":
                case = next(cases)
                if not only_new or "?" in case.signs:
                    line = "".join(_sign(tool, case) for tool in asked) + line[2:]
            lines.append(line)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sign(tool: object, case: ModuleCase) -> str:
    from ptxgen.assembling import Ptxas, ToolCrashed

    assert isinstance(tool, Ptxas)
    try:
        optimise = 0 if ", debug" in case.ptx else 3
        return "+" if tool.assemble(case.ptx, case.arch, optimise=optimise).ok else "-"
    except ToolCrashed:
        return "!"


if __name__ == "__main__":
    record(tuple(word for word in sys.argv[1:] if word != "--new"), "--new" in sys.argv)
