"""What is said of an opcode that is no form: the one change that would make it one."""

from __future__ import annotations

import pytest

from ptxgen.isa import Mismatch, load_table

TABLE = load_table()


@pytest.mark.parametrize(
    ("opcode", "code", "message", "hint"),
    [
        # something is missing
        ("fma.f32", "missing-rounding", "one of .rn .rz .rm .rp", "write fma.rn.f32"),
        ("cvt.s32.f32", "missing-rounding", "one of .rzi", "write cvt.rzi.s32.f32"),
        ("ex2.f32", "missing-rounding", ".approx", "write ex2.approx.f32"),
        ("mul.u32", "missing-modifier", ".lo .hi .wide", "write mul.lo.u32"),
        ("ld.acquire.global.u32", "missing-modifier", ".gpu .cta", "write ld.acquire.gpu.global.u32"),
        ("atom.global.add.f16", "missing-modifier", ".noftz", "write atom.global.add.noftz.f16"),
        ("brx", "missing-modifier", ".idx", "write brx.idx"),
        # something is in its place
        ("setp.lt.b32", "bad-modifier", ".lt does not go with setp.b32", "put one of .eq .ne in its place"),
        ("setp.lo.s32", "bad-modifier", ".lo does not go with setp.s32", ".lt"),
        ("atom.global.min.f32", "bad-modifier", ".min does not go with atom.global.f32", ".add"),
        ("atom.global.add.s64", "bad-modifier", ".add does not go with atom.global.s64", ".u64"),
        ("mul.wide.u64", "bad-modifier", ".wide does not go with mul.u64", ".lo .hi"),
        ("cvt.rn.s32.f32", "bad-modifier", ".rn does not go with cvt.s32.f32", ".rzi"),
        ("vote.sync.all.b32", "bad-modifier", ".all does not go with vote.sync.b32", ".ballot"),
        ("mma.sync.aligned.m16n16k16.row.col.f32.f16.f16.f32", "bad-modifier", ".m16n16k16", ".m16n8k16"),
        # something is too much
        ("cvt.rn.f64.f32", "bad-modifier", ".rn does not go with cvt.f64.f32", "leave it out"),
        ("min.ftz.f64", "bad-modifier", ".ftz does not go with min.f64", "leave it out"),
        ("ld.global.shared.u32", "bad-modifier", ".global does not go with ld.shared.u32", "leave it out"),
        ("ld.global.v3.f32", "bad-modifier", ".v3 does not go with ld.global.f32", ".v2"),
        # the type is wrong: those of its width come first
        ("add.b32", "bad-modifier", "add does not exist for .b32", "it takes .u32 .s32"),
        ("shl.u64", "bad-modifier", "shl does not exist for .u64", "it takes .b64"),
        ("ret.s32", "bad-modifier", "ret does not exist for .s32", "leave the type out"),
        # leading words
        ("mul.u32.lo", "modifier-order", ".lo must follow mul directly", "write mul.lo.u32"),
        # nothing near
        ("add.nonsense.rubbish.u32", "bad-modifier", "no modifier .nonsense", "did you mean add.u32?"),
        ("syncthreads", "unknown-opcode", "syncthreads", "did you mean bar?"),
    ],
)
def test_the_change_that_would_do(opcode: str, code: str, message: str, hint: str) -> None:
    found = TABLE.match(opcode)
    assert isinstance(found, Mismatch)
    assert found.code == code
    assert message in found.message
    assert hint in found.hint


@pytest.mark.parametrize("name", sorted(TABLE.instructions))
def test_every_instruction_can_be_explained(name: str) -> None:
    for opcode in (f"{name}.nonsense", f"{name}.ftz.sat.wide.v4.u7", f"{name}.f32.f32.f32.f32"):
        found = TABLE.match(opcode)
        assert isinstance(found, Mismatch)
        assert found.message


@pytest.mark.parametrize(
    ("opcode", "found"),
    [
        ("add.finite.u32", "add.u32"), ("add.u32.rank", "add.u32"), ("add.sat.normal.sat.s32", "add.sat.s32"),
        ("testp.finite.rank.f32", "testp.finite.f32"), ("bar.sync.sync", "bar.sync"),
        ("add.finite.infinite.u32", ""), ("add.finite.finite.u32", ""), ("testp.finite.normal.f32", ""),
        ("add.lo.u32", ""),
    ],
)  # fmt: skip
def test_modifiers_that_mean_nothing(opcode: str, found: str) -> None:
    taken = TABLE.candidates(opcode)
    assert {expansion.opcode for expansion in taken} == ({found} if found else set())
    assert all(expansion.form.undocumented for expansion in taken)
