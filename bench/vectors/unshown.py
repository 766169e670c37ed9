"""Forms of the table that have no vector, and why: by opcode and operands, as `form_key` has them."""

from __future__ import annotations

_NARROW = "an address of 32 bits, which no module with 64-bit addresses has; ptxas 13.0 ends in a signal"
UNSHOWN: dict[tuple[str, str], str] = {
    **{
        (f"isspacep.{space}", "pred, u32"): _NARROW
        for space in (
            "const", "global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::entry",
        )
    },
    ("prefetch.param.tensormap", "[b8]"): "a tensor map in a parameter, which the emulator does not run",
    ("membar.proxy.async", ""): "ptxas 13.0 and its driver refuse it",
}  # fmt: skip
