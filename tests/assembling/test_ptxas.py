"""Assembling with the real tool, and with pretended ones that crash, hang or babble."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxgen.assembling import Ptxas, ToolCrashed, find_ptxas
from ptxgen.errors import UsageError

Pretend = Callable[..., Path]

KERNEL = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(
	.param .u64 param_x
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 4 .b8 s[128];
	ld.param.u64 %rd1, [param_x];
	mov.u32 %r1, s;
	st.shared.u32 [%r1], %r1;
	st.u32 [%rd1], %r1;
	ret;
}
"""


@pytest.fixture(scope="module")
def real() -> Ptxas:
    return find_ptxas()[0]


def test_an_accepted_kernel_has_a_cubin_and_figures(real: Ptxas) -> None:
    assembly = real.assemble(KERNEL, "sm_80")
    assert assembly.ok
    assert assembly.arch == "sm_80"
    assert assembly.cubin is not None
    assert assembly.cubin.startswith(b"\x7fELF")
    assert assembly.shared_bytes == 128
    assert assembly.spill_bytes == 0
    assert assembly.registers is not None
    assert 1 <= assembly.registers <= 255


def test_a_rejected_kernel_has_messages_at_its_lines(real: Ptxas) -> None:
    assembly = real.assemble(KERNEL.replace("%r1, s;", "%r9, s;").replace("\tret;", "\tbad %r1;"), "sm_80")
    assert not assembly.ok
    assert assembly.cubin is None
    assert assembly.registers is None
    assert {message.line for message in assembly.messages} == {12, 15}


def test_a_target_above_the_architecture_is_a_rejection(real: Ptxas) -> None:
    assembly = real.assemble(KERNEL.replace("sm_80", "sm_90").replace("7.0", "7.8"), "sm_80")
    assert not assembly.ok


@pytest.mark.parametrize("text", ["", "garbage", "\0\1\2", ".version 99.0\n.target sm_80\n", "é\udc80"])
def test_what_is_no_ptx_is_rejected_with_a_reason(real: Ptxas, text: str) -> None:
    assembly = real.assemble(text, "sm_80")
    assert not assembly.ok
    assert assembly.messages


def test_parse_only_targets_are_refused(real: Ptxas) -> None:
    with pytest.raises(UsageError):
        real.assemble(KERNEL, "compute_80")


def _assemble(path: Path, time_limit: float = 20.0) -> object:
    return Ptxas(path, "99.1.2", "test").assemble(KERNEL, "sm_80", time_limit=time_limit)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("kill -SEGV $$", "SIGSEGV"),
        ("kill -ABRT $$", "SIGABRT"),
        ("echo 'ptxas x, line 3; error   : half a'; exit 139", "SIGSEGV"),
        ("exit 255", "no error message"),
        ("echo 'ptxas x, line 3; warning : only this'; exit 255", "no error message"),
        ("exit 0", "no cubin"),
        ("head -c 5000 /dev/urandom; exit 1", "no error message"),
        (
            'while [ $# -gt 0 ]; do [ "$1" = -o ] && echo junk > "$2"; shift; done; exit 0',
            "no cubin",
        ),
    ],
)
def test_no_verdict_is_an_error_that_says_how_it_ended(pretend: Pretend, body: str, why: str) -> None:
    with pytest.raises(ToolCrashed) as caught:
        _assemble(pretend(body))
    assert why in caught.value.why
    assert caught.value.exit_code == 2


def test_a_hanging_one_is_ended_with_its_children(pretend: Pretend, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    tool = pretend(f"sleep 300 & echo $! > {mark}; wait")
    with pytest.raises(ToolCrashed, match="did not finish"):
        _assemble(tool, time_limit=1.0)
    child = int(mark.read_text())
    for _ in range(50):
        if not _alive(child):
            break
        time.sleep(0.1)
    assert not _alive(child)


def test_one_that_vanished_after_it_was_found_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _assemble(tmp_path / "gone")


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{process}")
