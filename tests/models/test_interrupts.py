"""Ctrl-C while C code calls back into Python: late, and never lost."""

from __future__ import annotations

import ctypes
import os
import signal
import threading

import pytest

from ptxgen.models.interrupts import interrupts_deferred


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_within_a_callback_it_is_not_lost() -> None:
    seen = []
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda value: (press(), value)[1])
    with pytest.raises(KeyboardInterrupt), interrupts_deferred() as interrupted:  # noqa: PT012
        seen.append(interrupted())
        assert callback(7) == 7
        seen.append(interrupted())
    assert seen == [False, True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_wins_over_an_error() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():  # noqa: PT012
        press()
        raise ValueError


def test_without_one_nothing_happens() -> None:
    with pytest.raises(ValueError, match="x"), interrupts_deferred() as interrupted:  # noqa: PT012
        assert not interrupted()
        raise ValueError("x")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    def quiet(number: int, frame: object) -> None: ...

    usual = signal.signal(signal.SIGINT, quiet)
    try:
        with interrupts_deferred():
            assert signal.getsignal(signal.SIGINT) is quiet
    finally:
        signal.signal(signal.SIGINT, usual)

    found: list[object] = []

    def elsewhere() -> None:
        with interrupts_deferred():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
