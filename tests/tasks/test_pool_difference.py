"""How a pool differs from another one, in words."""

import pytest

from procurl import TaskPool
from procurl.tasks.pool_difference import pool_difference, pools_difference


def lengths(*values):
    return TaskPool([[value] for value in values], names=["length"])


@pytest.mark.parametrize(
    ("there", "wanted", "words"),
    [
        (
            lengths(1, 2),
            TaskPool.from_seeds(2),
            "is TaskPool(2 tasks, contexts: length), not TaskPool(2 seeds)",
        ),
        (
            lengths(1),
            TaskPool([[1, 2]], names=["length", "mass"]),
            "has the columns length, not length, mass",
        ),
        (lengths(1, 2), lengths(1, 2, 3), "has 2 tasks, not 3"),
        (
            lengths(1, 2, 3),
            lengths(1, 4),
            "has 3 tasks, not 2, and differs from task 1 (length=2, not length=4) on",
        ),
        (
            lengths(1, 2, 3),
            lengths(1, 2.5, 4),
            "differs in 2 of 3 tasks, first in task 1 (length=2, not length=2.5)",
        ),
        (
            lengths(1 / 3),
            lengths(0.333333),
            "differs in 1 of 1 tasks, first in task 0 (length=0.3333333333333333, not "
            "length=0.333333)",
        ),
        (lengths(1, 2), lengths(2, 1), "has the same tasks in another order"),
        (TaskPool.from_seeds(2), TaskPool.from_seeds(3), "has 2 tasks, not 3"),
        (
            TaskPool.from_seeds([4, 5]),
            TaskPool.from_seeds([4, 6]),
            "differs in 1 of 2 tasks, first in task 1 (seed 5, not seed 6)",
        ),
        (
            TaskPool([{"level": "maze"}]),
            TaskPool([{"level": "cave"}]),
            'differs in 1 of 1 tasks, first in task 0 ({"level": "maze"}, not {"level": "cave"})',
        ),
    ],
)
def test_what_differs_first_is_said(there, wanted, words):
    assert there.fingerprint != wanted.fingerprint
    assert pool_difference(there, wanted) == words


def test_a_long_task_is_shortened():
    there, wanted = (TaskPool([{"map": " ".join([letter] * 500)}]) for letter in "ab")
    assert len(pool_difference(there, wanted)) < 300


def test_of_several_pools_the_first_that_differs_is_named():
    there, wanted = [lengths(1), lengths(2)], [lengths(1), lengths(3)]
    assert pools_difference(there, wanted).startswith("its training pool 2 of 2 differs in 1 of 1")
