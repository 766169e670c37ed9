"""From a spec to the conversation with the model: reference kernels, instruction card, task, repair."""

from ptxgen.prompting.building import BUDGETS, build_prompt, task_text
from ptxgen.prompting.card import instruction_card, negative_example
from ptxgen.prompting.conversation import Prompt, estimated_tokens
from ptxgen.prompting.features import features, similarity
from ptxgen.prompting.references import Reference, all_references, nearest_references
from ptxgen.prompting.repair import repair_turns

__all__ = [
    "BUDGETS",
    "Prompt",
    "Reference",
    "all_references",
    "build_prompt",
    "estimated_tokens",
    "features",
    "instruction_card",
    "nearest_references",
    "negative_example",
    "repair_turns",
    "similarity",
    "task_text",
]
