"""Anneal, worked out by hand: which tasks are in the box, and when it grows."""

import re
from typing import Any

import numpy as np
import pytest

from procurl import Anneal, Curriculum, Evidence, TaskPool, make_strategy
from procurl.strategies.handmade.growing_box import entry_sizes

OTHER: Any = 3  # not ranges
LINE = TaskPool([[0.0], [1.0], [2.0], [3.0], [4.0]], names=["x"])


def in_box(curriculum):
    p = curriculum.probabilities()
    inside = np.flatnonzero(p)
    assert p[inside] == pytest.approx(1 / len(inside))
    return inside.tolist()


def test_the_box_grows_and_shrinks_with_success():
    """The middle is 2, so tasks 1 and 3 enter at size 1/2, tasks 0 and 4 at size 1.

    Two wins in the box: it grows by 1/2. One win and one loss: 1/2 is neither 0.7 nor below 0.3.
    One episode decides nothing; with the next one, two losses, it shrinks. Episodes outside the box
    never count.
    """
    strategy = Anneal(share=0.0, notch=0.5, episodes=2.0, above=0.7, below=0.3)
    curriculum = Curriculum(strategy, LINE)
    assert in_box(curriculum) == [2]
    curriculum.observe(Evidence(1, wins=[9, 0, 2, 0, 9], losses=[0, 9, 0, 9, 0]))
    assert in_box(curriculum) == [1, 2, 3]
    curriculum.observe(Evidence(2, wins=[0, 1, 0, 0, 0], losses=[9, 0, 1, 0, 0]))
    assert in_box(curriculum) == [1, 2, 3]
    curriculum.observe(Evidence(3, wins=[0] * 5, losses=[0, 1, 0, 0, 0]))
    assert in_box(curriculum) == [1, 2, 3]
    curriculum.observe(Evidence(4, wins=[0] * 5, losses=[0, 0, 0, 1, 0]))
    assert in_box(curriculum) == [2]
    curriculum.observe(Evidence(5, wins=[0] * 5, losses=[0, 0, 9, 0, 0]))
    assert in_box(curriculum) == [2]  # no smaller than at the start
    for step in range(6, 10):
        curriculum.observe(Evidence(step, wins=[2, 2, 2, 2, 2], losses=[0] * 5))
    assert in_box(curriculum) == [0, 1, 2, 3, 4]


def test_ten_notches_of_a_tenth_are_the_whole_pool():
    """In floating point ten times 0.1 is less than 1, and six times 0.05 less than 0.3."""
    pool = TaskPool(np.linspace(0.0, 1.0, 11)[:, None], names=["x"])
    for notch, times, inside in ((0.1, 10, 11), (0.05, 6, 4)):
        strategy = Anneal(start={"x": 0.0}, share=0.0, notch=notch, episodes=1.0)
        curriculum = Curriculum(strategy, pool)
        for step in range(1, times + 1):
            curriculum.observe(Evidence(step, wins=np.ones(11), losses=np.zeros(11)))
        assert len(in_box(curriculum)) == inside


def test_the_box_grows_by_schedule_without_outcomes():
    curriculum = Curriculum(Anneal(share=0.0, steps=1000.0), LINE)
    found = []
    for step in (499, 500, 999, 1000, 10**6):
        curriculum.observe(Evidence(step))
        found.append(len(in_box(curriculum)))
    assert found == [1, 3, 3, 5, 5]


@pytest.mark.parametrize(
    ("start", "share", "sizes"),
    [
        (None, 0.0, [1.0, 0.5, 0.0, 0.5, 1.0]),
        # 0.6 of 5 tasks are 3: the box starts where it holds tasks 1 to 3, half of the way.
        (None, 0.6, [1.0, 0.0, 0.0, 0.0, 1.0]),
        ({"x": (0.0, 1.0)}, 0.0, [0.0, 0.0, 1 / 3, 2 / 3, 1.0]),
        ({"x": 4}, 0.0, [1.0, 0.75, 0.5, 0.25, 0.0]),
        ({"x": 4}, 0.4, [1.0, 2 / 3, 1 / 3, 0.0, 0.0]),  # two tasks: from 1/4 of the way
        # Nothing is in [2.4, 2.6] until it reaches task 3, a share 0.4/1.4 of the way up. Task 2 is
        # a share 0.4/2.4 of the way down: it comes first.
        ({"x": (2.4, 2.6)}, 0.0, None),
        (None, 1.0, [0.0] * 5),
    ],
)
def test_tasks_enter_the_box_in_proportion_to_their_distance(start, share, sizes):
    if sizes is None:
        first, third = 0.4 / 2.4, 0.4 / 1.4
        passed = np.array([1.0, 1.4 / 2.4, first, third, 1.0])
        sizes = (passed - first) / (1 - first)
    assert entry_sizes(LINE, start, share) == pytest.approx(sizes)


def test_every_column_bounds_the_box():
    """Task 1 is in the middle of x, but at the end of y; task 2 the other way round."""
    pool = TaskPool([[0.0, 0.0], [5.0, 8.0], [9.0, 4.0], [10.0, 4.0], [5.0, 4.0]])
    assert entry_sizes(pool, None, 0.0) == pytest.approx([1.0, 1.0, 0.8, 1.0, 0.0])
    assert entry_sizes(pool, {"context_1": 4}, 0.0) == pytest.approx([1.0, 1.0, 0.0, 0.0, 0.0])


def test_a_pool_without_contexts_starts_with_its_first_tasks():
    curriculum = Curriculum(Anneal(share=0.3), TaskPool.from_seeds(10))
    assert in_box(curriculum) == [0, 1, 2]


def test_features_bound_the_box_too():
    pool = TaskPool.from_seeds(3, features={"size": [7.0, 1.0, 3.0]})
    assert entry_sizes(pool, {"size": 1.0}, 0.0) == pytest.approx([1.0, 0.0, 1 / 3])


def test_the_largest_numbers_do_not_overflow():
    pool = TaskPool([[-1.7e308], [0.0], [1.7e308]])
    assert entry_sizes(pool, {"context_0": 1.7e308}, 0.0).tolist() == [1.0, 0.5, 0.0]


def test_the_start_may_be_text():
    expected = Anneal(start={"x": (0.0, 1.5)}, steps=100)
    assert make_strategy("anneal", start="x:0:1.5", steps=100) == expected


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (Anneal(start=OTHER), "start must be ranges of columns, such as {'width': (0.5, 1.0)}"),
        (Anneal(start={"y": 1.0}), "start: column 'y' is not known. Known columns: x"),
        (Anneal(share=-0.1), "share must be a finite number of at least 0 and at most 1, got -0.1"),
        (Anneal(steps=0.0), "steps must be a finite number above 0, got 0.0"),
        (Anneal(above=0.2), "below must be at most above=0.2, got below=0.3: the box would"),
        (Anneal(notch=0.0), "notch must be a finite number above 0 and at most 1, got 0.0"),
        (Anneal(episodes=0.0), "episodes must be a finite number above 0, got 0.0"),
    ],
)
def test_bad_settings_are_refused(strategy, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        Curriculum(strategy, LINE)


def test_a_box_needs_a_pool():
    with pytest.raises(ValueError, match=r"call strategy.bind\(pool\) first"):
        Anneal().init(4)


def test_metrics_show_the_size_of_the_box():
    curriculum = Curriculum(Anneal(steps=1000.0), LINE)
    assert curriculum.metrics().strategy == {"box_size": 0.0}
    curriculum.observe(Evidence(250))
    assert curriculum.metrics().strategy == {"box_size": 0.25}
