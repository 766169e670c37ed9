"""Which file a name means, over a pretended home folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ptxgen.models import CATALOGUE, FoundModel, ModelError, find_model, known_models, open_session
from ptxgen.models.find import chosen_model, config_file

from .gguf_files import WHOLE


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    variables = "PTXGEN_MODEL PTXGEN_MODELS HF_HOME HF_HUB_CACHE OLLAMA_MODELS XDG_CACHE_HOME XDG_CONFIG_HOME"
    for variable in variables.split():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put(path: Path, data: bytes = WHOLE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def put_ollama(folder: Path, model: str, tag: str, digest: str = "sha256:abc") -> Path:
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:111"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": digest},
    ]
    put(folder / "manifests/registry.ollama.ai/library" / model / tag, json.dumps({"layers": layers}).encode())
    return put(folder / "blobs" / digest.replace(":", "-"))


def ours(home: Path, name: str = "qwen") -> Path:
    return home / ".cache/ptxgen-local/models" / CATALOGUE[name].filename


def test_nothing_named_and_nothing_there_says_how_to_fetch() -> None:
    with pytest.raises(ModelError) as caught:
        find_model()
    assert "models fetch qwen" in caught.value.fix
    assert caught.value.exit_code == 2


def test_the_default_is_used_where_nothing_is_named(home: Path) -> None:
    path = put(ours(home))
    assert find_model() == path


def test_argument_then_variable_then_config_then_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_model() == ("qwen", "the default")
    put(config_file(), b'model = "from-config"\n')
    assert chosen_model() == ("from-config", str(config_file()))
    monkeypatch.setenv("PTXGEN_MODEL", "from-variable")
    assert chosen_model() == ("from-variable", "PTXGEN_MODEL")
    assert chosen_model("from-argument") == ("from-argument", "--model")


def test_the_random_model_may_be_the_chosen_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXGEN_MODEL", "random")
    assert open_session().identity.name == "random"


@pytest.mark.parametrize("text", [b"model = ", b"model = 7", b"\xff\xfe"])
def test_a_broken_config_file_is_told_with_its_place(text: bytes) -> None:
    put(config_file(), text)
    with pytest.raises(ModelError) as caught:
        find_model()
    assert caught.value.where == str(config_file())


def test_a_path_is_taken_as_it_is(home: Path) -> None:
    path = put(home / "somewhere" / "mine.gguf")
    assert find_model(str(path)) == path
    assert find_model("~/somewhere/mine.gguf") == path


def test_a_path_that_is_not_there_is_told(home: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        find_model(str(home / "none.gguf"))


@pytest.mark.parametrize("place", [".", "..", "/", "./folder.gguf", "./pipe.gguf", "~"])
def test_what_is_there_and_no_file_is_told(place: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ours(home))
    monkeypatch.chdir(home)
    (home / "folder.gguf").mkdir()
    os.mkfifo(home / "pipe.gguf")
    with pytest.raises(ModelError, match="is no model"):
        find_model(place)


def test_a_folder_does_not_hide_a_models_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(ours(home, "smollm2"))
    monkeypatch.chdir(home)
    (home / "smollm2-135m").mkdir()
    assert find_model("smollm2-135m") == path


def test_every_usual_place_is_searched_once(home: Path) -> None:
    first = put(ours(home))
    blob = put(home / ".cache/huggingface/hub/models--a--b/blobs/123")
    snapshot = home / ".cache/huggingface/hub/models--a--b/snapshots/rev/hugging.Q4_K_M.gguf"
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(blob)
    (snapshot.parent / "dangling.gguf").symlink_to(home / "gone")
    studio = put(home / ".lmstudio/models/maker/model/studio.gguf")
    (studio.parent / "same.gguf").symlink_to(studio)
    ollama = put_ollama(home / ".ollama/models", "coder", "1.5b")
    put(home / ".ollama/models/manifests/registry.ollama.ai/library/broken/latest", b"{")
    found = known_models()
    assert [(model.path, model.origin) for model in found if model.name != "studio" and model.name != "same"] == [
        (first, "ptxgen-local"),
        (snapshot, "Hugging Face"),
        (ollama, "Ollama"),
    ]
    assert len([model for model in found if model.origin == "LM Studio"]) == 1
    assert FoundModel("coder:1.5b", ollama, len(WHOLE), "Ollama") in found


@pytest.mark.parametrize(("variable", "below"), [("HF_HOME", "hub"), ("HF_HUB_CACHE", "")])
def test_hugging_faces_variables_are_obeyed(
    variable: str, below: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home / ".cache/huggingface/hub/models--x/snapshots/r/usual.gguf")
    path = put(home / "elsewhere" / below / "models--x/snapshots/r/special.gguf")
    monkeypatch.setenv(variable, str(home / "elsewhere"))
    assert [model.path for model in known_models()] == [path]


def test_our_own_folder_can_be_moved(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXGEN_MODELS", str(home / "disk"))
    path = put(home / "disk" / CATALOGUE["smollm2"].filename)
    assert find_model("smollm2") == path


def test_ollamas_folder_can_be_moved(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "o"))
    blob = put_ollama(home / "o", "coder", "latest")
    assert find_model("coder:latest") == blob


def test_part_of_a_name_will_do_if_it_is_one_models(home: Path) -> None:
    path = put(home / ".lmstudio/models/a/b/Llama-3.2-1B.gguf")
    put(home / ".lmstudio/models/a/b/Llama-3.2-3B.gguf")
    assert find_model("3.2-1b") == path
    with pytest.raises(ModelError, match="several"):
        find_model("llama")


def test_an_unknown_name_gets_the_nearest(home: Path) -> None:
    put(home / ".lmstudio/models/a/b/starcoder.gguf")
    with pytest.raises(ModelError) as caught:
        find_model("starcodr")
    assert "starcoder" in caught.value.why


def test_a_catalogue_model_that_is_not_there_says_how_to_fetch_it() -> None:
    with pytest.raises(ModelError) as caught:
        find_model("smollm2")
    assert caught.value.fix.startswith("ptxgen-local models fetch smollm2")
