"""Array functions that NumPy and JAX compute in different ways."""

import jax.numpy as jnp
import numpy as np
import pytest

from procurl.internals.arrays import BLOCK, LARGE, by_blocks, largest_ids, pool_array, ranks

both = pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])


@both
def test_ranks_count_from_the_highest_and_keep_the_order_of_equals(xp):
    """Among 3, 1, 3 and 2, without the 9: ranks 1, 4, 2 and 3."""
    values = xp.asarray([3.0, 9.0, 1.0, 3.0, 2.0])
    among = xp.asarray([True, False, True, True, True])
    found = np.asarray(ranks(values, among))
    assert found[[0, 2, 3, 4]].tolist() == [1, 4, 2, 3]
    assert found[1] >= 5


@both
def test_without_a_value_to_rank_all_come_last(xp):
    assert (np.asarray(ranks(xp.zeros(3), xp.zeros(3, dtype=bool))) >= 1).all()


def test_ranks_agree_on_many_equal_values():
    rng = np.random.default_rng(0)
    values, among = rng.integers(0, 5, 200) * 1.0, rng.random(200) < 0.5
    here, there = ranks(values, among), ranks(jnp.asarray(values), jnp.asarray(among))
    np.testing.assert_array_equal(here[among], np.asarray(there)[among])


@both
def test_the_largest_by_position(xp):
    assert np.asarray(largest_ids(xp.asarray([5.0, -1.0, 7.0, 6.0]), 2)).tolist() == [2, 3]


def test_blocks_give_what_the_whole_gives():
    n = 2 * BLOCK + 17
    a, b = np.random.default_rng(0).random((2, n))
    rows = np.stack([a, b], axis=1)

    def compute(a, b, rows):
        return np.exp(a) * b, (a > b), rows[:, ::-1] + 1.0

    for whole, by_block in zip(compute(a, b, rows), by_blocks(compute, a, b, rows), strict=True):
        assert by_block.dtype == whole.dtype
        np.testing.assert_array_equal(by_block, whole)
    np.testing.assert_array_equal(by_blocks(lambda a: a * 2.0, a), a * 2.0)


def test_large_pools_are_in_single_precision():
    assert pool_array(LARGE - 1, 0.5).dtype == np.float64
    assert pool_array(LARGE, 0.5).dtype == np.float32
    assert (pool_array(3, 0.5) == 0.5).all()
