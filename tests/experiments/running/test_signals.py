"""Signals to all processes of a command, on systems that have only some of them."""

import runpy
import signal

import pytest

from procurl.experiments.running import signals


@pytest.fixture
def on_windows(monkeypatch):
    """The module as imported without SIGHUP and without masks of signals."""
    for name in ("SIGHUP", "SIGKILL", "pthread_sigmask"):
        monkeypatch.delattr(signal, name, raising=False)
    return runpy.run_path(signals.__file__)


@pytest.fixture
def handlers():
    """Restores the handlers."""
    before = {number: signal.getsignal(number) for number in signals.GROUP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_blocked_signals_are_as_before_afterwards():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with signals.group_signals_blocked():
        inside = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        assert {signal.SIGINT, signal.SIGHUP} <= inside
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_both_signals_are_ignored(handlers):
    signals.ignore_group_signals()
    assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_windows_ignores_the_one_that_it_has(on_windows, handlers):
    assert on_windows["GROUP_SIGNALS"] == [signal.SIGINT]
    with on_windows["group_signals_blocked"]():
        pass
    on_windows["ignore_group_signals"]()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
