"""The vocabulary of the random model: every byte, and pieces of PTX of the kind real tokenisers have.

Real vocabularies cut PTX at places that have nothing to do with its grammar: `ld.gl` + `obal`, `,` + ` %`,
`;\\n\\t`. The pieces here do the same, so that masks over this vocabulary meet tokens that end inside a name,
tokens that span several terminals, and tokens that span the end of a statement. The list is fixed, because
a seed must mean the same kernel tomorrow.
"""

from __future__ import annotations

from functools import cache
from itertools import product

END = b"<|end|>"

_OPCODES = """
    abs add addc and atom bar barrier bfe bfi bfind bra brev brkpt call clz cnot copysign cos cvt cvta
    div ex2 exit fma fns isspacep istypep ld ldmatrix ldu lg2 lop3 mad madc match max membar min mma mov
    mul mul24 nanosleep neg not or pmevent popc prefetch prmt rcp red redux rem ret rsqrt sad selp set
    setp shf shfl shl shr sin slct sqrt st sub subc szext tanh testp trap vote xor activemask elect
"""
_TYPES = """
    b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 pred tf32
"""
_MODIFIERS = """
    rn rz rm rp rni rzi rmi rpi ftz sat approx full lo hi wide global shared param local const to v2 v4
    eq ne lt le gt ge equ neu ltu leu gtu geu num nan ls hs sync up down bfly idx all any uni ballot
    warp arrive cta gl sys relaxed acquire release acq_rel volatile ca cg cs lu cv wb wt nc add min max
    exch cas inc dec and or xor noftz xorsign abs relu clamp wrap x y z left right entry visible extern
    align reg version target address_size func weak pragma maxntid reqntid minnctapersm sm
"""
#: modifiers that often stand right before the type
_PAIRED = "rn rz approx lo wide global shared param"
_SPECIALS = """
    tid ntid ctaid nctaid laneid warpid nwarpid gridid smid nsmid clock clock64 lanemask_eq lanemask_lt
    lanemask_le lanemask_gt lanemask_ge globaltimer
"""
_PREFIXES = ("p", "rs", "r", "rd", "f", "fd", "h", "q")
_NAMES = """
    param_ param_x param_y param_out param_n L_ $L_ $L_end end loop done exit smem buf tmp index idx row
    col out in size block grid thread kernel saxpy vec_add x y z a b c d n m k i j
"""
_PUNCTUATION = (
    ",", ";", ";\n", ";\n\t", ";\n\n", ";\n\n\t", "\n", "\n\t", "\n\n", "\t", "\t\t", "[", "]", "],",
    "];", "[%", "{", "}", "},", "};", "{%", "(", ")", ");", "%", "%%", "@", "@%", "@!", "@!%", "@%p",
    "!", "-", "+", "+-", ":", ":\n", ":\n\t", ":\n\n\t", "_", "|", ".", "..", "=", "/", "//", "0x",
    "0f", "0d", "0F", "0D", "0.0", "1.0", "2.0", "0.5", "-1", "-1.0", "1.4", "e-", "e+", "E+",
    "0f3F800000", "0f00000000", "0f3FB8AA3B", "0xffffffff", "0xFFFFFFFF", "31", "32", "64", "128",
    "256", "512", "1024", ";\n}", ";\n}\n", "}\n", "{\n",
)


@cache
def vocabulary() -> tuple[bytes, ...]:
    """Token id to bytes. Ids 0 to 255 are the single bytes; the last id is the end token, `END`."""
    pieces: dict[str, None] = {}

    def put(*texts: str) -> None:
        for text in texts:
            if len(text) > 1:
                pieces.setdefault(text)

    for word in _OPCODES.split():
        put(word, f"\t{word}", f" {word}", f"{word}.")
        # byte-pair merges end inside names
        put(word[:2], word[:3], f"\t{word[:2]}", f".{word[:2]}", word[-3:])
    for word in _TYPES.split():
        put(f".{word}", word, f".{word[0]}", f".{word} ", f".{word}\t", f".{word} %", word[1:])
    for word in _MODIFIERS.split():
        put(f".{word}", word, f".{word}.", word[:2], f".{word[:2]}", word[-3:])
    for before, kind in product(_PAIRED.split(), _TYPES.split()):
        put(f".{before}.{kind}")
    for word in _SPECIALS.split():
        put(f"%{word}", word, f" %{word}", f"{word}.x", f".{word[:3]}", word[:2], word[-3:])
    for prefix in _PREFIXES:
        for before in ("", " ", ", ", "[", " [", "{", "!"):
            put(f"{before}%{prefix}")
        put(f" %{prefix}1", f"%{prefix}1", f"%{prefix}2", f"%{prefix}<")
    for word in _NAMES.split():
        put(word, f" {word}", f"[{word}", f" [{word}", word[:3], f"_{word}")
    for number in range(100):
        put(str(number), f" {number}")
    for number in range(10):
        put(f"+{number}", f"_{number}")
        for after in (",", ";", "]", ";\n", ", %"):
            put(f"{number}{after}")
    for mark in _PUNCTUATION:
        put(mark, f" {mark}", f"{mark} ")
    singles = [bytes((value,)) for value in range(256)]
    return (*singles, *(piece.encode("ascii") for piece in pieces), END)
