"""The machine code in a cubin: what the GPU would see, without the debug sections and their line numbers."""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from pathlib import Path

from ptxgen.assembling import Ptxas

#: Section name to its bytes (or its size, where it holds none), code and constants.
MachineCode = dict[str, bytes]
_KEPT = (".text", ".nv.constant", ".nv.global.init")
#: Memory without initial values: the file holds nothing of it.
_SIZED = (".nv.global", ".nv.shared", ".nv.local")
_DEBUG = re.compile(r"^\s*\.target[^\n]*\bdebug\b", re.MULTILINE)
#: seconds; the longest take half a minute where nothing else runs
_TIME_LIMIT = 300.0


def machine_code(text: str, target: str, ptxas: Ptxas) -> MachineCode | None:
    """Code and data sections of the relocatable object (`ptxas -c`); None where ptxas refuses the text.

    Raises subprocess.TimeoutExpired for a text that takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="ptxgen-") as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(text, encoding="utf-8", newline="\n")
        command = [str(ptxas.path), "-c", f"-arch={target}", "-o", str(cubin), str(source)]
        if is_debug(text):
            command.insert(1, "-g")
        done = subprocess.run(command, capture_output=True, timeout=_TIME_LIMIT, check=False)
        if done.returncode or not cubin.exists():
            return None
        return sections(cubin.read_bytes())


def is_debug(text: str) -> bool:
    """Whether `.target` says `debug`, which ptxas takes without optimising only."""
    return _DEBUG.search(text) is not None


def sections(elf: bytes) -> MachineCode:
    """The kept sections of a 64-bit little-endian ELF file. Raises ValueError for anything else."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("this is no 64-bit little-endian ELF file")
    table_at, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<3H", elf, 0x3A)
    headers = [struct.unpack_from("<2I4Q", elf, table_at + size * k) for k in range(count)]
    names_at = headers[names_index][4]
    kept: MachineCode = {}
    for name_at, _, _, _, offset, length in headers:
        start = names_at + name_at
        name = elf[start : elf.index(b"\0", start)].decode("ascii")
        if name.startswith(_SIZED) and not name.startswith(".nv.global.init"):
            kept[name] = str(length).encode()
        elif name.startswith(_KEPT):
            kept[name] = elf[offset : offset + length]
    return kept
