"""Ctrl-C while C code runs that calls back into Python."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_deferred() -> Iterator[Callable[[], bool]]:
    """A Ctrl-C inside is a KeyboardInterrupt at the end; the yielded function says whether one came.

    Python raises it at the next line of Python, and where that is a function which C calls, the exception is
    printed and lost. Elsewhere than in the main thread, where no signal is seen, nothing is changed.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            raise KeyboardInterrupt
