"""The teacher's rollouts: means worked by hand, and which tasks are drawn for them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.evidence import average_rollouts, draw_without_replacement, measured_only

MEASURED = np.array([[0.0, 0.5, 1.0, 0.25, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
both = pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])


@both
@pytest.mark.parametrize(
    ("fraction", "top"), [(0.01, 1.0), (0.2, 1.0), (0.4, 0.75), (0.7, 0.4375), (1.0, 0.35)]
)
def test_averages_all_episodes_and_the_best_of_them(xp, fraction, top):
    means = average_rollouts(xp.asarray(MEASURED), fraction)
    assert np.asarray(means.rollout_success).tolist() == pytest.approx([0.35, 1.0])
    assert np.asarray(means.rollout_top).tolist() == pytest.approx([top, 1.0])
    assert np.asarray(means.rollouts).tolist() == [5.0, 5.0]


@both
def test_rollouts_on_part_of_the_pool_leave_the_other_tasks_at_zero(xp):
    means = average_rollouts(xp.asarray(MEASURED), 0.4, tasks=xp.asarray([3, 1]), n=5)
    assert np.asarray(means.rollout_success).tolist() == pytest.approx([0, 1.0, 0, 0.35, 0])
    assert np.asarray(means.rollout_top).tolist() == pytest.approx([0, 1.0, 0, 0.75, 0])
    assert np.asarray(means.rollouts).tolist() == [0, 5, 0, 5, 0]


@both
def test_tasks_without_rollouts_have_no_measurement(xp):
    values = xp.asarray([0.5, 0.0, 0.0])
    got = measured_only(values, xp.asarray([4, 0, 4]))
    np.testing.assert_array_equal(got, [0.5, np.nan, 0.0])
    assert measured_only(values, None) is values


def gumbel(seed, shape):
    return np.random.default_rng(seed).gumbel(size=shape)


@both
def test_draws_are_different_tasks_in_order(xp):
    for seed in range(20):
        ids = np.asarray(draw_without_replacement(None, xp.asarray(gumbel(seed, 50)), 20))
        assert len(set(ids.tolist())) == 20
        assert (np.diff(ids) > 0).all()
        assert ids[0] >= 0
        assert ids[-1] < 50


def test_all_tasks_are_drawn_if_as_many_are_wanted():
    assert draw_without_replacement(None, gumbel(0, 5), 5).tolist() == [0, 1, 2, 3, 4]


def pairs(weights):
    """How often each pair of three tasks is drawn, as a share of 20,000 draws."""
    noise = jnp.asarray(gumbel(0, (20_000, 3)))
    drawn = jax.vmap(lambda row: draw_without_replacement(weights, row, 2))(noise)
    ids, counts = np.unique(np.asarray(drawn), axis=0, return_counts=True)
    return {tuple(pair): count / 20_000 for pair, count in zip(ids.tolist(), counts, strict=True)}


def test_draws_follow_the_weights_that_are_left():
    """Weights 1/2, 1/3, 1/6, two draws without replacement.

    P{0, 1} = 1/2 · (1/3)/(1/2) + 1/3 · (1/2)/(2/3) = 1/3 + 1/4 = 7/12,
    P{0, 2} = 1/2 · (1/6)/(1/2) + 1/6 · (1/2)/(5/6) = 1/6 + 1/10 = 4/15,
    P{1, 2} = 1 − 7/12 − 4/15 = 3/20. The standard error of a share is 0.0035 at most.
    """
    found = pairs(jnp.asarray([3.0, 2.0, 1.0]))
    expected = {(0, 1): 7 / 12, (0, 2): 4 / 15, (1, 2): 3 / 20}
    assert found == pytest.approx(expected, abs=0.014)


def test_without_weights_all_tasks_are_alike():
    assert pairs(None) == pytest.approx(dict.fromkeys([(0, 1), (0, 2), (1, 2)], 1 / 3), abs=0.014)


def test_a_task_of_weight_zero_is_drawn_only_if_others_are_too_few():
    """Task 1 alone has a weight, however small: it is in every pair."""
    found = pairs(jnp.asarray([0.0, 1e-37, 0.0]))
    assert found == pytest.approx({(0, 1): 0.5, (1, 2): 0.5}, abs=0.014)
