"""What every test stands on."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A background shell hands down an ignored SIGINT; tests of Ctrl-C and their commands shall hear it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
