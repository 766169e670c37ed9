"""The loop around everything: candidates, repair, the manifest, and making a kernel again."""

from ptxgen.generating.candidates import Candidate, Generation, Recipe
from ptxgen.generating.events import Events, Silence
from ptxgen.generating.loop import generate
from ptxgen.generating.manifest import Manifest, build_manifest, generation_json, read_manifest
from ptxgen.generating.options import EXECUTORS, Flags, Options, resolve_options
from ptxgen.generating.output import (
    OutputError,
    check_writable,
    keep_candidate,
    kernel_text,
    make_folder,
    manifest_path,
    write_file,
    write_generation,
)
from ptxgen.generating.replaying import Replay, replay

__all__ = [
    "EXECUTORS", "Candidate", "Events", "Flags", "Generation", "Manifest", "Options", "OutputError",
    "Recipe", "Replay", "Silence", "build_manifest", "check_writable", "generate", "generation_json",
    "keep_candidate", "kernel_text", "make_folder", "manifest_path", "read_manifest", "replay", "resolve_options",
    "write_file", "write_generation",
]  # fmt: skip
