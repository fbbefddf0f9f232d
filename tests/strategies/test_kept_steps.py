"""Which steps an agent learns from, worked by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.strategies.kept_steps import kept_steps

MASK = np.array([True, False, True])
both = pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])


def kept(xp, tasks, mask=MASK):
    positions, some = kept_steps(xp.asarray(mask), xp.asarray(tasks))
    return np.asarray(positions).tolist(), bool(some)


@both
def test_steps_on_excluded_tasks_give_way_to_copies_of_the_others(xp):
    """Steps 0, 3 and 4 count; seven places: each twice, the first three times."""
    assert kept(xp, [2, 1, 1, 0, 2, 1, 1]) == ([0, 3, 4, 0, 3, 4, 0], True)


@both
def test_if_all_count_all_stay_in_place(xp):
    assert kept(xp, [0, 2, 2, 0]) == ([0, 1, 2, 3], True)


@both
def test_if_none_counts_it_says_so(xp):
    positions, some = kept(xp, [1, 1, 1])
    assert not some
    assert set(positions) <= {0, 1, 2}


def test_each_run_of_a_batch_has_its_own():
    masks = jnp.asarray([MASK, ~MASK])
    tasks = jnp.asarray([[0, 1, 1], [0, 1, 1]])
    positions, some = jax.jit(jax.vmap(kept_steps))(masks, tasks)
    assert positions.tolist() == [[0, 0, 0], [1, 2, 1]]
    assert some.tolist() == [True, True]
