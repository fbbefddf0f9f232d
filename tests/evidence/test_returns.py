"""The range of returns: exact for rewards of 0 and 1, robust and remembered for all others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.evidence import add_returns, measured_outcomes, no_returns, scale_of
from procurl.evidence.returns import WINDOW


def after(*batches, success=None):
    seen = no_returns()
    for returns in batches:
        returns = np.asarray(returns, dtype=float)
        flags = np.full(len(returns), np.nan) if success is None else np.asarray(success, float)
        seen = add_returns(seen, returns, flags)
    return seen


def bounds(seen, measure="auto"):
    scale = scale_of(seen, measure)
    return float(scale.low), float(scale.high), bool(scale.unit)


@pytest.mark.parametrize("returns", [[], [0.0] * 50, [1.0] * 50, [0.0, 1.0] * 400])
def test_returns_of_zero_and_one_have_exactly_these_bounds(returns):
    assert bounds(after(returns)) == (0.0, 1.0, True)


def test_other_returns_give_their_range():
    assert bounds(after([-5.0, 10.0, 2.0])) == (-5.0, 10.0, False)


def test_outliers_do_not_count():
    """Five of 300 lie in the tails of 2% at either end."""
    usual = np.linspace(0.0, 10.0, 290)
    low, high, _ = bounds(after(np.concatenate([usual, [-1e6] * 5, [1e6] * 5])))
    assert -0.1 < low < 0.5
    assert 9.5 < high < 10.1


def test_the_range_follows_training_and_remembers_the_beginning():
    rising = [np.random.default_rng(i).uniform(i, i + 10.0, 200) for i in range(60)]
    low, high, _ = bounds(after(*rising))
    assert 0.0 <= low < 25.0  # 12,000 episodes later, the beginning is half forgotten
    assert 65.0 < high < 69.0


def test_the_window_holds_the_latest_episodes():
    seen = after(np.arange(WINDOW), np.arange(WINDOW, WINDOW + 10.0))
    assert sorted(seen.latest) == list(range(10, WINDOW + 10))
    assert float(seen.count) == WINDOW + 10


def test_many_episodes_at_once_are_drawn_from_evenly():
    low, high, _ = bounds(after(np.repeat(np.arange(100.0), 50)))
    assert low < 4.0
    assert high > 95.0


def test_all_of_many_episodes_at_once_count_as_seen():
    """Half of them are not finite; after 20,000 others the beginning is forgotten."""
    half = np.where(np.arange(2000) % 2, 7.0, np.nan)
    seen = after(half)
    assert float(seen.count) == 1000
    assert bounds(seen) == (7.0, 7.0, False)
    assert bounds(after(half, np.full(20_000, 3.0))) == (3.0, 3.0, False)


def test_success_is_used_if_every_episode_reports_it():
    reported = after([-30.0, -200.0], success=[1, 0])
    assert bounds(reported) == (0.0, 1.0, False)
    assert bounds(reported, "return") == (-200.0, -30.0, False)
    returns, success = np.array([-30.0]), np.array([1.0])
    assert measured_outcomes(reported, "auto", returns, success) == [1.0]
    assert measured_outcomes(reported, "return", returns, success) == [-30.0]
    sometimes = after([-30.0, -200.0], success=[1, np.nan])
    assert bounds(sometimes) == (-200.0, -30.0, False)
    assert measured_outcomes(sometimes, "auto", returns, success) == [-30.0]
    assert bounds(sometimes, "success") == (0.0, 1.0, False)


def test_non_finite_returns_are_left_out():
    assert bounds(after([1.5, np.nan, np.inf, 3.0])) == (1.5, 3.0, False)


def test_jax_agrees_with_numpy_on_episodes_among_other_steps():
    rng = np.random.default_rng(0)
    here, there = no_returns(), no_returns(jnp)
    add = jax.jit(add_returns)
    for i in range(12):
        returns = rng.normal(i, 3.0, 200).astype(np.float32)
        ended, success = rng.random(200) < 0.4, (rng.random(200) < 0.5).astype(np.float32)
        here = add_returns(here, returns, success, ended)
        there = add(there, *map(jnp.asarray, (returns, success, ended)))
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert not here.unit
    assert here.reported
