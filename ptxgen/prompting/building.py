"""From a spec to the prompt: rules and card, earlier tasks with their kernels, and the task itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.prompting.card import instruction_card, negative_example
from ptxgen.prompting.conversation import FENCE, Prompt, answer, estimated_tokens
from ptxgen.prompting.outline import outline
from ptxgen.prompting.references import Reference, nearest_references
from ptxgen.spec import Param, Spec

if TYPE_CHECKING:
    from ptxgen.isa import Table

#: At most this many tokens with that many references: evaluating one takes 15 to 20 ms on two CPU cores, and a
#: second reference is worth more of them than a third.
BUDGETS = {3: 2500, 2: 3200}
MOST_REFERENCES = 3

_ROLE = (
    "You write NVIDIA PTX kernels. Answer with one whole PTX module and nothing else. "
    "Every result goes into the next unused register; only a loop updates registers that were set before it. "
    "Load scalars first and each pointer right before its elements, follow the steps of the task in their order, "
    "and end with $L_end: and ret."
)


def build_prompt(spec: Spec, table: Table, arch: str) -> Prompt:
    """The conversation that asks for the spec's kernel, within `BUDGETS` tokens unless one reference exceeds them.

    Earlier turns are reference tasks with their kernels, the most similar one last; the answer already begins with
    the spec's header. Raises UsageError for a target that the table does not know.
    """
    header = FENCE + spec.header(arch, table)
    system, last = _system(spec, table, arch), task_text(spec, arch)
    references = list(nearest_references(spec, MOST_REFERENCES))
    while len(references) > 1 and _tokens(references, system, last, header) > BUDGETS[len(references)]:
        references.pop()
    turns: list[tuple[str, str]] = []
    for reference in reversed(references):
        turns += _example(reference)
    turns.append(("user", last))
    return Prompt(system, tuple(turns), header, tuple(r.name for r in references))


def task_text(spec: Spec, arch: str) -> str:
    """The task as each turn words it: name, target, task, signature, launch, limits, formula and steps."""
    lines = [f"Write the PTX kernel `{spec.kernel.name}` for {arch}.", f"Task: {' '.join(spec.kernel.task.split())}"]
    lines.append("Parameters: " + ", ".join(_parameter(p) for p in spec.kernel.params))
    launch = f"Launch: block {_joined(spec.launch.block)}, grid {_joined(spec.launch.grid)}"
    if spec.launch.shared_bytes.text != "0":
        launch += f", {spec.launch.shared_bytes} bytes of shared memory at smem"
    lines.append(launch)
    lines += _limits(spec)
    lines += [f"Formula: {name} = {' '.join(e.text.split())}" for name, e in spec.expressions.items()]
    steps = outline(spec)
    if steps:
        lines += ["Steps:", *steps]
    return "\n".join(lines)


def _system(spec: Spec, table: Table, arch: str) -> str:
    """The role, the rules and the card. The card stands here and not beside the task, where its instructions were
    copied into kernels."""
    mistake = negative_example(spec)
    card = instruction_card(spec, table, arch, arithmetic=not outline(spec))
    lines = [*(f"- {line}" for line in card), f"- not `{mistake.wrong}` but `{mistake.right}`: {mistake.why}"]
    return "\n".join([_ROLE, "Reminders:", *lines])


def _example(reference: Reference) -> list[tuple[str, str]]:
    return [("user", task_text(reference.spec, reference.spec.target.arch[0])), ("assistant", answer(reference.ptx))]


def _tokens(references: list[Reference], system: str, last: str, header: str) -> int:
    texts = [system, last, header]
    texts += [text for reference in references for _, text in _example(reference)]
    # About five tokens a turn mark its role.
    return sum(estimated_tokens(text) + 5 for text in texts)


def _parameter(param: Param) -> str:
    shape = f"[{', '.join(size.text for size in param.shape)}]" if param.pointer else ""
    access = f" ({param.access})" if param.pointer else ""
    return f"{param.name}: {param.type}{shape}{access}"


def _joined(parts: tuple[object, ...]) -> str:
    return " x ".join(str(part) for part in parts)


def _limits(spec: Spec) -> list[str]:
    limits = spec.constraints
    lines = []
    if limits.require:
        lines.append(f"Must use: {', '.join(limits.require)}")
    if limits.forbid:
        lines.append(f"Must not use: {', '.join(limits.forbid)}")
    if limits.registers is not None:
        lines.append(f"At most {limits.registers} physical registers a thread")
    return lines
