"""Malformed specs: each is refused with file, line and what would be right, never with a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptxgen.errors import PtxgenError
from ptxgen.spec import SpecError, load_spec, parse_spec
from ptxgen.spec.rules import MAX_REFERENCED

from .samples import VALID, changed

#: what is changed, into what, the line it is told at, a fragment of the message, a fragment of the fix
CASES = [
    ("[kernel]", "[kernal]", 1, "unknown key `kernal`", "`kernel`"),
    ("task =", "taks =", 3, "unknown key `taks` in [kernel]", "`task`"),
    ('access = "in",  shape', 'acess = "in",  shape', 5, "unknown key `acess`", "`access`"),
    ('"f32*", access = "in"', '"f23*", access = "in"', 5, "no type 'f23*'", "`f32*`"),
    ('"f32*", access = "in"', '"float*", access = "in"', 5, "no type 'float*'", ""),
    ('access = "in"', 'access = "read"', 5, "'read' is none of in, out, inout", ""),
    ('access = "out"', 'access = "uot"', 6, "'uot' is none of", "`out`"),
    ('access = "out"', 'access = "in"', 4, "no output", "out"),
    ('  { name = "a",   type = "f32" },\n', '  { name = "x",   type = "f32" },\n', 7, "two parameters", "own name"),
    ('{ name = "a",', '{ name = "exp",', 7, "`exp` cannot name a parameter", "exp_"),
    ('{ name = "a",', '{ name = "lambda",', 7, "`lambda` cannot name", ""),
    ('{ name = "a",', '{ name = "3d",', 7, "'3d' is no name", "letter"),
    ('{ name = "a",   type = "f32" }', '{ name = "a", type = "f32", shape = ["n"] }', 7, "scalar", "f32*"),
    ('"in",  shape = ["n"]', '"in"', 5, "no `shape`", 'shape = ["n"]'),
    ('access = "in",  ', "", 5, "no `access`", "access"),
    ('"in",  shape = ["n"]', '"in",  shape = ["m"]', 5, "`m` is no scalar parameter", ""),
    ('"in",  shape = ["n"]', '"in",  shape = ["a"]', 5, "`a` is f32; a size is an integer", "u32"),
    ('"in",  shape = ["n"]', '"in",  shape = "n"', 5, "must be a list", "brackets"),
    ('"in",  shape = ["n"]', '"in",  shape = ["n ** 2"]', 5, "not size arithmetic", "ceil"),
    ('"in",  shape = ["n"]', '"in",  shape = ["n - 1"]', 5, "extent -1 at n = 0", ""),
    ('name = "scale"', 'name = "9lives"', 2, "no name for a kernel", "letter"),
    ('name = "scale"', 'name = "smem"', 2, "`smem` is a word", "smem_kernel"),
    ('name = "scale"', "name = 7", 2, "`kernel.name`: it should be a valid string", ""),
    ('task = "out[i] = a * x[i] for i < n, one thread per element"\n', "", 1, "`kernel.task` is missing", "add it"),
    ("block = [256]", "block = [2048]", 12, "x dimension is 2048", "1 to 1024"),
    ("block = [256]", "block = [32, 32, 2]", 12, "2048 threads", "1024"),
    ("block = [256]", "block = [1, 1, 65]", 12, "z dimension is 65", "64"),
    ("block = [256]", "block = [8, 8, 8, 8]", 12, "at most 3", ""),
    ("block = [256]", "block = []", 12, "at least 1", ""),
    ("block = [256]", "block = [256.0]", 12, "valid integer", ""),
    ("block = [256]", "block = [true]", 12, "valid integer", ""),
    ('grid  = ["ceil(n / 256)"]', 'grid = ["n / 256"]', 13, "not a whole number", "ceil(n / 256)"),
    ('grid  = ["ceil(n / 256)"]', 'grid = ["ceil(m / 256)"]', 13, "`m` is no scalar", "`n`"),
    ('grid  = ["ceil(n / 256)"]', 'grid = ["ceil(n / 256)", 70000]', 13, "y dimension is 70000", "65535"),
    ('grid  = ["ceil(n / 256)"]', 'grid = ["ceil(n / 0)"]', 13, "divides by zero", ""),
    ('grid  = ["ceil(n / 256)"]', 'grid = ["n - 1"]', 13, "x dimension is -1 at n = 0", "from 0"),
    ('grid  = ["ceil(n / 256)"]', "grid = [9999999999999999999999]", 13, "64 bits", ""),
    ("block = [256]", "block = [256]\nshared_bytes = 999999", 13, "999999", "232448"),
    ("block = [256]", 'block = [256]\nshared_bytes = "4 * a"', 13, "a size is an integer", ""),
    ('arch = "sm_80"', 'arch = "sm_08"', 16, "no target `sm_08`", "sm_"),
    ('arch = "sm_80"', 'arch = ["sm_80", "sm_8"]', 16, "no target `sm_8`", "sm_"),
    ('arch = "sm_80"', 'arch = ["sm_80", "sm_80"]', 16, "stands there twice", "remove"),
    ('arch = "sm_80"', "arch = 80", 16, "must be a name", '"sm_80"'),
    ('arch = "sm_80"', "arch = []", 16, "at least 1", ""),
    ('arch = "sm_80"', 'arch = "sm_90"\nptx = "7.0"', 17, "PTX 7.0 does not know sm_90", "7.8"),
    ('arch = "sm_80"', 'arch = "sm_80"\nptx = "8"', 17, "no PTX version `8`", "auto"),
    ('arch = "sm_80"', 'arch = "sm_80"\nptx = 8.0', 17, "valid string", ""),
    ('expr = "a * x"', "", 18, "either `expr` or `python`", "expr ="),
    ('expr = "a * x"', 'expr = "a * y"', 19, "the oracle names `y`", "`x`"),
    ('expr = "a * x"', 'expr = "a * out"', 19, "the oracle names `out`", ""),
    ('expr = "a * x"', 'expr = "a * exq(x)"', 19, "`exq`", "`exp`"),
    ('expr = "a * x"', 'expr = "np.linalg.norm(x)"', 19, "cannot be called", ""),
    ('expr = "a * x"', 'expr = "x.sum()"', 19, "cannot be called", "by name"),
    ('expr = "a * x"', 'expr = "x.T"', 19, "no attributes", ""),
    ('expr = "a * x"', "expr = \"__import__('os').system('ls')\"", 19, "cannot be called", ""),
    ('expr = "a * x"', 'expr = "[v for v in x]"', 19, "not allowed", ""),
    ('expr = "a * x"', 'expr = "a *"', 19, "not a Python expression", ""),
    ('expr = "a * x"', 'expr = "0 < x < 1"', 19, "chained comparison", "&"),
    ('expr = "a * x"', 'expr = "x > 0 and a"', 19, "`and`", "&"),
    ('expr = "a * x"', 'expr = { oot = "a * x" }', 19, "`oot` is no output", "`out`"),
    ('expr = "a * x"', "expr = 3", 19, "must be an expression", ""),
    ('expr = "a * x"', 'expr = "a * x"\npython = "oracle.py:f"', 18, "either `expr` or `python`", ""),
    ('expr = "a * x"', 'python = "nowhere.py:f"', 19, "no file", "relative"),
    ('expr = "a * x"', 'python = "nowhere.py"', 19, "does not name a function", "file.py:function"),
    ("n = [0, 500]", "m = [0, 500]", 22, "`m` is no scalar parameter", "`n`"),
    ("n = [0, 500]", "n = [500, 0]", 22, "not a range", "smaller first"),
    ("n = [0, 500]", "n = [0.5, 2]", 22, "range of whole numbers", ""),
    ("n = [0, 500]", "n = [-5, 2]", 22, "not a range", "from 0"),
    ("n = [0, 500]", 'n = "n + 1"', 22, "circle: n -> n", "range"),
    ("sizes = { n = [0, 500] }", "values = { x = [nan, 1.0] }", 22, "finite", ""),
    ("sizes = { n = [0, 500] }", "values = { x = [-inf, 1.0] }", 22, "finite", ""),
    ("sizes = { n = [0, 500] }", "values = { n = [0, 1] }", 22, "`n` is a size", "sizes"),
    ("sizes = { n = [0, 500] }", "values = { out = [0, 1] }", 22, "no parameter with values", ""),
    ("sizes = { n = [0, 500] }", "tolerance = { rtol = nan }", 22, "finite", ""),
    ("sizes = { n = [0, 500] }", "tolerance = { rtoll = 1e-5 }", 22, "unknown key `rtoll`", "`rtol`"),
    ("sizes = { n = [0, 500] }", "tolerance = { ulp = 2, atol = 1.0 }", 22, "stands alone", ""),
    ("sizes = { n = [0, 500] }", "tolerance = { rtol = -1.0 }", 22, "from 0", ""),
    ("sizes = { n = [0, 500] }", 'tolerance = "exact"', 22, "no tolerance", "auto"),
    ("sizes = { n = [0, 500] }", "examples = 0", 22, "greater than or equal to 1", ""),
    ("sizes = { n = [0, 500] }", 'special = "yes"', 22, "valid boolean", ""),
    ("[verify]", "[constraints]\nregisters = 256\n[verify]", 22, "less than or equal to 255", ""),
    ("[verify]", "[constraints]\ndeclare = { f23 = 8 }\n[verify]", 22, "no register class `f23`", "`f32`"),
    ("[verify]", '[constraints]\nrequire = ["fmaa"]\n[verify]', 22, "no instruction `fmaa`", "`fma`"),
    ("[verify]", '[constraints]\nrequire = ["fma.rn"]\nforbid = ["fma"]\n[verify]', 22, "required and forbidden", ""),
    ("[verify]", '[decode]\nlevel = "ful"\n[verify]', 22, "'ful' is none of", "`full`"),
    ("[verify]", "[decode]\ntemperature = nan\n[verify]", 22, "finite", ""),
    ("[verify]", "[decode]\ntop_p = 1.5\n[verify]", 22, "less than or equal to 1", ""),
    ("[verify]", '[source]\ncuda = "kernel.cu"\n[verify]', 22, "no file", "relative"),
    ("[verify]", "[source]\n[verify]", 21, "either `cuda` or `triton`", "cuda"),
    ("[oracle]", "[oracle", 18, "not TOML", ""),
    ('name = "scale"', 'name = "scale"\nname = "again"', 3, "not TOML", ""),
]


@pytest.mark.parametrize(("old", "new", "line", "fragment", "fix"), CASES, ids=lambda value: str(value)[:40])
def test_refused_with_line_and_remedy(old, new, line, fragment, fix):
    with pytest.raises(SpecError) as caught:
        parse_spec(changed(old, new), Path("some/spec.toml"))
    error = caught.value
    assert error.where == f"some/spec.toml:{line}", error
    assert fragment in f"{error.what} {error.why}", error
    assert fix in error.fix
    assert error.exit_code == 2


def test_the_sample_itself_is_right():
    assert parse_spec(VALID).kernel.name == "scale"


def test_two_outputs_need_a_table():
    text = changed(
        '{ name = "a",', '{ name = "two", type = "f32*", access = "out", shape = ["n"] },\n  { name = "a",'
    )
    with pytest.raises(SpecError, match="one expression for 2 outputs"):
        parse_spec(text)
    with pytest.raises(SpecError, match="`two` has no expression"):
        parse_spec(text.replace('expr = "a * x"', 'expr = { out = "a * x" }'))
    spec = parse_spec(text.replace('expr = "a * x"', 'expr = { out = "a * x", two = "x + x" }'))
    assert set(spec.expressions) == {"out", "two"}


def test_sizes_that_depend_on_each_other_in_a_circle():
    text = changed('  { name = "n",', '  { name = "m",   type = "u32" },\n  { name = "n",')
    text = text.replace("n = [0, 500]", 'n = "m * 2", m = "n - 1"')
    with pytest.raises(SpecError, match="circle: n -> m -> n"):
        parse_spec(text)


def test_an_output_must_not_need_a_launch_that_does_not_happen():
    with pytest.raises(SpecError, match="nothing is launched"):
        parse_spec(changed('access = "out", shape = ["n"]', 'access = "out", shape = [1]').replace("a * x", "sum(x)"))


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("content", "fragment", "line"),
    [
        (b"", "empty", 1),
        (b"  \n \n", "empty", 1),
        (b"\x00\x01\x02", "binary", 1),
        (b"a = 1\nb\x00 = 2", "binary", 2),
        (b"# \xff\xfe", "UTF-8", 1),
        (b"a = 1\n# caf\xe9", "UTF-8", 2),
        (b"a = " + b"[" * 5000, "nested", 1),
        (b"a = " + b"9" * 10000, "not TOML", 1),
        (b"# " + b"x" * 1_000_001, "larger than", 1),
        (VALID.encode()[:-20], "not TOML", 22),
    ],
    ids=lambda value: str(value)[:20],
)
def test_unreadable_content(tmp_path, content, fragment, line):
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=fragment) as caught:
        load_spec(path)
    assert caught.value.where == f"{path}:{line}"


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(SpecError, match="no file"):
        load_spec(tmp_path / "absent.toml")
    with pytest.raises(SpecError, match="folder"):
        load_spec(tmp_path)
    with pytest.raises(SpecError):
        load_spec("nul\0byte.toml")


@pytest.mark.parametrize("key", ['[source]\ncuda = "%s"', '[source]\ntriton = "%s:f"'])
def test_files_that_a_spec_names_are_files(tmp_path, key):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"#" * (MAX_REFERENCED + 1))
    (tmp_path / "folder").mkdir()
    for name, fragment in (("pipe", "regular"), ("folder", "regular"), ("large", "larger"), ("/dev/zero", "regular")):
        with pytest.raises(SpecError, match=fragment):
            parse_spec(changed("[verify]", key % name + "\n[verify]"), tmp_path / "spec.toml")


def test_a_byte_order_mark_is_taken(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + VALID.encode())
    assert load_spec(path).kernel.name == "scale"


def test_every_single_deletion_of_a_line_ends_in_a_spec_or_a_clear_error():
    lines = VALID.splitlines()
    for i in range(len(lines)):
        try:
            parse_spec("\n".join(lines[:i] + lines[i + 1 :]))
        except PtxgenError as error:
            assert error.where  # noqa: PT017
