"""The critic's values as probabilities: fits whose answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import CriticSuccess, Evidence, Scale
from procurl.success import calibrate

NOT_UNIT = Scale(np.float64(-200.0), np.float64(0.0), np.bool_(False))
UNIT = Scale(np.float64(0.0), np.float64(1.0), np.bool_(True))


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def test_a_logistic_relation_is_found():
    """p = σ(1 + 0.05·(V + 40)), with many episodes on every task."""
    values = np.linspace(-100.0, 20.0, 50)
    p = logistic(1.0 + 0.05 * (values + 40.0))
    np.testing.assert_allclose(calibrate(values, 500 * p, 500 * (1 - p)), p, atol=1e-3)


def test_the_scale_and_offset_of_the_critic_do_not_matter():
    """A bonus of 976 on every value, or values a thousand times as large, change nothing."""
    rng = np.random.default_rng(0)
    values, wins, losses = rng.normal(size=30), rng.random(30), rng.random(30)
    once = calibrate(values, wins, losses)
    np.testing.assert_allclose(calibrate(values + 976.0, wins, losses), once, atol=1e-6)
    np.testing.assert_allclose(calibrate(1e3 * values, wins, losses), once, atol=1e-6)


def test_equal_values_give_the_rate_of_success():
    """A tenth of a win and of a loss are added: 3.1/4.2."""
    p = calibrate(np.full(3, 7.0), np.array([3.0, 0, 0]), np.array([0, 1.0, 0]))
    np.testing.assert_allclose(p, 3.1 / 4.2, atol=1e-6)


def test_a_critic_that_contradicts_the_outcomes_is_ignored():
    """The slope stays at 0: all tasks have the rate of success, 10.1/20.2 = 0.5."""
    p = calibrate(np.array([0.0, 1.0]), np.array([10.0, 0.0]), np.array([0.0, 10.0]))
    np.testing.assert_allclose(p, 0.5, atol=1e-6)


def test_separated_outcomes_stay_within_reach():
    p = calibrate(np.array([0.0, 1.0]), np.array([0.0, 50.0]), np.array([50.0, 0.0]))
    assert 0.0 < p[0] < 0.05
    assert 0.95 < p[1] < 1.0


def test_nothing_played_gives_one_half():
    np.testing.assert_allclose(calibrate(np.arange(3.0), np.zeros(3), np.zeros(3)), 0.5)


def test_a_value_that_is_not_finite_has_no_part_in_the_fit():
    values, wins, losses = np.arange(4.0), np.array([0, 1.0, 2, 3]), np.array([3.0, 2, 1, 0])
    known = calibrate(values[:3], wins[:3], losses[:3])
    p = calibrate(np.array([0.0, 1, 2, np.nan]), wins, losses)
    np.testing.assert_allclose(p[:3], known, atol=1e-9)
    assert np.isnan(p[3])


def test_jax_agrees_with_numpy():
    rng = np.random.default_rng(1)
    values, wins, losses = rng.normal(50.0, 20.0, 40), 3 * rng.random(40), 3 * rng.random(40)
    there = jax.jit(calibrate)(*map(jnp.asarray, (values, wins, losses)))
    np.testing.assert_allclose(calibrate(values, wins, losses), there, atol=1e-4)


@pytest.mark.parametrize("scale", [UNIT, None])
def test_values_of_rewards_of_zero_and_one_are_used_as_they_are(scale):
    success = CriticSuccess()
    values = np.array([-0.2, 0.37, 1.3])
    evidence = Evidence(1, values=values, wins=np.ones(3), losses=np.ones(3), scale=scale)
    state = success.update(success.init(3), evidence)
    np.testing.assert_array_equal(state.estimate, values)


@pytest.mark.parametrize("counts", [{"wins": np.ones(3)}, {"losses": np.ones(3)}])
def test_values_are_used_as_they_are_if_half_of_the_outcomes_is_missing(counts):
    success = CriticSuccess()
    values = np.array([-0.2, 0.37, 1.3])
    evidence = Evidence(1, values=values, scale=NOT_UNIT, **counts)
    np.testing.assert_array_equal(success.update(success.init(3), evidence).estimate, values)


def test_other_values_are_calibrated_by_recent_episodes():
    success = CriticSuccess()
    values = np.array([-150.0, -60.0, -20.0])
    wins, losses = np.array([0.0, 2.0, 4.0]), np.array([4.0, 2.0, 0.0])
    evidence = Evidence(1, values=values, wins=wins, losses=losses, scale=NOT_UNIT)
    state = success.update(success.init(3), evidence)
    np.testing.assert_array_equal(state.estimate, calibrate(values, wins, losses))
    assert np.all(np.diff(state.estimate) > 0.2)
