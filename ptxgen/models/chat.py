"""A conversation as text, in the chat template that the model's own file carries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ptxgen.models.failures import ModelError

#: what a broken or hostile template raises, the sandbox's refusals included
_RENDERING = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError)


def render_chat(
    template: str | None,
    system: str,
    turns: Sequence[tuple[str, str]],
    *,
    bos: str,
    eos: str,
    control: Iterable[str] = (),
) -> str:
    """The conversation up to where the assistant's answer begins.

    `control` are the texts of the model's control tokens: where one occurs inside a turn it is broken up, so
    that a task or a source file cannot end its own turn. A model without a template gets a plain one.
    Raises ModelError where the template cannot be rendered.
    """
    texts = tuple(control)
    messages = [
        {"role": role, "content": _without_control(text, texts)}
        for role, text in (("system", system), *turns)
        if text
    ]
    if template is None:
        return _plain(messages)
    try:
        return _render(template, messages, bos, eos)
    except _RENDERING:
        # Some templates know no system role: its text then goes in front of the first question.
        merged = _merge_system(messages)
        try:
            return _render(template, merged, bos, eos)
        except _RENDERING as error:
            raise ModelError(
                "the model's chat template cannot be used", why=str(error), fix="try another model"
            ) from error


def _render(template: str, messages: list[dict[str, str]], bos: str, eos: str) -> str:
    # The template comes from a file of unknown origin, so it runs in a sandbox.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda layout: datetime(2024, 7, 26).strftime(layout)
    return environment.from_string(template).render(
        messages=messages, add_generation_prompt=True, bos_token=bos, eos_token=eos
    )


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _merge_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    if len(messages) < 2 or messages[0]["role"] != "system":
        return messages
    first = {"role": messages[1]["role"], "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
    return [first, *messages[2:]]


def _plain(messages: list[dict[str, str]]) -> str:
    said = "".join(f"### {message['role'].capitalize()}\n{message['content']}\n\n" for message in messages)
    return said + "### Assistant\n"


def _without_control(text: str, control: Sequence[str]) -> str:
    for mark in control:
        if mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text
