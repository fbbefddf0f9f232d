"""The signals that a terminal sends to all processes of a command.

The driver alone decides what to do on them. Windows has neither SIGHUP nor masks of signals.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

GROUP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def group_signals_blocked() -> Iterator[None]:
    """Block the signals; processes that start meanwhile inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_group_signals() -> None:
    """Ignore the signals in this process, including those that were blocked when it started."""
    for number in GROUP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)
