"""The manifest and what a replay makes of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ptxgen.errors import UsageError
from ptxgen.generating import (
    Options,
    Silence,
    build_manifest,
    generate,
    manifest_path,
    read_manifest,
    replay,
    replaying,
    write_generation,
)
from ptxgen.spec import Spec, parse_spec

from .workshop import SPEC, Workshop


@pytest.fixture
def written(workshop: Workshop, spec: Spec, options: Options, tmp_path: Path) -> Callable[[], Path]:
    def write() -> Path:
        out = tmp_path / "saxpy.ptx"
        made = generate(spec, options, Silence())
        write_generation(made, build_manifest(made, spec, out, ["generate", "saxpy.toml"]), out)
        workshop.decodes.clear()
        return manifest_path(out)

    return write


def test_the_manifest_has_what_makes_a_kernel_again(workshop: Workshop, written: Callable[[], Path]) -> None:
    workshop.script = ["wrong", "right"]
    path = written()
    assert path.name == "saxpy.manifest.json"
    data = json.loads(path.read_text())
    assert data["status"] == "verified"
    assert data["arguments"] == ["generate", "saxpy.toml"]
    assert data["ptxas"] == ["13.0.88"]
    assert data["sampling"]["max_tokens"] == 2048
    assert data["recipe"]["index"] == 1
    assert set(data["environment"]) >= {"ptxgen", "llama.cpp", "llguidance", "table", "grammar"}
    assert len(data["prompt_sha256"]) == len(data["ptx_sha256"]) == len(data["spec"]["sha256"]) == 64
    assert [c["status"] for c in data["candidates"]] == ["failed", "verified"]
    failure = data["candidates"][0]["verify"]["failures"][0]
    assert (failure["index"], failure["expected"], failure["sizes"]) == (3, 2.5, {"n": 5})


def test_a_replay_decodes_the_winner_alone(
    workshop: Workshop, spec: Spec, written: Callable[[], Path]
) -> None:
    workshop.script = ["wrong", "right"]
    manifest = read_manifest(written())
    workshop.script = ["right"]
    made = replay(manifest, spec)
    assert made.same
    assert len(workshop.decodes) == 1
    assert workshop.decodes[0]["seed"] == manifest.recipe.seed
    assert workshop.decodes[0]["temperature"] == 0.2


def test_a_repaired_kernel_is_replayed_from_its_report(
    workshop: Workshop, spec: Spec, written: Callable[[], Path]
) -> None:
    workshop.script = ["wrong", "wrong", "wrong", "wrong", "right"]
    manifest = read_manifest(written())
    workshop.script = ["right"]
    assert replay(manifest, spec).same
    assert workshop.decodes[0]["prompt"].turns[-1] == ("user", "wrong: output `out`, index 3")


def test_a_kernel_that_comes_out_different_is_shown(
    workshop: Workshop, spec: Spec, written: Callable[[], Path]
) -> None:
    manifest = read_manifest(written())
    workshop.script = ["right but different"]
    made = replay(manifest, spec)
    assert not made.same
    assert "+// right but different" in made.difference
    manifest.ptx.unlink()
    workshop.decodes.clear()
    assert replay(manifest, spec).difference == ""


def test_other_versions_are_told(workshop: Workshop, spec: Spec, written: Callable[[], Path]) -> None:
    manifest = read_manifest(written())
    older = replace(manifest, environment={**manifest.environment, "llguidance": "0.0.1"})
    heard: list[str] = []
    made = replay(older, spec, warn=heard.append)
    assert made.same
    assert len(heard) == 1
    assert heard[0].startswith("llguidance was 0.0.1, is ")


def test_another_spec_prompt_or_model_is_refused(
    workshop: Workshop, spec: Spec, written: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = read_manifest(written())
    with pytest.raises(UsageError, match="spec has changed"):
        replay(manifest, parse_spec(SPEC + "# another\n", spec.path))
    with pytest.raises(UsageError, match="model is another"):
        replay(replace(manifest, model_sha256="0" * 64), spec)
    before = replaying.build_prompt
    monkeypatch.setattr(
        replaying, "build_prompt", lambda *a: replace(before(*a), system="you write PTX badly")
    )
    with pytest.raises(UsageError, match="another prompt"):
        replay(manifest, spec)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "", "no manifest"),
        (lambda text: "[1, 2]", "no manifest"),
        (lambda text: text[:-20], "not JSON"),
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 99'), "this version"),
        (lambda text: text.replace('"sampling"', '"sambling"'), "sampling"),
        (lambda text: text.replace('"status": "verified",\n  "ptx"', '"status": "unfinished",\n  "ptx"'),
         "interrupted"),
    ],
)  # fmt: skip
def test_files_that_are_no_manifest(
    written: Callable[[], Path], change: Callable[[str], str], words: str
) -> None:
    path = written()
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    with pytest.raises(UsageError) as caught:
        read_manifest(path)
    assert words in str(caught.value)


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_manifest(tmp_path / "none.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError):
        read_manifest(tmp_path / "binary")


def test_numbers_that_json_lacks_are_named(
    workshop: Workshop, spec: Spec, options: Options, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workshop.script = ["wrong"]
    made = generate(spec, replace(options, candidates=1, repair=0), Silence())
    verdict: Any = made.candidates[0].verdict
    odd = replace(verdict.failures[0], expected=float("inf"), actual=float("nan"), index=(1, 2))
    made = replace(
        made, candidates=(replace(made.candidates[0], verdict=replace(verdict, failures=(odd,))),)
    )
    text = json.dumps(build_manifest(made, spec, tmp_path / "k.ptx", []), allow_nan=False)
    failure = json.loads(text)["candidates"][0]["verify"]["failures"][0]
    assert (failure["expected"], failure["actual"], failure["index"]) == ("inf", "nan", [1, 2])


def places(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where every value of a document stands, by the keys that lead there."""
    if isinstance(value, dict):
        return [path, *(place for key, inner in value.items() for place in places(inner, (*path, key)))]
    return [path]


@pytest.mark.parametrize("wrong", [None, True, "x", -1, 1.5, [], {}, [3], {"a": 3}, 10**30, float("nan")], ids=repr)
def test_values_of_any_other_type_are_read_or_refused_in_words(written: Callable[[], Path], wrong: object) -> None:
    path = written()
    whole = json.loads(path.read_text())
    of_a_replay = {key: value for key, value in whole.items() if key not in ("candidates", "arguments")}
    for place in places(of_a_replay)[1:]:
        data = json.loads(json.dumps(whole))
        inner = data
        for key in place[:-1]:
            inner = inner[key]
        before, inner[place[-1]] = inner[place[-1]], wrong
        path.write_text(json.dumps(data))
        try:
            manifest = read_manifest(path)
        except UsageError as refusal:
            assert refusal.where == str(path)  # noqa: PT017 - some places take anything
        else:
            assert type(manifest.recipe.seed) is int
            assert manifest.options.arch
            if type(before) is not type(wrong) and place[0] in ("level", "seed", "arch", "spec", "model"):
                pytest.fail(f"{place} was {wrong!r}")


@pytest.mark.parametrize("content", ["[" * 100_000, "9" * 10_000, '"\\u0000"'], ids=["deep", "long", "nul"])
def test_odd_json_is_no_manifest(content: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(content)
    with pytest.raises(UsageError, match="no manifest"):
        read_manifest(tmp_path / "odd.json")


def test_a_manifest_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(UsageError, match="no manifest"):
            read_manifest(path)
