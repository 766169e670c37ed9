"""A workshop of fakes: every room around the loop answers from a script, so that each path can be walked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ptxgen.assembling import Assembly, Message
from ptxgen.decoding import Decoded
from ptxgen.generating import Silence
from ptxgen.prompting import Prompt
from ptxgen.spec import Spec
from ptxgen.verifying import Failure, Verdict

SPEC = """
[kernel]
name = "saxpy"
task = "out[i] = a * x[i] + y[i]"
params = [
  { name = "x", type = "f32*", access = "in", shape = ["n"] },
  { name = "y", type = "f32*", access = "in", shape = ["n"] },
  { name = "out", type = "f32*", access = "out", shape = ["n"] },
  { name = "a", type = "f32" },
  { name = "n", type = "u32" },
]
[launch]
block = [256]
grid = ["ceil(n / 256)"]
[oracle]
expr = "a * x + y"
"""


def ptx(name: str) -> str:
    """A text that stands for a kernel; what the fakes do with it is told by the name in its comment."""
    return f"// {name}\n.version 7.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy()\n{{\n\tret;\n}}\n"


def told(text: str) -> str:
    return text.splitlines()[0].removeprefix("// ")


@dataclass
class Workshop:
    """`script`: the kernels that the model writes, in order; the last again when it runs out. A kernel's
    name says what becomes of it: right, wrong, held (wrong on inputs held out), refused, cut, fat, ..."""

    script: list[str] = field(default_factory=lambda: ["right"])
    decodes: list[dict[str, Any]] = field(default_factory=list)
    verified: list[tuple[str, bool]] = field(default_factory=list)
    interrupt: str = ""
    closed: int = 0
    ptxas: tuple[Any, ...] = ()

    def decode(self, session: Any, prompt: Prompt, spec: Spec, table: Any, level: str, **options: Any) -> Decoded:
        session.rewind(0)
        session.evaluate(session.chat_prompt(prompt.system, prompt.turns, prompt.answer_start))
        name = self.script[min(len(self.decodes), len(self.script) - 1)]
        self.decodes.append({"prompt": prompt, "level": level, "position": session.position, **options})
        text = ptx(name)
        if options["on_text"] is not None:
            options["on_text"]("\tbegun;\n")
        self.stop("decoding")
        return Decoded(text, name != "cut", 100, 60, 2.0, 0.05, 12)

    def assemble(self, text: str, arch: str, *, optimise: int = 3) -> Assembly:
        self.stop("assembling")
        if told(text) == "refused":
            message = Message(7, "error", "Unknown symbol '%q'")
            return Assembly(arch, False, None, None, None, (message,), None)
        return Assembly(arch, True, 200 if told(text) == "fat" else 12, 0, 0, (), b"\x7fELF")

    def verify(self, spec: Spec, text: str, executor: Any, **options: Any) -> Verdict:
        self.stop("verifying")
        held_out = options.get("held_out", False)
        name = told(text)
        self.verified.append((name, held_out))
        ok = name.startswith("right") or (name == "held" and not held_out)
        if getattr(executor, "forgiving", False):
            ok = True
        failure = Failure("values", {"n": 5}, "out", 3, 2.5, 0.0, f"{name}: output `out`, index 3", {})
        return Verdict(ok, executor.name, 100, ({"n": 5},), () if ok else (failure,))

    def stop(self, stage: str) -> None:
        if self.interrupt == stage:
            raise KeyboardInterrupt

    def close(self) -> None:
        self.closed += 1


class Heard(Silence):
    """Events by name, in order."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.stop_at = ""

    def __getattribute__(self, name: str) -> Any:
        if name in ("names", "stop_at") or name.startswith("__"):
            return super().__getattribute__(name)

        def note(*arguments: object) -> None:
            self.names.append(name)
            if self.stop_at == name:
                raise KeyboardInterrupt

        return note
