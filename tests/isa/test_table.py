"""The shipped table: known facts, and that its views agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.errors import UsageError
from ptxgen.isa import Expansion, Mismatch, load_table
from ptxgen.isa.conformance import covering

TABLE = load_table()
COVERING = covering(TABLE)
REG, IMM, ADDRESS = frozenset({"reg"}), frozenset({"imm"}), frozenset({"address"})


def test_every_expansion_is_found_by_its_own_opcode():
    for expansion in COVERING:
        found = TABLE.candidates(expansion.opcode)
        assert any(f.operands == expansion.operands and f.form == expansion.form for f in found), expansion.opcode
        shapes = [operand.kinds for operand in expansion.operands]
        assert isinstance(TABLE.match(expansion.opcode, shapes), Expansion), expansion.opcode


@given(st.data())
def test_modifiers_may_stand_in_any_order_but_types_keep_theirs(data):
    expansion = data.draw(st.sampled_from(COVERING))
    row = next(row for row in TABLE.data.rows[expansion.name] if row.form == expansion.form)
    name, *modifiers = expansion.opcode.split(".")
    first = [expansion.slots[slot.name] for slot in row.slots[: row.leading] if slot.name in expansion.slots]
    rest = modifiers[len(first) :]
    queues = {row.order_of(word): iter([w for w in rest if row.order_of(w) == row.order_of(word)]) for word in rest}
    shuffled = data.draw(st.permutations(rest))
    written = [name, *first, *(next(queues[row.order_of(w)]) if row.order_of(w) else w for w in shuffled)]
    assert expansion.opcode in {found.opcode for found in TABLE.candidates(".".join(written))}


@pytest.mark.parametrize(
    ("opcode", "right"),
    [
        ("mul.u32.lo", "mul.lo.u32"),
        ("shf.wrap.l.b32", "shf.l.wrap.b32"),
        ("dp2a.s32.lo.u32", "dp2a.lo.s32.u32"),
        ("div.f32.full", "div.full.f32"),
        ("bar.sync.cta", "bar.cta.sync"),
        ("barrier.aligned.cluster.wait", "barrier.cluster.wait.aligned"),
        ("cvta.global.to.u64", "cvta.to.global.u64"),
        ("mbarrier.shared.init.b64", "mbarrier.init.shared.b64"),
        ("tcgen05.cta_group::1.ws.mma.kind::f16", "tcgen05.mma.ws.cta_group::1.kind::f16"),
    ],
)
def test_leading_words_are_a_part_of_the_name(opcode, right):
    found = TABLE.match(opcode)
    assert isinstance(found, Mismatch)
    assert found.code == "modifier-order"
    assert found.hint == f"write {right}"
    assert isinstance(TABLE.match(right), Expansion)


@pytest.mark.parametrize(
    ("opcode", "count", "name", "attribute", "expected"),
    [
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", 6, "imm-scale-a", "values", (-1, 1)),
        ("tcgen05.alloc.cta_group::1.sync.aligned.b32", 2, "nCols", "values", (32, 64, 128, 256, 512)),
        ("vadd.u32.u32.u32", 3, "d", "selector", ""),
        ("vadd.u32.u32.u32", 4, "d", "selector", "part"),
        ("vadd.u32.u32.u32.add", 4, "d", "selector", ""),
        ("vadd4.u32.u32.u32", 4, "d", "selector", "mask4"),
        ("vset2.u32.u32.lt", 4, "b", "selector", "pick2"),
        ("clmad.lo.u64", 4, "a", "type", "u64"),
        ("mul.f16x2.f16x2.bf16x2", 3, "c", "type", "bf16x2"),
        ("add.e4m3x4.e2m1x4", 3, "a", "type", "e2m1x4"),
    ],
)
def test_operands(opcode, count, name, attribute, expected):
    found = next(e for e in TABLE.candidates(opcode) if len(e.operands) == count)
    assert getattr(next(o for o in found.operands if o.name == name), attribute) == expected


@pytest.mark.parametrize(("opcode", "sinks"), [("setp.eq.f32", (True, True)), ("elect.sync", (True, False)),
                                              ("match.all.sync.b32", (True, True)), ("lop3.or.b32", (True, False))])
def test_results_of_a_pair_that_may_be_discarded(opcode, sinks):
    parts = next(e.operands[0].parts for e in TABLE.candidates(opcode) if e.operands[0].parts)
    assert tuple("sink" in part.kinds for part in parts) == sinks


@pytest.mark.parametrize(
    ("opcode", "arch", "ptx", "there"),
    [
        ("add.sat.u16x2", "sm_120f", "9.2", True),
        ("add.sat.u16x2", "sm_100a", "9.5", False),
        ("set.ge.s16x2", "sm_107f", "9.4", True),
        ("add.e5m2x4.e4m3x4", "sm_103a", "9.4", True),
        ("add.e5m2x4.e4m3x4", "sm_107a", "9.5", False),
        ("redux.sync.min.f32", "sm_107a", "9.4", True),
        ("tcgen05.mma.cta_group::1.kind::ti16", "sm_107f", "9.4", True),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.collector::b::fill", "sm_107a", "9.4", True),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.collector::b::fill", "sm_107f", "9.4", False),
        ("atom.global.add.noftz.f32", "sm_90", "9.4", True),
        ("atom.global.add.noftz.f32", "sm_90", "9.3", False),
        ("fence.proxy.alias.acquire.sys", "sm_90", "9.4", True),
    ],
)
def test_what_new_versions_brought(opcode, arch, ptx, there):
    reasons = [TABLE.unavailable(found, arch, ptx) for found in TABLE.candidates(opcode)]
    assert reasons
    assert (None in reasons) == there


def test_layouts_and_spaces_keep_their_order():
    assert isinstance(TABLE.match("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), Expansion)
    assert isinstance(TABLE.match("mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32"), Mismatch)
    assert isinstance(TABLE.match("cp.async.ca.shared.global"), Expansion)
    assert isinstance(TABLE.match("cp.async.ca.global.shared"), Mismatch)


def test_words_that_fit_several_slots_keep_their_order():
    right = TABLE.match("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64")
    assert isinstance(right, Expansion)
    assert right.slots["level::primary_priority"] == "L2::evict_last"
    assert isinstance(TABLE.match("createpolicy.fractional.L2::evict_unchanged.L2::evict_last.b64"), Mismatch)
    assert isinstance(TABLE.match("ld.global.L2::evict_first.L1::evict_last.v4.b64"), Expansion)


def test_operands_raise_what_a_form_needs():
    plain, sampled = "tex.2d.v4.f32.f32", [frozenset({"pair"}), frozenset({"address"})]
    alone = TABLE.match(plain, [frozenset({"vector"}), frozenset({"address"})])
    paired = TABLE.match(plain, sampled)
    assert isinstance(alone, Expansion)
    assert isinstance(paired, Expansion)
    assert str(alone.availability.ptx) < str(paired.availability.ptx) == "7.1"


def test_constants_in_steps_and_results_that_are_only_discarded():
    copy = TABLE.match("cp.async.bulk.prefetch.L2.global")
    arrive = TABLE.match("mbarrier.arrive.shared::cluster.b64")
    assert isinstance(copy, Expansion)
    assert isinstance(arrive, Expansion)
    assert (copy.operands[1].low, copy.operands[1].high, copy.operands[1].step) == (0, 1048560, 16)
    assert arrive.operands[0].kinds == {"sink"}


@pytest.mark.parametrize(
    ("opcode", "sizes"),
    [
        ("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes", [5]),
        ("cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes", [3]),
        ("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.override::global_address.override::global_dim_stride",
         [1, 3, 2, 1, 3]),
    ],
)  # fmt: skip
def test_parts_of_tensor_addresses(opcode, sizes):
    found = TABLE.match(opcode)
    assert isinstance(found, Expansion)
    tensor = next(operand for operand in found.operands if operand.parts)
    assert [part.vector for part in tensor.parts] == sizes


@pytest.mark.parametrize("opcode", ["add.sat.sat.s32", "ex2.approx.approx.f32", "bar.sync.sync", "max.NaN.NaN.f32"])
def test_some_modifiers_may_be_said_again(opcode):
    found = TABLE.match(opcode)
    assert isinstance(found, Expansion)
    assert found.form.undocumented


@pytest.mark.parametrize("opcode", ["add.rn.rn.f32", "add.ftz.ftz.f32", "ld.global.global.f32", "setp.eq.eq.f32"])
def test_most_may_not(opcode):
    assert isinstance(TABLE.match(opcode), Mismatch)


def test_the_order_of_types_matters():
    assert isinstance(TABLE.match("cvt.f64.f32"), Expansion)
    assert isinstance(TABLE.match("cvt.f32.f64"), Mismatch)


@pytest.mark.parametrize(
    ("opcode", "shapes", "code", "said"),
    [
        ("exp.f32", None, "unknown-opcode", "exp"),
        ("sqrt.f32", None, "missing-rounding", ".rn"),
        ("fma.f32", None, "missing-rounding", ".rn"),
        ("div.f32", None, "missing-rounding", ".approx"),
        ("cvt.s32.f32", None, "missing-rounding", ".rzi"),
        ("cvt.f32.f64", None, "missing-rounding", ".rn .rz .rm .rp"),
        ("cvt.rn.f32.f16", None, "bad-modifier", ".rn does not go with cvt.f32.f16"),
        ("cvt.rn.s64.s32", None, "bad-modifier", ".rn does not go with cvt.s64.s32"),
        ("add.rz.f16", None, "bad-modifier", ".rz does not go with add.f16"),
        ("atom.global.add.f16", None, "missing-modifier", ".noftz"),
        ("mul.s32", None, "missing-modifier", ".lo"),
        ("add", None, "missing-type", ".u32"),
        ("and.s32", None, "bad-modifier", ".s32"),
        ("add.b32", None, "bad-modifier", ".b32"),
        ("add.rn.s32", None, "bad-modifier", ".rn"),
        ("setp.lo.s32", None, "bad-modifier", "setp"),
        ("cvt.rn.f64.f32", None, "bad-modifier", "cvt"),
        ("add.f32", [REG, REG], "operand-count", "3 operands"),
        ("ld.global.f32", [REG, REG], "operand-kind", "operand 2"),
        ("add.f32", [IMM, REG, REG], "operand-kind", "operand 1"),
    ],
)
def test_mismatches_say_what_is_missing(opcode, shapes, code, said):
    found = TABLE.match(opcode, shapes)
    assert isinstance(found, Mismatch)
    assert found.code == code
    assert said in found.message + found.hint


def test_names_of_unknown_nature_fit_wherever_names_stand():
    name = frozenset({"symbol", "label", "function"})
    for opcode, shapes in (("bra", [name]), ("brx.idx", [REG, name]), ("call", [REG, name]), ("call", [name])):
        assert isinstance(TABLE.match(opcode, shapes), Expansion), opcode
    assert isinstance(TABLE.match("setp.eq.s32", [REG, REG, IMM]), Expansion)


def test_nearest_names():
    assert TABLE.nearest("exp")[0] == "ex2"
    assert TABLE.nearest("log2.f32")[0] == "lg2"
    assert TABLE.nearest("lt2.f32")[0] == "lg2"
    assert set(TABLE.data.surroundings.meant.values()) <= TABLE.instructions.keys()
    assert "fma.rn.f32" in TABLE.nearest("fma.f32")
    assert "ld.global.f32" in TABLE.nearest("ld.global.f33")
    for expansion in COVERING[::7]:
        for near in TABLE.nearest(expansion.opcode[:-1]):
            assert TABLE.candidates(near) or near in TABLE.instructions


def operand(opcode, index, count=None):
    found = [e for e in TABLE.candidates(opcode) if count is None or len(e.operands) == count]
    return found[0].operands[index]


def test_operands_that_break_the_convention():
    assert operand("mul.wide.u32", 0).type == "u64"
    assert operand("mul.wide.u32", 1).type == "u32"
    assert operand("mad.wide.s16", 3).type == "s32"
    assert operand("shl.b64", 2).type == "u32"
    assert operand("popc.b64", 0).type == "u32"
    assert operand("cvt.rn.f16.f32", 0).type == "f16"
    assert operand("cvt.rn.f16.f32", 1).type == "f32"
    assert operand("setp.lt.and.f32", 3).kinds == {"pred", "not-pred"}
    assert operand("ld.global.v4.f32", 0).kinds == {"vector"}
    assert operand("ld.global.v4.f32", 0).vector == 4
    assert operand("ld.shared.u8", 0).wider
    assert operand("ld.shared.u8", 1).space == "shared"
    assert operand("ld.u8", 1).space == ""
    assert operand("st.global.f32", 0).access == "write"
    assert operand("atom.global.add.u32", 1).access == "update"
    assert "imm" not in operand("add.f16", 1).kinds
    assert {"special", "symbol"} <= operand("mov.u32", 1).kinds
    assert (operand("lop3.b32", 4).low, operand("lop3.b32", 4).high) == (0, 255)
    assert operand("bar.sync", 0, 1).high == 15
    assert [len(e.operands) for e in TABLE.candidates("bar.sync")] == [1, 2]


def test_commutative_where_true():
    assert all(TABLE.candidates(op)[0].commutative for op in ("add.f32", "mul.wide.u32", "fma.rn.f64", "and.b32"))
    assert not any(TABLE.candidates(op)[0].commutative for op in ("sub.f32", "shl.b32", "div.rn.f32", "selp.f32"))


@pytest.mark.parametrize(
    ("opcode", "arch", "ptx", "reason"),
    [
        ("add.f32", "sm_80", "7.0", None),
        ("add.bf16", "sm_80", "8.0", "needs sm_90 or newer"),
        ("add.bf16", "sm_90", "7.8", None),
        ("tanh.approx.f32", "sm_75", "6.5", "needs PTX 7.0 or newer"),
        ("ld.global.v8.f32", "sm_90", "8.8", "needs sm_100 or newer"),
        ("ld.global.v8.f32", "sm_100", "8.8", None),
        ("ld.global.v4.f32", "sm_80", "7.0", None),
        ("shfl.down.b32", "sm_75", "6.4", "was removed in PTX 6.4 for sm_70 and newer"),
        ("shfl.down.b32", "sm_75", "6.3", None),
        ("add.f32", "sm_90", "7.0", "sm_90 needs PTX 7.8 or newer"),
        ("redux.sync.min.f32", "sm_100", "8.8", "needs sm_100f"),
        ("redux.sync.min.f32", "sm_100a", "8.6", None),
        ("redux.sync.min.f32", "sm_103f", "8.8", None),
        ("redux.sync.min.f32", "sm_120f", "8.8", "needs sm_100f"),
        ("setmaxnreg.inc.sync.aligned.u32", "sm_90", "8.0", "needs sm_90a or sm_100f or sm_110f or sm_120f"),
        ("setmaxnreg.inc.sync.aligned.u32", "sm_121a", "8.8", None),
    ],
)
def test_availability(opcode, arch, ptx, reason):
    expansion = TABLE.match(opcode)
    assert isinstance(expansion, Expansion)
    assert TABLE.unavailable(expansion, arch, ptx) == reason


def test_targets():
    assert str(TABLE.lowest_ptx("sm_80")) == "7.0"
    assert TABLE.target("sm_90a").variant == "a"
    with pytest.raises(UsageError) as caught:
        TABLE.target("sm_9")
    assert "sm_90" in caught.value.fix


@pytest.mark.parametrize(
    ("opcode", "index", "register", "allowed"),
    [
        ("add.f32", 1, "b32", True),
        ("add.f32", 1, "u32", False),
        ("add.u32", 1, "f32", False),
        ("add.s32", 1, "u32", True),
        ("and.b32", 1, "f32", True),
        ("mov.f32", 0, "b32", True),
        ("add.f16", 1, "b16", True),
        ("add.f16", 1, "f16", True),
        ("add.f16", 1, "u16", False),
        ("add.bf16", 1, "f16", False),
        ("add.f16x2", 1, "b32", True),
        ("add.f16x2", 1, "u32", False),
        ("shl.b64", 2, "b32", True),
        ("shl.b64", 2, "b64", False),
        ("ld.global.f32", 0, "b64", True),
        ("ld.global.f32", 0, "f64", False),
        ("ld.global.f32", 0, "u64", False),
        ("ld.global.u8", 0, "b32", True),
        ("ld.global.u8", 0, "f32", False),
        ("ld.global.b16", 0, "f32", True),
        ("ld.global.u32", 0, "b16", False),
        ("cvt.f32.f16", 1, "b32", True),
        ("cvt.f32.bf16", 1, "b32", False),
        ("setp.eq.s32", 0, "pred", True),
        ("setp.eq.s32", 0, "b32", False),
        ("popc.b64", 0, "b64", False),
    ],
)
def test_which_registers_may_stand_where(opcode, index, register, allowed):
    """Each was put before ptxas."""
    assert TABLE.accepts(operand(opcode, index), register) is allowed


def test_every_instruction_keyword_has_its_forms():
    assert TABLE.instructions.keys() | {"WARP_SZ"} == TABLE.reserved_words


def test_no_word_of_the_vocabulary_is_idle():
    used = {value for name in TABLE.instructions for row in TABLE.rows(name) for value in row.every_value}
    assert TABLE.modifiers.keys() <= used
    assert used <= TABLE.modifiers.keys() | TABLE.types.keys() | TABLE.spaces.keys()


def test_directives():
    assert {"reg", "visible", "maxntid"} <= TABLE.directives
    assert str(TABLE.features[".explicitcluster"].availability.ptx) == "7.8"
    assert TABLE.features[".explicitcluster"].availability.sm == 90


def test_special_registers():
    registers = TABLE.special_registers
    assert registers["%tid.x"].type == "u32"
    assert registers["%clock64"].type == "u64"
    assert registers["%is_explicit_cluster"].type == "pred"
    assert {"%envreg31", "%pm7_64", "%lanemask_lt", "%reserved_smem_offset_1"} <= registers.keys()
    assert set(TABLE.profile_registers) <= registers.keys()


def test_register_classes():
    classes = TABLE.register_classes
    assert [(c.type, c.prefix, c.default) for c in classes.values()] == [
        ("pred", "%p", 16), ("b16", "%rs", 32), ("b32", "%r", 64), ("f32", "%f", 64), ("b64", "%rd", 64),
        ("f64", "%fd", 32),
    ]  # fmt: skip


def test_profile():
    offered = TABLE.offered()
    assert 250 <= len({expansion.opcode for expansion in offered}) <= 700
    for arch in ("sm_75", "sm_80", "sm_90", "sm_100"):
        profile = TABLE.profile(arch)
        assert set(map(id, profile)) <= set(map(id, offered))
        assert all(TABLE.unavailable(expansion, arch, TABLE.lowest_ptx(arch)) is None for expansion in profile)
    opcodes = {expansion.opcode for expansion in TABLE.profile("sm_80")}
    assert {"ld.global.f32", "mad.lo.s32", "setp.ge.u32", "ex2.approx.f32", "bar.sync", "ret"} <= opcodes
    assert "add.bf16" not in opcodes
    assert not any("volatile" in opcode for opcode in opcodes)
    assert len({(e.opcode, e.operands) for e in offered}) == len(offered)
    classes = TABLE.register_classes
    for expansion in offered:
        for each in expansion.operands:
            if "reg" in each.kinds:
                assert any(TABLE.accepts(each, c) for c in classes), (expansion.opcode, each.name)
