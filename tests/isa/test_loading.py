"""A bad table is refused, with the file, the line and the entry."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from ptxgen.data import data_folder
from ptxgen.isa import TableError, check_table, load_table
from ptxgen.isa.loading import read_folder
from ptxgen.isa.model import Expansion
from ptxgen.isa.table import Table

CHAPTER = """\
chapter = "Tests"
section = "tests"

[sets]
float = ".f32 .f64"

[about]
fma = "Test."

[[form]]
syntax = "fma.rnd{.ftz}.type d, a, b, c"
rnd = ".rn .rz"
type = "float"
since = "1.0"
"""


@pytest.fixture
def folder(tmp_path):
    """The shipped surroundings with a chapter of our own."""
    copy = tmp_path / "isa"
    shutil.copytree(data_folder("isa"), copy, ignore=shutil.ignore_patterns("instructions"))
    (copy / "instructions").mkdir()
    profile = 'special_registers = []\n[[group]]\ntitle = "t"\nopcodes = ["fma.rn.f32"]\n'
    (copy / "profile.toml").write_text(profile)
    write(copy, CHAPTER)
    return copy


def write(folder: Path, text: str) -> None:
    (folder / "instructions" / "tests.toml").write_text(text)


def test_the_small_table_is_good(folder):
    table = Table(read_folder(folder))
    assert check_table(table) == 2 * 2 * 2
    assert [form.line for form in table.instructions["fma"].forms] == [10]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('since = "1.0"', "", "needs `syntax` and `since`"),
        ('since = "1.0"', 'since = "1.0"\nwith = { e = "2.0" }', "`with` speaks of 'e'"),
        ('since = "1.0"', 'since = "soon"', "soon"),
        ('since = "1.0"', 'since = "1.0"\nneedz = {}', "'needz' is no key"),
        ('rnd = ".rn .rz"\n', "", "unknown slot or modifier '.rnd'"),
        ('rnd = ".rn .rz"', 'rnd = ".rn .rzz"', "'.rzz'"),
        ('rnd = ".rn .rz"', 'rnd = ".rn .rn"', "twice"),
        ('type = "float"', 'type = "double"', "neither a value like `.f32` nor a set"),
        ("d, a, b, c", "d, a, b, z", "'z' needs a note"),
        ("d, a, b, c", "d, a, b, [c", "brackets"),
        ('since = "1.0"', 'since = "1.0"\noperands = { x = "f32" }', "a note for 'x'"),
        ('since = "1.0"', 'since = "1.0"\noperands = { c = "f33" }', "'f33'"),
        ('since = "1.0"', 'since = "1.0"\noperands = { c = "f32 0..." }', "means nothing"),
        ('since = "1.0"', 'since = "1.0"\nneeds = { ".f16" = "4.2 sm_53" }', "'f16', no value here"),
        ('since = "1.0"', 'since = "1.0"\nnever = ["round=.rn"]', "'round', no slot here"),
        ('since = "1.0"', 'since = "1.0"\nnever = [".f32|.f64"]', "leaves nothing"),
        ('since = "1.0"', 'since = "1.6"', "no PTX version 1.6"),
        ('since = "1.0"', 'since = "2.0 sm_22"', "no target 'sm_22'"),
        ('since = "1.0"', 'since = "8.6 sm_100a sm_104f"', "no target 'sm_104f'"),
        ('since = "1.0"', 'since = "1.0"\nneeds = { ".f64" = "9.9" }', "no PTX version 9.9"),
        ('since = "1.0"', 'since = "1.0"\nremoved = "6.4 sm_71"', "no target 'sm_71'"),
    ],
)
def test_bad_forms_are_refused_where_they_stand(folder, before, after, said):
    assert before in CHAPTER
    write(folder, CHAPTER.replace(before, after))
    with pytest.raises(TableError, match=re.escape(said)) as caught:
        read_folder(folder)
    assert caught.value.where.endswith("tests.toml:10")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('section = "tests"', 'section = "tests"\nleading = ".rn .rz .rp"', "`leading` names 'rp'"),
        ('section = "tests"', 'section = "tests"\nleading = ".f32"', "`leading` names 'f32'"),
        ('section = "tests"', 'section = "tests"\ncommutative = "fmb"', "`commutative` names 'fmb'"),
        ("[sets]", '[sets]\nhalf = ".f16"', "no form uses the set 'half'"),
    ],
)
def test_what_a_file_says_beside_its_forms(folder, before, after, said):
    assert before in CHAPTER
    write(folder, CHAPTER.replace(before, after))
    with pytest.raises(TableError, match=re.escape(said)):
        read_folder(folder)


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ('never = [".rz"]', "no choice shows .rz in the slot 'rnd'"),
        ('never = [".rn .ftz", ".rz .ftz"]', "no choice shows .ftz in the slot 'ftz'"),
        ('never = [".ftz .f64"]\nneeds = { ".ftz .f64" = "2.0" }', "'.ftz .f64' holds for no choice"),
        ('never = [".ftz .f64"]\noperands = { c = "f64 when .ftz .f64; .type" }', "'.ftz .f64' holds for no choice"),
    ],
)
def test_what_no_choice_can_reach(folder, added, said):
    write(folder, CHAPTER + added + "\n")
    table = Table(read_folder(folder))
    with pytest.raises(TableError, match=re.escape(said)) as caught:
        check_table(table)
    assert caught.value.where == "isa/instructions/tests.toml:10"


def test_undocumented_forms_that_are_documented(folder):
    form = '\n[[form]]\nsyntax = "fma{.ftz}.rn.f32 d, a, b, c"\nsince = "2.0 sm_20"\nundocumented = true\n'
    write(folder, CHAPTER + form)
    table = Table(read_folder(folder))
    with pytest.raises(TableError, match="it is documented") as caught:
        check_table(table)
    assert caught.value.where == "isa/instructions/tests.toml:16"
    assert "tests.toml:10" in caught.value.why
    write(folder, CHAPTER + form.replace("fma{.ftz}.rn", "fma{.sat}.rn"))
    assert check_table(Table(read_folder(folder))) == 2 * 2 * 2


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[arithmetic]\n", '[arithmetic]\nrn = "again"\n', "'rn' stands twice"),
        ("[arithmetic]\n", '[arithmetic]\nf32 = "a type"\n', "'f32' cannot be a modifier"),
        ('repeatable = "', 'repeatable = ".again ', "'again', which is no modifier"),
    ],
)
def test_bad_modifiers(folder, before, after, said):
    path = folder / "modifiers.toml"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(TableError) as caught:
        read_folder(folder)
    assert said in str(caught.value) + caught.value.why
    assert "modifiers.toml" in caught.value.where


def test_said_twice(folder):
    form = CHAPTER[CHAPTER.index("[[form]]") :]
    write(folder, CHAPTER + "\n" + form)
    with pytest.raises(TableError, match="twice") as caught:
        read_folder(folder)
    assert caught.value.where.endswith("tests.toml:16")


def test_overlapping_forms(folder):
    overlap = '\n[[form]]\nsyntax = "fma{.ftz}.rnd.f32 d, a, b, c"\nrnd = ".rz .rm"\nsince = "1.0"\n'
    write(folder, CHAPTER + overlap)
    table = Table(read_folder(folder))
    with pytest.raises(TableError, match=r"two forms give fma\.rz\.f32|two forms give fma\.ftz\.rz") as caught:
        check_table(table)
    assert caught.value.where == "isa/instructions/tests.toml:16"
    assert "tests.toml:10" in caught.value.why


def test_profile_patterns_must_reach_something(folder):
    profile = folder / "profile.toml"
    profile.write_text(profile.read_text().replace("fma.rn.f32", "fma.{rn,rp}.f32"))
    with pytest.raises(TableError, match=r"'fma\.rp\.f32' selects nothing"):
        Table(read_folder(folder)).offered()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("types.toml", '[bits]\nb8 = "eight 1.0"\n'),
        ("types.toml", '[sorts]\nb8 = "8 1.0"\n'),
        ("targets.toml", '[targets]\nsm_80 = "seven"\n'),
        ("profile.toml", "special_registers = []\n"),
        ("words.toml", "no toml"),
    ],
)
def test_bad_surroundings(folder, name, text):
    (folder / name).write_text(text)
    with pytest.raises(TableError) as caught:
        read_folder(folder)
    assert name in caught.value.where


@pytest.mark.parametrize(
    ("name", "before", "after", "entry", "said"),
    [
        ("types.toml", "b16  =", "b8 =", "", "verwrite"),
        ("types.toml", "[unsigned]\n", '[unsigned]\nb16 = "16 1.0"\n', "b16", "twice"),
        ("types.toml", 'b16  = "16 1.0"', 'b16 = "16"', "b16", ""),
        ("spaces.toml", "since", "sinse", "", "sinse"),
        ("special-registers.toml", '"u32", since = "1.0",', '"u32",', "%tid", "since"),
        ("special-registers.toml", "summary", "sumary", "%tid", "sumary"),
        ("special-registers.toml", "[registers]\n", '[registers]\n"%tid.x" = { type = "u32", since = "2.0", '
         'summary = "-" }\n', "%tid.<xyzw>", "%tid.x stands twice"),
        ("targets.toml", "sm_70   =", "sm_7x =", "sm_7x", ""),
        ("words.toml", "abs activemask", "abs activemask abs", "abs", "twice"),
        ("words.toml", "reserved", "[reserved", "", "no TOML"),
        ("registers.toml", "default =", "defaul =", "pred", "defaul"),
    ],
)  # fmt: skip
def test_bad_entries_are_refused_where_they_stand(folder, name, before, after, entry, said):
    text = (folder / name).read_text()
    assert before in text
    (folder / name).write_text(text.replace(before, after, 1))
    with pytest.raises(TableError) as caught:
        read_folder(folder)
    told = str(caught.value) + caught.value.why
    assert said in told
    assert entry in told
    where, _, line = caught.value.where.rpartition(":")
    assert where.endswith(name)
    changed = text[: text.index(before)].count("\n") + 1
    assert abs(int(line) - changed) <= 2 or "twice" in told


def test_unknown_keys_and_missing_summaries(folder):
    write(folder, CHAPTER + '\n[abuot]\nfma = "x"\n')
    with pytest.raises(TableError, match="abuot"):
        read_folder(folder)
    write(folder, CHAPTER.replace('fma = "Test."', 'fna = "Test."'))
    with pytest.raises(TableError, match="'fna', which has no form"):
        read_folder(folder)
    write(folder, CHAPTER.replace('fma = "Test."', ""))
    with pytest.raises(TableError, match="'fma' has no line"):
        read_folder(folder)


def test_the_hash_follows_the_data(folder):
    before = read_folder(folder).version
    assert before == read_folder(folder).version
    write(folder, CHAPTER + "# a comment\n")
    assert before != read_folder(folder).version
    assert load_table().version != before


UNDOCUMENTED = """
[[form]]
syntax = "fma{.sat}.rnd.type d, a, b"
rnd = ".rn"
type = "float"
since = "1.0"
undocumented = true
"""


def test_undocumented_forms_are_matched_and_listed_nowhere(folder):
    write(folder, CHAPTER + UNDOCUMENTED)
    table = Table(read_folder(folder))
    assert check_table(table) == 2 * 2 * 2
    assert [form.line for form in table.instructions["fma"].forms] == [10]
    found = table.match("fma.rn.f32", [frozenset({"reg"})] * 3)
    assert isinstance(found, Expansion)
    assert found.form.undocumented
    assert [e.form.undocumented for e in table.candidates("fma.rn.f32")] == [False, True]
    assert len(table.offered()) == 1


def test_an_instruction_needs_a_documented_form(folder):
    write(folder, CHAPTER + "undocumented = true\n")
    with pytest.raises(TableError, match="only undocumented forms"):
        read_folder(folder)
