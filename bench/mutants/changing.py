"""Every way a correct kernel is made wrong: a kind of change, and the places of a text where it fits.

Texts are as `print_module` writes them, one statement a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: A statement: its guard, its opcode and its operands.
_STATEMENT = re.compile(r"^\t+((?:@!?%?[\w$]+ )?)([a-z][\w.:]*)(?: (.*))?;$")
_ADDRESS = re.compile(r"\[([%\w$]+)(?:\+(-?\d+))?\]")
_FRESH = {"32": "%mutant_r", "64": "%mutant_rd", "16": "%mutant_rs", "f32": "%mutant_f", "f64": "%mutant_fd"}
_DECLARED = """	.reg .pred %mutant_p<4>;
	.reg .b16 %mutant_rs<4>;
	.reg .b32 %mutant_r<4>;
	.reg .b64 %mutant_rd<4>;
	.reg .f32 %mutant_f<4>;
	.reg .f64 %mutant_fd<4>;"""


@dataclass(frozen=True)
class Mutant:
    """A kernel with one change of a kind, at a line (1-based) of the text without it."""

    kind: str
    line: int
    was: str
    text: str


@dataclass(frozen=True)
class _Line:
    guard: str
    opcode: str
    operands: str

    @property
    def words(self) -> list[str]:
        return self.opcode.split(".")

    def with_(self, *, guard: str | None = None, opcode: str | None = None, operands: str | None = None) -> str:
        new = [self.guard if guard is None else guard, self.opcode if opcode is None else opcode]
        rest = self.operands if operands is None else operands
        return f"\t{new[0]}{new[1]}{' ' + rest if rest else ''};"


#: What a line becomes, once for each way.
_Change = Callable[[_Line], Iterator[str]]


def _dropped(pattern: str) -> _Change:
    compiled = re.compile(pattern)

    def change(line: _Line) -> Iterator[str]:
        if compiled.match(line.opcode):
            yield "\t// dropped"

    return change


def _wait_dropped(line: _Line) -> Iterator[str]:
    """The jump back of a loop that waits; marked by `mutants`, which knows the lines before."""
    if line.opcode == "bra" and line.guard:
        yield "\t// dropped"


def _plain(line: _Line) -> Iterator[str]:
    """A strong load or store becomes a plain one."""
    words = [w for w in line.words if w not in _STRONG | _SCOPES]
    if line.words[0] in {"ld", "st"} and len(words) < len(line.words):
        yield line.with_(opcode=".".join(words))


_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_SCOPES = {"cta", "cluster", "gpu", "sys"}


def _narrow(line: _Line) -> Iterator[str]:
    """A scope that ends with the block."""
    name = line.words[0]
    if name == "membar" and "cta" not in line.words:
        yield line.with_(opcode="membar.cta")
    elif {"gpu", "sys"} & set(line.words):
        yield line.with_(opcode=re.sub(r"\.(gpu|sys)\b", ".cta", line.opcode))
    elif name in {"atom", "red"} and "global" in line.words and not _SCOPES & set(line.words):
        yield line.with_(opcode=line.opcode.replace(".global", ".relaxed.cta.global", 1))


def _unordered(line: _Line) -> Iterator[str]:
    """A release or acquire orders nothing any more."""
    if line.words[0] in {"ld", "st", "atom", "red"} and {"acquire", "release", "acq_rel"} & set(line.words):
        yield line.with_(opcode=re.sub(r"\.(acquire|release|acq_rel)\b", ".relaxed", line.opcode))


def _split_atomic(line: _Line) -> Iterator[str]:
    """Read, change, write, one after the other."""
    words = line.words
    if words[0] not in {"atom", "red"} or line.guard:
        return
    operation = next((w for w in words if w in {"add", "exch", "max", "min", "and", "or", "xor"}), "")
    space = next((w for w in words if w in {"global", "shared"}), "")
    type_name = words[-1]
    operands = line.operands.split(", ")
    wanted = operands.pop(0) if words[0] == "atom" else ""
    if not operation or len(operands) != 2 or type_name[1:] not in {"32", "64"}:
        return
    old, new = (_FRESH[type_name if type_name[0] == "f" else type_name[1:]] + str(i) for i in (1, 2))
    space = f".{space}" if space else ""
    kind = "b" + type_name[1:] if operation in {"and", "or", "xor"} else type_name
    made = f"\tmov.{'b' + type_name[1:] if type_name[0] != 'f' else type_name} {new}, {operands[1]};"
    if operation != "exch":
        made = f"\t{operation}.{kind} {new}, {old}, {operands[1]};"
    move = f"\n\tmov.b{type_name[1:]} {wanted}, {old};" if wanted and wanted != "_" else ""
    yield (f"\tld{space}.{type_name} {old}, {operands[0]};\n{made}\n"
           f"\tst{space}.{type_name} {operands[0]}, {new};{move}")


def _shifted(by: Callable[[int], int]) -> _Change:
    """The address of an access is off by some bytes."""

    def change(line: _Line) -> Iterator[str]:
        if line.words[0] not in {"ld", "st", "atom", "red", "cp"} or "param" in line.words:
            return
        for found in _ADDRESS.finditer(line.operands):
            amount = int(found.group(2) or 0) + by(_width(line))
            new = f"[{found.group(1)}+{amount}]" if amount else f"[{found.group(1)}]"
            yield line.with_(operands=line.operands[: found.start()] + new + line.operands[found.end() :])

    return change


def _width(line: _Line) -> int:
    digits = re.findall(r"\d+$", line.words[-1])
    return max(int(digits[0]) // 8, 1) if digits else 4


def _widened(line: _Line) -> Iterator[str]:
    """A scalar becomes a vector of two."""
    words = line.words
    type_name = words[-1]
    if words[0] not in {"ld", "st"} or "param" in words or type_name[1:] not in {"32", "64"} or "v" in line.opcode:
        return
    opcode = ".".join([*words[:-1], "v2", type_name])
    fresh = _FRESH[type_name if type_name[0] == "f" else type_name[1:]] + "3"
    first, second = line.operands.split(", ", 1)
    if words[0] == "ld":
        yield line.with_(opcode=opcode, operands=f"{{{first}, {fresh}}}, {second}")
    elif second.startswith("%"):
        yield line.with_(opcode=opcode, operands=f"{first}, {{{second}, {second}}}")


def _guard_dropped(line: _Line) -> Iterator[str]:
    if line.guard and line.opcode not in {"bra", "ret", "exit"}:
        yield line.with_(guard="")


def _branch_dropped(line: _Line) -> Iterator[str]:
    if line.guard and line.opcode in {"bra", "ret", "exit"}:
        yield "\t// dropped"


def _other_space(line: _Line) -> Iterator[str]:
    if line.words[0] in {"ld", "st", "atom", "red"}:
        for one, other in (("global", "shared"), ("shared", "global"), ("global", "local"), ("local", "global")):
            if one in line.words:
                yield line.with_(opcode=line.opcode.replace("." + one, "." + other, 1))


def _other_mask(line: _Line) -> Iterator[str]:
    if line.words[0] not in {"shfl", "vote", "bar", "match", "redux", "elect"} or (
        line.words[0] == "bar" and "warp" not in line.words
    ) or "sync" not in line.words:
        return
    head, _, last = line.operands.rpartition(" ")
    for mask in ("0x7fffffff", "0x0000ffff", "0xfffffffe"):
        if last not in {mask} and not last.startswith("%"):
            yield line.with_(operands=f"{head} {mask}".strip())


def _other_count(line: _Line) -> Iterator[str]:
    operands = line.operands.split(", ")
    if line.words[0] in {"bar", "barrier"} and "warp" not in line.words and "cluster" not in line.words:
        if operands[-1].isdigit() and len(operands) > 1 and "red" not in line.words:
            for count in (int(operands[-1]) - 32, int(operands[-1]) + 32):
                yield line.with_(operands=", ".join([*operands[:-1], str(count)]))
        if len(operands) > 1 and operands[0].isdigit():
            yield line.with_(operands=", ".join([str(int(operands[0]) + 5), *operands[1:]]))
    if line.opcode.startswith("mbarrier.init") and operands[-1].isdigit():
        for count in (int(operands[-1]) - 1, int(operands[-1]) + 1):
            yield line.with_(operands=", ".join([*operands[:-1], str(count)]))


def _bound(line: _Line) -> Iterator[str]:
    for one, other in ((".lt.", ".le."), (".ge.", ".gt."), (".le.", ".lt."), (".gt.", ".ge."), (".eq.", ".ge.")):
        if line.words[0] == "setp" and one in line.opcode:
            yield line.with_(opcode=line.opcode.replace(one, other, 1))


def _returns_early(line: _Line) -> Iterator[str]:
    if line.words[0] in {"bar", "barrier"} and "arrive" not in line.words:
        yield ("\tmov.u32 %mutant_r1, %tid.x;\n\tand.b32 %mutant_r1, %mutant_r1, 1;\n"
               f"\tsetp.ne.u32 %mutant_p1, %mutant_r1, 0;\n\t@%mutant_p1 ret;\n{line.with_()}")


#: By the kind's name, in the order of the table.
CHANGES: dict[str, _Change] = {
    "barrier dropped": _dropped(r"bar(rier)?\.(?!warp|cluster)"),
    "warp barrier dropped": _dropped(r"bar\.warp"),
    "cluster barrier dropped": _dropped(r"barrier\.cluster"),
    "fence dropped": _dropped(r"membar|fence(?!\.proxy|\.mbarrier)"),
    "proxy fence dropped": _dropped(r"fence\.proxy"),
    "wait for copies dropped": _dropped(r"cp\.async\.(bulk\.)?wait"),
    "waiting loop dropped": _wait_dropped,
    "arrival dropped": _dropped(r"mbarrier\.arrive|bar\.arrive|barrier\.arrive"),
    "release or acquire made relaxed": _unordered,
    "scope made the block's": _narrow,
    "strong access made plain": _plain,
    "atomic made load and store": _split_atomic,
    "address off by an element": _shifted(lambda width: width),
    "address off by a byte": _shifted(lambda width: 1),
    "access widened": _widened,
    "guard dropped": _guard_dropped,
    "guarded branch dropped": _branch_dropped,
    "state space swapped": _other_space,
    "member mask changed": _other_mask,
    "barrier's number or count changed": _other_count,
    "constant not set": _dropped(r"mov\.(?!b64|u64)"),
    "store dropped": _dropped(r"st\.|mbarrier\.init"),
    "bound of a loop or guard moved": _bound,
    "return before a barrier": _returns_early,
}


def mutants(text: str) -> Iterator[Mutant]:
    """Every change of every kind to a printed module of one entry."""
    lines = text.split("\n")
    begin = next(number for number, line in enumerate(lines) if line.strip() == "{")
    known = _waiting(lines)
    for kind, change in CHANGES.items():
        for number, written in enumerate(lines):
            found = _STATEMENT.match(written)
            if found is None or number < begin:
                continue
            if (change is _wait_dropped and number not in known) or (change is _branch_dropped and number in known):
                continue
            for new in change(_Line(found.group(1), found.group(2), found.group(3) or "")):
                other = [*lines[: begin + 1], _DECLARED, *lines[begin + 1 : number], new, *lines[number + 1 :]]
                yield Mutant(kind, number + 1, written.strip(), "\n".join(other))


def _waiting(lines: list[str]) -> set[int]:
    """The jumps back of loops that do nothing but look at memory."""
    places: dict[str, int] = {}
    result = set()
    for number, line in enumerate(lines):
        if line.endswith(":"):
            places[line.strip()[:-1]] = number
        found = _STATEMENT.match(line)
        if found and found.group(2) == "bra" and found.group(1) and found.group(3) in places:
            inside = "\n".join(lines[places[found.group(3)] : number])
            looks, acts = r"\tld\.|try_wait|test_wait|\.cas\.", r"\tst\.|\tbar|\tred"
            if re.search(looks, inside) and not re.search(acts, inside):
                result.add(number)
    return result
