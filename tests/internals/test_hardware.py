"""The cores that this process may use, on systems with and without CPU affinity."""

import os

from procurl.experiments.paper.build import list_entries
from procurl.experiments.paper.run_time import estimate
from procurl.internals.hardware import cores


def test_without_affinity_every_core_counts(monkeypatch):
    """As on macOS, where `procurl paper` lists its names as well."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert cores() == 6
    assert "on 6 cores" in list_entries()
    assert estimate([]) == 0.0


def test_affinity_limits_the_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    assert cores() == 2
