"""Seeded attacks on data: malformed pools, random evidence, corrupted files, hostile names.

Each test counts what it tried and how it ended, and prints the counts. Whatever is refused is
refused with a ValueError or TypeError in one line; nothing else may be raised.
"""

import math
from collections import Counter

import numpy as np
import pytest

from procurl import Curriculum, Evidence, TaskPool, make_strategy
from procurl.strategies import strategy_names

pytestmark = pytest.mark.soak

EXTREMES = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-308, 1e-30, 1e15, -1e15, 1e30, -1e30)
REFUSED = (1e31, -1e31, 1e308, -1e308, math.inf, -math.inf, math.nan)
FIELDS = [name for name in Evidence._fields if name != "step"]


def test_random_evidence(report_counts):
    """Evidence is refused and changes nothing, or every later draw works."""
    rng = np.random.default_rng(0)
    counts = Counter()
    for name in strategy_names():
        pool = TaskPool(rng.normal(size=(7, 2)))
        for settings in ({}, {"v_min": None, "v_max": None}):
            try:
                strategy = make_strategy(name, **settings)
            except (TypeError, ValueError):
                continue
            for _ in range(60):
                curriculum = Curriculum(strategy, pool, seed=0)
                for step in range(20):
                    _offer(curriculum, random_evidence(rng, step, len(pool)), counts)
    report_counts("evidence", counts)
    assert counts["accepted"] > 10_000
    assert counts["refused"] > 5_000


def _offer(curriculum, evidence, counts):
    before = curriculum.probabilities()
    if refusal := _refusal(curriculum.observe, evidence):
        assert "\n" not in refusal
        np.testing.assert_array_equal(curriculum.probabilities(), before)
        counts["refused"] += 1
        return
    p = curriculum.probabilities()
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1)
    assert 0 <= curriculum.next()[0] < len(p)
    success = curriculum.success()
    assert success is None or np.isfinite(success).all()
    counts["accepted"] += 1


def _refusal(function, *arguments):
    """The message with which `function` refuses its arguments, None if it accepts them."""
    try:
        function(*arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def random_evidence(rng, step, n):
    """Every field at random: usual numbers, extremes or, now and then, something to refuse."""
    fields = {}
    for name in FIELDS:
        kind = rng.random()
        if kind < 0.4:
            column = rng.random(n)
        elif kind < 0.5:
            column = np.full(n, rng.choice(EXTREMES))
        else:
            column = rng.choice(EXTREMES, n)
        if name in ("wins", "losses", "played"):
            column = np.abs(column)
        if rng.random() < 0.03:
            column = _spoiled(rng, column)
        fields[name] = column
    return Evidence(step, **fields)


def _spoiled(rng, column):
    column[rng.integers(len(column))] = rng.choice(REFUSED)
    kinds = (
        lambda: column,
        lambda: column.astype(complex),
        lambda: column.astype(str),
        lambda: column.astype(bytes),
        lambda: np.ma.masked_array(column, mask=[True] + [False] * (len(column) - 1)),
        lambda: np.zeros(len(column), dtype="datetime64[s]"),
        lambda: [None, *column[1:]],
        lambda: [10**400, *column[1:]],
        lambda: column[1:],
        lambda: [*column[1:], [1.0]],
        lambda: {"a": 1},
        lambda: np.zeros(len(column), dtype=[("x", "f8")]),
    )
    return kinds[rng.integers(len(kinds))]()
