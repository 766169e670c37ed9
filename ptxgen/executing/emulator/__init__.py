"""The PTX emulator: whole grids as NumPy lanes, exact where PTX is exact, always checking. See docs/emulator.md."""

from ptxgen.executing.emulator.emulator import Emulator

__all__ = ["Emulator"]
