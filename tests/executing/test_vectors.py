"""What an H200 gave for every form that a kernel can show; the emulator gives the same.

The records are made by `python -m bench.vectors record` on a machine with a GPU (bench/README.md).
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache

import numpy as np
import pytest

from bench.vectors import examples
from bench.vectors.__main__ import ARCH, FOLDER, by_instruction, examples_record
from bench.vectors.comparing import differences
from bench.vectors.inputs import FORMATS, column, every_word, word_bits
from bench.vectors.kernels import Vector, every_form, form_key, run
from bench.vectors.recording import Record, fingerprint, read_record, write_outputs, write_record
from bench.vectors.replaying import replay, replay_examples
from bench.vectors.reporting import Tally, standing
from bench.vectors.unshown import UNSHOWN
from ptxgen.executing import Executor
from ptxgen.executing.emulator import Emulator
from ptxgen.isa import load_table

RECORDED = sorted(path.stem for path in FOLDER.glob("*.zip"))
EMULATOR = Emulator()
#: Vectors of an instruction that the tests replay without `-m slow`; `python -m bench.vectors replay` takes them all.
_MOST = 80
_ANEW = "python -m bench.vectors replay -o docs/vectors.md"


@cache
def vectors() -> dict[str, list[Vector]]:
    return by_instruction()


def test_every_form_is_recorded_as_it_is_now() -> None:
    missing = []
    for name, every in vectors().items():
        record = read_record(FOLDER / f"{name}.zip") if name in RECORDED else Record("", {}, {})
        missing += [v.name for v in every if record.inputs.get(v.name) != fingerprint(v)]
    assert not missing, f"{len(missing)} vectors, among them {missing[:5]}; python -m bench.vectors record, on a GPU"
    assert set(RECORDED) <= vectors().keys(), "records of instructions that are gone"


def test_every_form_that_the_emulator_runs_and_the_gpu_has_is_shown_or_listed() -> None:
    shown = {form_key(form) for some in vectors().values() for one in some for form in (one.expansion, *one.others)}
    every = {form_key(expansion) for expansion in every_form(load_table(), ARCH)}
    assert not sorted(every - shown - UNSHOWN.keys()), "a vector is to show them, or unshown.py says why not"
    assert UNSHOWN.keys() <= every - shown


@pytest.mark.parametrize("name", RECORDED)
def test_the_emulator_gives_what_the_gpu_gave(name: str) -> None:
    """Of instructions that have many vectors every second, third or fourth; neighbours differ in one modifier."""
    step = -(-len(vectors()[name]) // _MOST)
    assert_the_same(name, vectors()[name][::step])


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_the_emulator_gives_all_of_what_the_gpu_gave(name: str) -> None:
    assert_the_same(name, vectors()[name])


def assert_the_same(name: str, some: list[Vector]) -> None:
    tally = replay(some, read_record(FOLDER / f"{name}.zip"), EMULATOR)
    assert tally.vectors > 0
    assert not tally.troubles, "\n".join(tally.troubles[:10])


def test_kernels_of_the_examples_give_what_the_gpu_gave_and_the_oracle_says() -> None:
    record = read_record(examples_record(FOLDER))
    every = list(examples.examples())
    assert [one.name for one in every] == list(record.inputs), "python -m bench.vectors record examples, on a GPU"
    tallies, troubles = replay_examples(every, record, EMULATOR)
    assert not troubles
    assert {path.stem for folder in examples.FOLDERS for path in folder.glob("*.ptx")} == tallies.keys()


def test_a_wrong_example_is_found(tmp_path) -> None:
    """A byte that is not what the emulator gives; and what the oracle refuses, where bytes may differ."""
    for title in ("saxpy 1", "softmax 1"):
        example = next(one for one in examples.examples() if one.name == title)
        output, _ = examples.run(example, EMULATOR)
        assert output is not None
        wrong = output.copy()
        wrong[0, 6] ^= 0x40
        path = write_outputs(tmp_path / "a.zip", "a test", [(title, example.fingerprint, wrong)])
        tallies, troubles = replay_examples([example], read_record(path), EMULATOR)
        assert troubles
        assert tallies[title.split()[0]].same == 0


def test_the_page_about_them_is_current() -> None:
    """Forms, vectors and rows of the table's lines, and what is said of the forms."""
    text = (FOLDER.parents[2] / "docs/vectors.md").read_text(encoding="utf-8")
    lines = {line.split(" | ")[0].strip("| "): line.strip("| \n").split(" | ")[1:] for line in text.splitlines()
             if line.startswith("| ")}  # fmt: skip
    for name, every in vectors().items():
        forms = {form.form.syntax for one in every for form in (one.expansion, *one.others)}
        expected = Tally(forms, len(every)).cells()[:2]
        assert lines[name][:2] == [f"{number:,}" for number in expected], _ANEW
        assert lines[name][-1] == "0"
    every_vector = [one for some in vectors().values() for one in some]
    for why, counts in standing(load_table(), ARCH, every_vector).items():
        assert lines[why] == [f"{number:,}" for number in counts], _ANEW
    for path in (path for folder in examples.FOLDERS for path in folder.glob("*.ptx")):
        assert lines[path.stem][-2:] == ["0", "0"]


@pytest.mark.parametrize("seen", ["fault", "printed"])
def test_how_a_launch_ends_is_seen(seen: str) -> None:
    """Another end than the recorded one is trouble, as is none."""
    ending = [one for some in vectors().values() for one in some if one.seen == seen]
    assert ending
    for vector in ending:
        output, _ = run(vector, EMULATOR)
        assert output is not None
        other = np.frombuffer(output.tobytes()[:-1] + b"?", np.uint8).reshape(1, -1)
        for theirs, differs in ((output, False), (other, True), (other[:, :3], True)):
            record = Record("", {vector.name: fingerprint(vector)}, {vector.name: theirs})
            assert bool(replay([vector], record, EMULATOR).troubles) == differs


def test_a_launch_that_should_fail_and_does_not_has_no_output() -> None:
    vector = next(one for one in vectors()["trap"])
    harmless = dataclasses.replace(vector, ptx=vector.ptx.replace("trap;", "membar.cta;"))
    assert run(harmless, EMULATOR)[0] is None
    assert run(dataclasses.replace(vector, seen="out"), EMULATOR)[0] is None


@pytest.mark.gpu
@pytest.mark.parametrize("name", RECORDED)
def test_a_gpu_gives_what_was_recorded(gpu: Executor, name: str) -> None:
    record = read_record(FOLDER / f"{name}.zip")
    for vector in vectors()[name][::8]:
        output, why = run(vector, gpu)
        assert output is not None, f"{vector.name}: {why}"
        assert not len(differences(vector, output, record.outputs[vector.name])), vector.name


def test_a_wrong_word_is_found(tmp_path) -> None:
    """One bit of one row of an exact vector, and an error of an approximate one past its bound."""
    for name, type_name in (("add", "u32"), ("ex2", "f32")):
        vector = next(v for v in vectors()[name] if v.expansion.type == type_name)
        output, _ = run(vector, EMULATOR)
        assert output is not None
        wrong = output.copy()
        row = 3 if name == "add" else int(np.flatnonzero(output[:, 3] == 0x3F)[0])
        wrong[row, 2] ^= 0x10
        path = write_record(tmp_path, name, "a test", [(vector, wrong)])
        tally = replay([vector], read_record(path), EMULATOR)
        assert tally.differing == 1, tally.troubles


@pytest.mark.parametrize(("opcode", "ours", "theirs", "near"), [
    ("tanh.approx.f16x2", 0xBA180000, 0xBA170000, True), ("tanh.approx.f16x2", 0xBA180000, 0xBA160000, False),
    ("tanh.approx.f16", 0x7FFF, 0x7E01, False), ("tanh.approx.bf16", 0x3F43, 0x3F42, True),
    ("tanh.approx.bf16", 0x3F43, 0x3F41, False), ("ex2.approx.f16", 0x3C00, 0x3BFF, True),
    ("ex2.approx.f16", 0x3C00, 0x3BFC, False), ("ex2.approx.f16", 0x7C00, 0x7BFF, False),
    ("ex2.approx.f32", 0x7F800000, 0x3F800000, False), ("rsqrt.approx.f64", 1 << 62, (1 << 62) + 1, True),
    ("rsqrt.approx.f64", 1 << 62, (1 << 62) + 2, False), ("add.f32", 0x3F800000, 0x3F800001, False),
])
def test_approximations_may_differ_by_what_the_manual_allows(opcode: str, ours: int, theirs: int, near: bool) -> None:
    vector = next(v for v in vectors()[opcode.split(".")[0]] if v.expansion.opcode == opcode)
    size = sum(vector.result_bits) // 8
    rows = [np.frombuffer(word.to_bytes(size, "little"), np.uint8).reshape(1, -1) for word in (ours, theirs)]
    assert (len(differences(vector, *rows)) == 0) == near


def test_a_record_of_another_kernel_is_no_record(tmp_path) -> None:
    first, second = vectors()["add"][:2]
    output, _ = run(first, EMULATOR)
    assert output is not None
    path = write_record(tmp_path, "add", "a test", [(first, output)])
    assert replay([second], read_record(path), EMULATOR).troubles
    whole = path.read_bytes()
    for damaged in (whole[:200], b"", whole[:60] + bytes(40) + whole[100:], whole[:400] + bytes(40) + whole[440:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="no record"):
            read_record(path)


@pytest.mark.parametrize("type_name", [*FORMATS, "f16x2", "e4m3x4", "b8", "u16", "s32", "b64", "pred"])
def test_words_fit_their_type_and_show_its_edges(type_name: str) -> None:
    words = column("a name", type_name, 4096)
    assert (words >> np.uint64(min(word_bits(type_name), 63))).max() <= (1 if word_bits(type_name) == 64 else 0)
    assert (words == column("a name", type_name, 4096)).all()
    assert (words != column("another", type_name, 4096)).any()
    if type_name in FORMATS:
        exponent, fraction = FORMATS[type_name]
        exponents = words >> np.uint64(fraction) & np.uint64((1 << exponent) - 1)
        assert {0, (1 << exponent) - 1} <= set(exponents.tolist())


def test_every_word_is_every_word() -> None:
    assert len(set(every_word(16).tolist())) == 1 << 16


@pytest.mark.parametrize(("instruction", "name"), [
    ("bar", "bar.sync a"), ("bar", "bar.warp.sync membermask"), ("barrier", "barrier.cluster.wait.acquire"),
    ("fence", "fence.acq_rel.gpu"), ("fence", "fence.release.cta"), ("mbarrier", "mbarrier.inval.shared.b64 addr"),
    ("cp", "cp.async.wait_all"), ("cp", "cp.async.cg.shared.global dst, src, cp_size"),
    ("cp", "cp.async.bulk.global.shared::cta.bulk_group dstMem, srcMem, size"),
    ("mapa", "mapa.u64 d u64, a u64, b u32"), ("redux", "redux.sync.add.s32"), ("exit", "exit"),
    ("shfl", "shfl.sync.bfly.b32"), ("stackrestore", "stackrestore.u64 a"),
])
def test_a_whole_kernel_shows_its_form(instruction: str, name: str) -> None:
    """Without the form's statements it ends in a fault or gives something else."""
    vector = next(one for one in vectors()[instruction] if one.name.startswith(name) and "tile[8192]" in one.ptx)
    opcode = vector.expansion.opcode.replace(".", r"\.")
    without = re.sub(rf"(?<![\w.])(@!?%p\d+ )?{opcode}(?![\w.:])[^;\n]*;", "", vector.ptx)
    assert without != vector.ptx
    whole, why = run(vector, EMULATOR)
    assert whole is not None, why
    lacking, _ = run(dataclasses.replace(vector, ptx=without), EMULATOR)
    assert lacking is None or (lacking != whole).any()
