"""CUDA C++ to PTX by NVRTC, through its C interface: no GPU and no toolkit, only `nvidia-cuda-nvrtc`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from bench.corpus.building import Failure, build_folder, folder_of
from bench.corpus.recording import Compiled
from bench.corpus.sources import Source, sources

COMPILER = "nvrtc"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a", "sm_121a")
#: Two of these for every source, in turn, beside the plain build.
VARIANTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("lineinfo", ("--generate-line-info",)),
    ("debug", ("--device-debug",)),
    ("fast", ("--use_fast_math", "--extra-device-vectorization")),
    ("separate", ("--relocatable-device-code=true",)),
    ("exact", ("--fmad=false", "--ftz=true", "--prec-div=false", "--prec-sqrt=false")),
    ("optimised_debug", ("--device-debug", "--dopt=on")),
)
_PLAIN_TARGETS = 3
_VARIANTS_EACH = 3


def version() -> str:
    """`NVRTC 13.5`."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def compiled() -> Iterator[Compiled]:
    """Every source for a few targets each, and with a few of the variants. Raises Failure with the compiler's log."""
    every = [s for s in sources("cuda", "cu") if not s.compilers or COMPILER in s.compilers]
    for turn, source in enumerate(every):
        targets = [t for t in TARGETS if source.suits(t, COMPILER)]
        for step in range(min(_PLAIN_TARGETS, len(targets))):
            target = targets[(turn + step * max(1, len(targets) // _PLAIN_TARGETS)) % len(targets)]
            yield Compiled(COMPILER, f"{source.name}.{target}.ptx", compile_one(source, target, ()))
        kinds = [v for v in VARIANTS if v[0] not in source.without]
        for step in range(_VARIANTS_EACH):
            kind, flags = kinds[(turn + step) % len(kinds)]
            target = targets[(turn * 2 + step) % len(targets)]
            yield Compiled(COMPILER, f"{source.name}.{target}.{kind}.ptx", compile_one(source, target, flags))


def compile_one(source: Source, target: str, flags: tuple[str, ...]) -> str:
    """The PTX. Runs in the build folder, with the headers linked there, so that no path of this machine gets in."""
    include = build_folder() / "include"
    if not include.exists():
        include.symlink_to(folder_of("nvidia") / "cu13/include")
    back = Path.cwd()
    os.chdir(build_folder())
    try:
        always = ("-I=include", "-default-device", "--device-int128", "--std=c++17")
        return _compile(source, (f"--gpu-architecture={target}", *always, *source.flags, *flags))
    finally:
        os.chdir(back)


def _compile(source: Source, options: tuple[str, ...]) -> str:
    library = _library()
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(
        ctypes.byref(program), source.text.encode(), f"{source.name}.cu".encode(), 0, None, None
    )
    try:
        given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        status = library.nvrtcCompileProgram(program, len(options), given)
        if status:
            log = _text(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog)
            raise Failure(f"{source.name} {' '.join(options)}", log)
        return _text(program, library.nvrtcGetPTXSize, library.nvrtcGetPTX)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(program: ctypes.c_void_p, size_of: object, read: object) -> str:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))  # type: ignore[operator]
    room = ctypes.create_string_buffer(size.value)
    read(program, room)  # type: ignore[operator]
    return room.value.decode("utf-8")


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(next((folder_of("nvidia") / "cu13/lib").glob("libnvrtc.so*"))))
