"""The shift of all estimates by what the latest episodes show."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import Evidence, OutcomeSuccess
from procurl.success.drift import Drift, follow_drift, no_drift, shifted


def test_one_step_worked_by_hand():
    """Eight wins where 0.5 was predicted: (8 − 4)/(8·0.25 + 2) = 1 logit, which is 0.73."""
    predicted = np.array([0.5, 0.2])
    drift = follow_drift(no_drift(), predicted, np.array([8.0, 0.0]), np.zeros(2))
    assert drift.shift == pytest.approx(1.0)
    assert drift.information == pytest.approx(2.0)
    assert shifted(predicted, drift)[0] == pytest.approx(1 / (1 + np.exp(-1)))


def test_no_shift_leaves_estimates_as_they_are():
    estimate = np.array([0.0, 1e-5, 0.3, 1.0])
    np.testing.assert_array_equal(shifted(estimate, no_drift()), estimate)


def test_the_order_of_tasks_stays():
    estimate = np.linspace(0.01, 0.99, 20)
    for shift in (-4.0, -0.5, 2.0):
        moved = shifted(estimate, Drift(np.float64(shift), np.float64(1.0)))
        assert (np.diff(moved) > 0).all()
        assert ((moved - estimate) * shift > 0).all()


def test_predictions_that_hold_are_not_shifted():
    rng = np.random.default_rng(0)
    p = rng.random(50)
    drift = no_drift()
    shifts = []
    for _ in range(200):
        played = rng.integers(0, 2, 50)
        wins = rng.binomial(played, p)
        drift = follow_drift(drift, shifted(p, drift), wins, played - wins)
        shifts.append(float(drift.shift))
    assert abs(np.mean(shifts[20:])) < 0.1
    assert np.max(np.abs(shifts[20:])) < 1.5


def test_an_agent_that_improves_everywhere_is_followed_before_every_task_was_played():
    """Of 2,000 tasks, each played about once at success 0.2, 160 are played at 0.8."""
    rng = np.random.default_rng(1)
    n = 2_000
    success = OutcomeSuccess()
    state = success.init(n)
    for step in range(60):
        p = 0.2 if step < 50 else 0.8
        played = np.bincount(rng.integers(n, size=40 if step < 50 else 16), minlength=n)
        wins = rng.binomial(played, p)
        state = success.update(state, Evidence(step, wins=wins, losses=played - wins))
        if step == 49:
            before = float(np.mean(success.probability(state)))
    after = float(np.mean(success.probability(state)))
    assert before < 0.45
    assert after > 0.65


def test_the_first_evidence_contradicts_no_prediction():
    success = OutcomeSuccess()
    evidence = Evidence(1, wins=np.array([3.0, 0]), losses=np.array([1.0, 1]))
    assert success.update(success.init(2), evidence).drift.shift == 0.0


def test_outcomes_that_fade_by_steps_have_no_drift():
    success = OutcomeSuccess(decay_steps=1024.0)
    state = success.init(1)
    for step in range(5):
        state = success.update(state, Evidence(step, wins=np.ones(1), losses=np.zeros(1)))
    assert state.drift.shift == 0.0


def test_jax_agrees_with_numpy():
    rng = np.random.default_rng(2)
    predicted, wins, losses = rng.random(9), 3 * rng.random(9), 3 * rng.random(9)
    start = Drift(np.float64(0.4), np.float64(2.0))
    there = jax.jit(follow_drift)(*jax.tree.map(jnp.asarray, (start, predicted, wins, losses)))
    np.testing.assert_allclose(follow_drift(start, predicted, wins, losses), there, atol=1e-5)
