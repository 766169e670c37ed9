"""`check` beside ptxas, both ways: right modules are changed in one to three places, and both give their verdict.

    python -m fuzz.check_against_ptxas [--count 500] [--seed 0] [--everywhere] [--old] [--keep FOLDER]

A token is taken out, doubled, exchanged with another, or replaced by one of its kind (types, spaces, linkages,
directives, names, numbers, punctuation); lines are taken out, doubled and exchanged. Without `--everywhere` only
lines of declarations, headings, directives, labels and calls are changed. Printed are counts, then what differs: by
ptxas's words for what the checker missed, by the checker's code for false alarms.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from ptxgen.assembling import Ptxas, ToolCrashed, find_ptxas
from ptxgen.cli.check import examine
from ptxgen.isa import Table, load_table

ROOT = Path(__file__).parents[1]
SEEDS = tuple(
    path for folder in ("fuzz/modules", "tests/kernels", "ptxgen/prompting/references")
    for path in sorted((ROOT / folder).rglob("*.ptx"))
)  # fmt: skip
_LONGEST_SEED = 4000
_TOKEN = re.compile(r"//[^\n]*|\"[^\"\n]*\"|[.@]?[%$A-Za-z_][A-Za-z0-9_$]*|[0-9][0-9A-Za-z.]*|\s+|.")
_STRUCTURE = re.compile(r"^\s*(\.|[{}()]|[$A-Za-z_%][\w$]*\s*:|call|@?%?\w* ?call|\)|bra|@\S+ bra|ret)")

#: What a token may be replaced by: others of its list.
KINDS: tuple[tuple[str, ...], ...] = (
    (".b8", ".u8", ".s8", ".b16", ".u16", ".s16", ".f16", ".f16x2", ".bf16", ".b32", ".u32", ".s32", ".f32", ".b64",
     ".u64", ".s64", ".f64", ".b128", ".pred", ".texref", ".samplerref", ".u16x2", ".e4m3"),
    (".reg", ".param", ".global", ".const", ".shared", ".local", ".sreg", ".tex"),
    (".visible", ".extern", ".weak", ".common", ".visible .extern", ""),
    (".entry", ".func"),
    (".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".reqnctapercluster", ".maxclusterrank",
     ".explicitcluster", ".blocksareclusters", ".noreturn", ".abi_preserve", ".pragma", ".attribute", ".alias",
     ".align"),
    (".v2", ".v4", ".v8", ".align 8", ".align 16", ".align 3", ".ptr", ".ptr .global", ".attribute(.managed)"),
    (".version", ".target", ".address_size"),
    (".branchtargets", ".calltargets", ".callprototype"),
    ("{", "}", "(", ")", "[", "]", ",", ";", ":", "=", "<", ">", "+", "-", "@", "_", "|", "!", "."),
    ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120", "sm_20", "debug",
     "texmode_independent"),
)  # fmt: skip
_NUMBERS = ("0", "1", "2", "3", "4", "7", "8", "16", "31", "32", "63", "64", "65", "128", "1024", "1025", "65536",
            "4294967296", "1.0", "0f3F800000", "0x10", "010", "8.0", "7.0", "9.0", "6.0")  # fmt: skip
_EXTRA = (
    ".reg .b32 %extra;", "{", "}", "ret;", "L: ", ".pragma \"nounroll\";", "bra L;", ".shared .b32 s[4];",
    ".global .b32 g;", ".param .b32 p;", "call f;", ".func f();", ".func f() { ret; }", ".entry k() { ret; }",
    "trap;", ".loc 1 1 1\n", "@%p1 ", ".local .align 4 .b8 l[16];", ".const .b32 c = 1;", ".target sm_90",
    ".version 8.0",
)  # fmt: skip


def mutate(text: str, chance: random.Random, everywhere: bool) -> str:
    """The text with one to three changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        text = _change_line(text, chance) if chance.random() < 0.2 else _change_token(text, chance, everywhere)
    return text


def _change_line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines.insert(at, chance.choice(_EXTRA))
    return "\n".join(lines)


def _change_token(text: str, chance: random.Random, everywhere: bool) -> str:
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if line.strip() and (everywhere or _STRUCTURE.match(line))]
    if not places:
        return text
    at = chance.choice(places)
    tokens = _TOKEN.findall(lines[at])
    solid = [i for i, token in enumerate(tokens) if token.strip()]
    position = chance.choice(solid)
    token = tokens[position]
    match chance.randrange(8):
        case 0:
            del tokens[position]
        case 1:
            tokens.insert(position, token + " ")
        case 2:
            other = chance.choice(solid)
            tokens[position], tokens[other] = tokens[other], token
        case 3:
            tokens.insert(position, chance.choice(chance.choice(KINDS)) + " ")
        case _:
            tokens[position] = _replacement(token, text, chance)
    lines[at] = "".join(tokens)
    return "\n".join(lines)


def _replacement(token: str, text: str, chance: random.Random) -> str:
    for kind in KINDS:
        if token in kind:
            return chance.choice(kind)
    if token[0].isdigit():
        return chance.choice((*_NUMBERS, token + "0", str(chance.randrange(100))))
    if token[0] == ".":
        return chance.choice(chance.choice(KINDS[:8]))
    names: list[str] = sorted(set(re.findall(r"[%$A-Za-z_][A-Za-z0-9_$]*", text)))
    return chance.choice((*names, "add", "%tid", "WARP_SZ", "x", "_", token + "1", token[:-1] or "y"))


def _verdict(tool: Ptxas, text: str, arch: str) -> tuple[bool, str] | None:
    try:
        assembly = tool.assemble(text, arch, optimise=0 if "debug" in text else 3, time_limit=10)
    except ToolCrashed:
        return None
    words = [message.text for message in assembly.messages if message.severity != "warning"]
    return assembly.ok, words[0] if words else ""


def _general(words: str) -> str:
    """ptxas's message without the names in it."""
    return re.sub(r"'[^']*'|[0-9]+", "…", words)[:90]


def campaign(
    seeds: Sequence[tuple[str, str]], count: int, seed: int, everywhere: bool, tools: Sequence[Ptxas], table: Table
) -> dict[str, object]:
    """Counts, and the texts on which checker and ptxas differ, by kind. `seeds` are texts with their targets."""
    counts: Counter[str] = Counter()
    missed: dict[str, list[str]] = defaultdict(list)
    alarms: dict[str, list[str]] = defaultdict(list)
    for index in range(count):
        chance = random.Random(f"{seed}/{index}")
        original, arch = chance.choice(seeds)
        text = mutate(original, chance, everywhere)
        verdicts = [v for tool in tools if (v := _verdict(tool, text, arch)) is not None]
        if not verdicts:
            counts["no verdict"] += 1
            continue
        errors = [d for d in examine(text, table, arch)[1] if d.severity == "error"]
        accepted, words = verdicts[0]
        counts["accepted" if accepted else "refused"] += 1
        if any(v[0] != accepted for v in verdicts):
            counts["versions of ptxas differ"] += 1
        elif accepted and errors:
            alarms[errors[0].code].append(f"{index}: {errors[0].span.line}: {errors[0].message}\n{text}")
        elif not accepted and not errors:
            missed[_general(words)].append(f"{index}: {words}\n{text}")
    return {"counts": counts, "missed": missed, "alarms": alarms}


def main() -> None:
    """Run a campaign and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--everywhere", action="store_true")
    parser.add_argument("--old", action="store_true", help="ask every ptxas that is found, not the best alone")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    seeds = [(path.read_text(), "sm_90") for path in SEEDS if path.stat().st_size < _LONGEST_SEED]
    from tests.semantics.recorded_modules import module_cases

    seeds *= 8
    seeds += [(case.ptx, case.arch) for case in module_cases() if case.signs == "++"]
    tools = find_ptxas() if options.old else find_ptxas()[:1]
    found = campaign(seeds, options.count, options.seed, options.everywhere, tools, load_table())
    print(", ".join(f"{n} {what}" for what, n in sorted(found["counts"].items())))  # type: ignore[attr-defined]
    for title in ("missed", "alarms"):
        groups: dict[str, list[str]] = found[title]  # type: ignore[assignment]
        print(f"\n{title}: {sum(map(len, groups.values()))}")
        for kind, texts in sorted(groups.items(), key=lambda item: -len(item[1])):
            print(f"{len(texts):5} {kind}    (first: {texts[0].partition(chr(10))[0]})")
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                for text in texts[:5]:
                    head, _, body = text.partition("\n")
                    (options.keep / f"{title}-{head.partition(':')[0]}.ptx").write_text(f"// {head}\n{body}")


if __name__ == "__main__":
    main()
