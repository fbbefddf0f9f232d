"""Spaces draw tasks within their bounds, repeatably, and name wrong arguments."""

import numpy as np
import pytest

from procurl import TaskPool, TaskSpace
from procurl.tasks.space import replace_tasks


def test_contexts_lie_within_the_bounds_and_fill_them():
    space = TaskSpace([0.0, -2.0, 7.0], [1.0, 2.0, 7.0], names=["a", "b", "c"])
    pool = space.pool(2_000, seed=3)
    assert pool.names == ("a", "b", "c")
    assert (pool.contexts >= space.low).all()
    assert (pool.contexts <= space.high).all()
    np.testing.assert_allclose(pool.contexts.mean(axis=0), [0.5, 0.0, 7.0], atol=0.1)
    np.testing.assert_allclose(np.ptp(pool.contexts, axis=0), [1.0, 4.0, 0.0], atol=0.05)


def test_the_same_seed_draws_the_same_tasks():
    space = TaskSpace([0.0], [1.0], size=5)
    assert space.pool(seed=1).fingerprint == space.pool(seed=1).fingerprint
    assert space.pool(seed=1).fingerprint != space.pool(seed=2).fingerprint
    assert len(space.pool()) == 5


def test_a_function_draws_contexts_or_objects():
    rows = TaskSpace(sample=lambda rng, count: rng.normal(size=(count, 2)), names=["x", "y"])
    assert rows.pool(3).names == ("x", "y")
    words = TaskSpace(sample=lambda rng, count: [{"n": int(rng.integers(9))} for _ in range(count)])
    assert words.pool(3).contexts is None
    assert set(words.pool(3)[0]) == {"n"}


def test_fresh_seeds_are_never_known_ones():
    space = TaskSpace.from_seeds(10, 19, size=5)
    known = space.pool(seed=0)
    fresh = space.draw(5, np.random.default_rng(1), known)
    assert {*known.seeds.tolist(), *fresh.seeds.tolist()} == set(range(10, 20))


@pytest.mark.parametrize(
    ("pool", "new"),
    [
        (TaskPool([[1.0], [2.0], [3.0]], names=["a"]), TaskPool([[8.0], [9.0]], names=["a"])),
        (TaskPool.from_seeds([1, 2, 3]), TaskPool.from_seeds([8, 9])),
        (TaskPool(["1", "2", "3"]), TaskPool(["8", "9"])),
    ],
)
def test_replaced_tasks_take_the_places_of_the_old(pool, new):
    after = replace_tasks(pool, np.array([0, 2]), new)
    assert [after[0], after[1], after[2]] == [new[0], pool[1], new[1]]
    assert after.names == pool.names
    assert (after.seeds is None) == (pool.seeds is None)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((), {}, "pass either low and high, or sample"),
        (([0],), {"sample": len}, "pass either low and high, or sample"),
        ((), {"sample": 3}, "sample must be a function of (rng, count), got 3"),
        (([1.0], [0.0]), {}, "high must be at least low in each column"),
        (([-1e308], [1e308]), {}, "high − low must be finite in each column"),
        (([0.0, 0.0], [1.0]), {}, "low and high must have equally many columns, got 2 and 1"),
        (([[0.0]], [1.0]), {}, "low must hold one finite number per context column"),
        (([0.0], [np.inf]), {}, "high must hold one finite number per context column"),
        ((["a"], [1.0]), {}, "low must hold one number per column, got ['a']"),
        (([0.0], [1.0], ["a", "b"]), {}, "names must name the 1 context columns"),
        (([0.0, 0.0], [1.0, 1.0], "ab"), {}, "names must be a list of one name per context column"),
        (([0.0], [1.0]), {"fresh": 1.5}, "fresh must be"),
        (([0.0], [1.0]), {"size": 0}, "size must be"),
    ],
)
def test_wrong_arguments_are_named(arguments, settings, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        TaskSpace(*arguments, **settings)
    assert message in str(caught.value)


def test_a_function_that_returns_something_else_is_named():
    with pytest.raises(ValueError, match="sample must return 3 tasks, as requested, got 1"):
        TaskSpace(sample=lambda rng, count: [[1.0]]).pool(3)
    widths = iter([1, 2])
    space = TaskSpace(sample=lambda rng, count: np.zeros((count, next(widths))))
    pool = space.pool(2)
    with pytest.raises(ValueError, match="same context columns, got context_0, context_1 after"):
        space.draw(2, np.random.default_rng(0), pool)


def test_too_few_seeds_are_named():
    with pytest.raises(ValueError, match="at least 2000 seeds, twice the candidates, got the 100"):
        TaskSpace.from_seeds(0, 99)
