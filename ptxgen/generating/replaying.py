"""Making a kernel again from its manifest, byte for byte."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from ptxgen.errors import UsageError
from ptxgen.generating.environment import differences, environment
from ptxgen.generating.loop import opened
from ptxgen.generating.manifest import Manifest, text_hash
from ptxgen.generating.prompt_sharing import SharedPrompt
from ptxgen.generating.writing_candidates import Writer, prompt_hash, read_prompt
from ptxgen.isa import load_table
from ptxgen.models import Session
from ptxgen.prompting import build_prompt
from ptxgen.spec import Spec


@dataclass(frozen=True, slots=True)
class Replay:
    """`changes`: what is different in the environment since; `difference`: a unified diff, "" where the
    original file is gone or the same."""

    same: bool
    ptx: str
    changes: tuple[str, ...]
    difference: str


def replay(
    manifest: Manifest,
    spec: Spec,
    *,
    session: Session | None = None,
    warn: Callable[[str], None] = lambda change: None,
    on_text: Callable[[str], None] | None = None,
) -> Replay:
    """Decode the manifest's kernel again and compare.

    `warn` hears of each difference in versions, which may or may not change the result. Raises UsageError
    where the spec, the prompt or the model is another one: the result would be another kernel's.
    """
    changes = differences(manifest.environment, environment())
    for change in changes:
        warn(change)
    if text_hash(spec.text) != manifest.spec_sha256:
        raise UsageError(
            "the spec has changed since",
            where=str(manifest.spec),
            fix="restore it, or make a new kernel with generate",
        )
    table = load_table()
    prompt = build_prompt(spec, table, manifest.options.arch[0])
    if prompt_hash(prompt) != manifest.prompt_sha256:
        raise UsageError(
            "this version builds another prompt for that spec, so the model would write another kernel",
            where=str(manifest.path),
            why="; ".join(changes),
            fix=f"install ptxgen-local {manifest.environment.get('ptxgen', '')}",
        )
    with opened(manifest.options, session) as model:
        if model.identity.sha256 != manifest.model_sha256:
            raise UsageError(
                "the model is another one",
                where=model.identity.path,
                why=f"sha256 {model.identity.sha256[:12]}, in the manifest {manifest.model_sha256[:12]}",
                fix=f"put the model {manifest.model_name} back, or make a new kernel with generate",
            )
        shared = SharedPrompt(model)
        read_prompt(shared, prompt, lambda tokens: None)
        made = Writer(shared, prompt, spec, table, manifest.options).write(manifest.recipe, on_text)
    same = text_hash(made.ptx) == manifest.ptx_sha256
    return Replay(same, made.ptx, tuple(changes), "" if same else _difference(manifest, made.ptx))


def _difference(manifest: Manifest, ptx: str) -> str:
    try:
        before = manifest.ptx.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    lines = difflib.unified_diff(
        before.splitlines(), ptx.splitlines(), str(manifest.ptx), "replayed", lineterm="", n=2
    )
    return "\n".join(lines)
