"""What a multiprocessor of a target holds, from `limits.toml`, and how many blocks fit at once."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ptxgen.data import data_folder
from ptxgen.isa.model import Target
from ptxgen.isa.problems import TableError

_WARP = 32


@dataclass(frozen=True, slots=True)
class Limits:
    """One multiprocessor. Sizes of shared memory in bytes, registers of 32 bits."""

    threads: int
    blocks: int
    registers: int
    shared: int
    reserved: int                # shared memory that each block loses to the driver
    register_piece: int          # registers are given to a warp in multiples of this
    shared_piece: int            # and bytes of shared memory to a block
    partitions: int
    registers_of_a_block: int
    registers_of_a_thread: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`blocks` run at once on one multiprocessor, which is `share` of the warps it could hold. `by` is each limit's
    own number of blocks, and `limited_by` the names of those that are lowest."""

    blocks: int
    warps: int
    most_warps: int
    share: float
    by: Mapping[str, int]
    limited_by: tuple[str, ...]


def read_limits(folder: Path) -> Mapping[str, Limits]:
    """By target. Raises TableError for a file that is missing or wrong."""
    path = folder / "limits.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        whole = (table["partitions"], table["registers_of_a_block"], table["registers_of_a_thread"])
        found = {name: Limits(*map(int, (*row, *whole))) for name, row in table["limits"].items()}
    except OSError as error:
        raise TableError("the table's file limits.toml cannot be read", where=str(path), why=str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise TableError("the table's file limits.toml is wrong", where=str(path), why=why) from None
    return found


@functools.cache
def _shipped() -> Mapping[str, Limits]:
    return read_limits(data_folder("isa"))


def limits_of(target: Target) -> Limits | None:
    """The limits of a target, None where nothing is known of them."""
    return _shipped().get(f"sm_{target.number}")


def occupancy(limits: Limits, threads: int, registers: int, shared: int) -> Occupancy:
    """How many blocks of `threads` threads run at once, each thread with `registers` registers and each block with
    `shared` bytes of shared memory, static and dynamic.

    Registers are given to whole warps in pieces, and each partition has its own: the formula of CUDA's
    cuda_occupancy.h.
    """
    warps = -(-threads // _WARP)
    by = {"threads": limits.threads // _WARP // warps, "blocks": limits.blocks}
    each = _up(registers * _WARP, limits.register_piece)
    if registers > limits.registers_of_a_thread or each * _up(warps, limits.partitions) > limits.registers_of_a_block:
        by["registers"] = 0
    elif each:
        by["registers"] = limits.registers // limits.partitions // each * limits.partitions // warps
    bytes_each = _up(shared + limits.reserved, limits.shared_piece)
    if bytes_each:
        by["shared memory"] = limits.shared // bytes_each
    blocks = min(by.values())
    most = limits.threads // _WARP
    lowest = tuple(name for name, number in by.items() if number == blocks)
    return Occupancy(blocks, blocks * warps, most, blocks * warps / most, by, lowest)


def _up(number: int, piece: int) -> int:
    return -(-number // piece) * piece
