"""The PTX emulator: whole grids as NumPy lanes, exact where PTX is exact, always checking. See docs/emulator.md."""

from ptxgen.executing.emulator.emulator import Emulator
from ptxgen.executing.emulator.profiling import Profile
from ptxgen.executing.emulator.stepping import State, Stepper
from ptxgen.executing.emulator.tracing import Trace
from ptxgen.executing.emulator.watching import Watcher

__all__ = ["Emulator", "Profile", "State", "Stepper", "Trace", "Watcher"]
