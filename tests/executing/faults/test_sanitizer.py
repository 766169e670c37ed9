"""Running kernels under compute-sanitizer and reading what it says, with a script in its place."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.planted import __main__ as planted_main
from bench.planted import sanitizer, worker
from bench.planted.kernels import all_planted, planted
from bench.planted.sanitizer import Job, Report, Seen, read_reports
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator

FAKE_CUDA = Path(__file__).resolve().parents[1] / "fake_cuda"
KERNELS = [kernel for kernel in all_planted() if kernel.name.startswith("out-of-bounds/")][:3]

LOG = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at alpha__faulty+0xb0 in alpha__faulty.ptx:17
=========     by thread (31,0,0) in block (1,0,0)
=========     Access to 0x7f at is out of bounds
=========
========= Error: Race reported between Write access at beta__faulty+0x110 in beta__faulty.ptx:21
=========     and Read access at beta__faulty+0x120 in beta__faulty.ptx:23 [12 hazards]
=========
========= Invalid __global__ write of size 4 bytes
=========     at write+0x20 in alpha__faulty.ptx:9
=========     by thread (5,0,0) in block (0,0,0)
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at alpha__faulty__more+0x20
========= ERROR SUMMARY: 4 errors
"""


def test_reports_are_told_apart_by_kernel_and_by_file() -> None:
    found = read_reports(LOG, ["alpha__faulty", "beta__faulty", "gamma__faulty"])
    assert found == {
        "alpha__faulty": [
            Report("Invalid __global__ write of size 4 bytes", (17,), (1, 31)),
            Report("Invalid __global__ write of size 4 bytes", (9,), (0, 5)),
        ],
        "beta__faulty": [
            Report("Error: Race reported between Write access at beta__faulty+0x110 in beta__faulty.ptx:21",
                   (21, 23), None),
        ],
    }


def test_the_text_names_every_instructions_line() -> None:
    lines = Job(KERNELS[0], False).text().splitlines()
    given = KERNELS[0].faulty.splitlines()
    places = [number for number, text in enumerate(lines) if text.startswith("\t.loc 1 ")]
    assert len(places) >= 8
    for number in places:
        assert lines[number + 1] == given[int(lines[number].split()[2]) - 1]
    assert any(f".entry {KERNELS[0].entry}__faulty(" in text for text in lines)


# ---------------------------------------------------------------- processes

SCRIPT = """#!{python}
import json, sys, time
words = sys.argv[1:]
tool, log = words[words.index("--tool") + 1], words[words.index("--log-file") + 1]
if "{mode}" == "broken":
    open(log, "w").write("========= Error: Device not supported\\n")
    sys.exit(1)
print("ready", flush=True)
for number, job in enumerate(json.load(open(words[-1]))):
    entry = job["entry"]
    print("begin", number, flush=True)
    if tool == "memcheck" and "faulty" in entry:
        open(log, "a").write(f"========= Invalid read\\n=========     at {{entry}}+0x10 in {{entry}}.ptx:5\\n")
    if "faulty" in entry and tool == "racecheck":
        time.sleep(60)
    if "faulty" in entry and tool == "initcheck":
        sys.exit(1)
    lost = "faulty" in entry and tool == "synccheck"
    print("end", number, "CUDA_ERROR_LAUNCH_FAILED" if lost else "done", flush=True)
    if lost:
        sys.exit(3)
"""


def in_its_place(folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str = "") -> None:
    script = folder / "compute-sanitizer"
    script.write_text(SCRIPT.format(python=sys.executable, mode=mode), encoding="ascii")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(sanitizer, "KERNEL_LIMIT", 0.4)


def test_kernels_that_hang_die_or_lose_the_context_cost_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_its_place(tmp_path, monkeypatch)
    seen = sanitizer.examine(KERNELS, "sm_90")
    assert len(seen) == 2 * 4 * len(KERNELS)
    for kernel in KERNELS:
        faulty, twin = Job(kernel, False).entry, Job(kernel, True).entry
        states = {tool: seen[faulty, tool].status for tool in sanitizer.TOOLS}
        assert states == {
            "memcheck": "done", "racecheck": "hangs", "initcheck": "died", "synccheck": "CUDA_ERROR_LAUNCH_FAILED",
        }
        assert seen[faulty, "memcheck"].reports == (Report("Invalid read", (5,), None),)
        assert all(seen[twin, tool] == sanitizer.Seen("done") for tool in sanitizer.TOOLS)


def test_the_table_beside_the_emulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_its_place(tmp_path, monkeypatch)
    verdicts = [planted_main.judge(kernel, Emulator()) for kernel in KERNELS]
    seen = sanitizer.examine(KERNELS, "sm_90")
    # Planted, emulator, the four tools, any of them, right line, without a report but stopped, twins, not run.
    rows = planted_main.sanitizer_table(verdicts, seen).splitlines()
    assert rows[2] == "| out-of-bounds | 3 | 3 | 3 | 0 | 0 | 0 | 3 | 0 | 0 | 0 | 0 |"
    assert planted_main.about_twins(verdicts, seen) == []
    seen[Job(KERNELS[0], True).entry, "initcheck"] = Seen("hangs", (Report("Uninitialized", (3,), None),))
    assert planted_main.about_twins(verdicts, seen) == [f"twin of {KERNELS[0].name}, initcheck: hangs Uninitialized"]
    assert planted_main.sanitizer_table(verdicts, seen).splitlines()[2].endswith("| 0 | 1 | 0 |")
    json.dumps(planted_main.document(verdicts, seen))


def test_what_is_left_when_time_is_up_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_its_place(tmp_path, monkeypatch)
    monkeypatch.setattr(sanitizer, "WHOLE_LIMIT", 0.0)
    assert {seen.status for seen in sanitizer.examine(KERNELS, "sm_90").values()} == {"not run"}


def test_a_sanitizer_that_cannot_work_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_its_place(tmp_path, monkeypatch, "broken")
    with pytest.raises(PtxgenError, match="Device not supported"):
        sanitizer.examine(KERNELS[:1], "sm_90")


def test_without_a_sanitizer_the_emulators_table_stands_and_the_rest_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sanitizer.os, "access", lambda *_: False)
    path = tmp_path / "verdicts.json"
    assert planted_main.main(["--sanitizer", "--only", "misaligned/", "--json", str(path)]) != 0
    shown = capsys.readouterr()
    assert "| misaligned | 10 | 10 | 10 | 10 | 0 | 0 |" in shown.out
    assert "compute-sanitizer is not here" in shown.err
    assert all(kernel["right"] for kernel in json.loads(path.read_text())["kernels"].values())


def test_a_wrong_verdict_counts_as_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = next(kernel for kernel in all_planted() if kernel.name.endswith("global_null_pointer"))
    moved = planted(kernel.faulty.replace("// fault", "\n\t// fault"), kernel.name, kernel.kind)
    monkeypatch.setattr(planted_main, "all_planted", lambda: [moved])
    assert planted_main.main([]) == 1
    assert "| out-of-bounds | 1 | 1 | 0 | 1 | 0 | 0 |" in capsys.readouterr().out


@pytest.mark.parametrize(("mode", "expected", "status"), [
    ("", ["ready", "begin 0", "end 0 done", "begin 1", "end 1 CUDA_ERROR_INVALID_VALUE", "begin 2",
          "end 2 done"], 0),
    ("lost", ["ready", "begin 0", "end 0 done", "begin 1", "end 1 CUDA_ERROR_INVALID_VALUE"], 3),
    ("none", ["no-gpu CUDA_ERROR_NO_DEVICE: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"], 2),
])
def test_the_worker_says_what_it_does(tmp_path: Path, mode: str, expected: list[str], status: int) -> None:
    (tmp_path / "code").write_bytes(b"code")
    numbers = base64.b64encode(np.ones(4, "f4").tobytes()).decode()
    arguments = [
        {"kind": "buffer", "data": numbers, "offset": 4, "initialised": True},
        {"kind": "buffer", "data": numbers, "offset": 0, "initialised": False},
        {"kind": "scalar", "data": base64.b64encode(np.uint32(4).tobytes()).decode()},
    ]
    plan = [
        {"entry": "add_one", "code": str(tmp_path / "code"), "format": "cubin", "grid": [1, 1, 1],
         "block": [threads, 1, 1],
         "shared_bytes": 0, "arguments": arguments}
        for threads in (1, 2048, 1)
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan), encoding="ascii")
    made = subprocess.run(
        [sys.executable, "-P", worker.__file__, str(path)], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(FAKE_CUDA), "FAKE_CUDA": mode},
    )
    assert made.stdout.splitlines() == expected, made.stderr
    assert made.returncode == status
