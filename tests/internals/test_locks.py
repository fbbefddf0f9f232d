"""Locks on files, on systems with `fcntl` and on Windows, which has `msvcrt` instead."""

import sys
from types import SimpleNamespace

import pytest

from procurl.internals.locks import lock


def test_a_file_is_locked_once_until_it_is_closed(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "lock"
    with open(path, "w") as first, open(path, "w") as second:
        lock(first)
        with pytest.raises(OSError, match="unavailable"):
            lock(second)
    with open(path, "w") as third:
        lock(third)


def test_windows_locks_the_first_byte(tmp_path, monkeypatch):
    calls = []
    windows = SimpleNamespace(LK_NBLCK=2, locking=lambda *arguments: calls.append(arguments))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    with open(tmp_path / "lock", "w") as file:
        lock(file)
        assert calls == [(file.fileno(), 2, 1)]
