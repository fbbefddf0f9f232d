"""SPDL's step: hand-worked cases, then the solver against scipy on random problems."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from procurl import SPDL, Evidence, make_strategy
from procurl.internals.pytrees import register_settings
from procurl.strategies.baselines.self_paced_step import MAX_SPREAD, self_paced_step
from procurl.strategies.baselines.spdl import SPDLState


def step_from(q, values, threshold, max_kl, **options):
    return np.exp(self_paced_step(np.log(q), np.asarray(values), threshold, max_kl, **options))


def kl(p, q) -> float:
    return float(np.sum(p * (np.log(p) - np.log(q))))


def test_stays_uniform_when_uniform_meets_the_threshold():
    assert step_from([0.25] * 4, [0.2, 0.4, 0.8, 1.0], 0.5, 0.2) == pytest.approx([0.25] * 4)


def test_returns_to_uniform_when_both_bounds_allow_it():
    """KL(uniform‖q) of q = (0.6, 0.4) is ½·ln(0.25/0.24) = 0.0204, less than 0.2."""
    assert step_from([0.6, 0.4], [1.0, 0.0], 0.3, 0.2) == pytest.approx([0.5, 0.5])


def test_meets_the_threshold_exactly_where_it_binds():
    """Two tasks of value 1 and 0, δ = 0.7: p = (0.7, 0.3); KL to (0.8, 0.2) is 0.0282 < 0.2."""
    assert step_from([0.8, 0.2], [1.0, 0.0], 0.7, 0.2) == pytest.approx([0.7, 0.3])


def test_below_the_threshold_it_climbs_by_the_whole_step():
    """q uniform over values 1 and 0, δ = 0.95: the p with KL(p‖u) = 0.2 has E < δ, so it is kept.

    p·ln(2p) + (1 − p)·ln(2(1 − p)) = 0.2 at p = 0.805173.
    """
    p = step_from([0.5, 0.5], [1.0, 0.0], 0.95, 0.2)
    assert kl(p, np.array([0.5, 0.5])) == pytest.approx(0.2, abs=1e-12)
    assert p[0] == pytest.approx(0.805173, abs=1e-6)


def test_below_the_threshold_within_reach_it_takes_the_widest_that_meets_it():
    """As above with δ = 0.7 within reach: p = (0.7, 0.3). In full steps it climbs to 0.805173."""
    assert step_from([0.5, 0.5], [1.0, 0.0], 0.7, 0.2) == pytest.approx([0.7, 0.3])
    full = step_from([0.5, 0.5], [1.0, 0.0], 0.7, 0.2, full_step=True)
    assert full[0] == pytest.approx(0.805173, abs=1e-6)


def test_performance_equal_to_the_threshold_is_not_a_special_case():
    q = np.array([0.5, 0.3, 0.2])
    values = np.array([0.2, 0.5, 0.9])
    p = step_from(q, values, float(q @ values), 0.2)
    assert p @ values >= q @ values - 1e-12
    assert p.sum() == pytest.approx(1.0)


def test_a_threshold_that_only_the_full_step_meets_returns_the_full_step():
    full = step_from([0.5, 0.5], [1.0, 0.0], 1.0, 0.2)
    assert step_from([0.5, 0.5], [1.0, 0.0], full[0], 0.2) == pytest.approx(full, abs=1e-6)


@pytest.mark.parametrize("threshold", [-1e6, -1.0, 0.3, 5.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("value", [0.3, 0.0, -7.0])
def test_equal_values_give_a_proper_distribution(threshold, n, value):
    q = np.random.default_rng(0).dirichlet(np.ones(n))
    p = step_from(q, np.full(n, value), threshold, 0.2)
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1.0)
    if value >= threshold:
        assert kl(p, q) <= 0.2 + 1e-9
    else:
        assert p == pytest.approx(q)


def test_a_threshold_never_met_concentrates_but_no_task_is_lost():
    strategy = SPDL(threshold=2.0, max_kl=0.5)
    state = strategy.init(50)
    values = np.random.default_rng(1).random(50)
    for i in range(200):
        state = strategy.update(state, Evidence(i, values))
    p = strategy.probabilities(state)
    assert p[np.argmax(values)] > 0.999
    assert p.min() >= np.exp(-MAX_SPREAD) / 50
    for i in range(200):  # once every threshold is met, all tasks come back
        state = strategy.update(state, Evidence(i, values + 2.0))
    assert strategy.probabilities(state) == pytest.approx(np.full(50, 0.02), rel=1e-6)


@pytest.mark.parametrize("floor", [0.0, 0.2, 1.0])
def test_a_floor_keeps_every_task_in_play_and_the_steps_as_they_were(floor):
    """(1 − floor)·p + floor/n, with p the distribution of a strategy without a floor."""
    values = np.array([0.1, 0.4, 0.3, 0.0, 0.2])
    plain, floored = SPDL(threshold=2.0), SPDL(threshold=2.0, floor=floor)
    register_settings(floored)
    compiled = jax.jit(lambda strategy, state: strategy.probabilities(state))
    state = other = plain.init(5)
    for i in range(30):
        expected = (1.0 - floor) * plain.probabilities(state) + floor / 5
        assert floored.probabilities(other) == pytest.approx(expected, abs=1e-12)
        traced = compiled(floored, SPDLState(*map(jnp.asarray, other)))
        np.testing.assert_allclose(traced, expected, atol=1e-6)
        state = plain.update(state, Evidence(i, values))
        other = floored.update(other, Evidence(i, values))
    assert expected[1] == pytest.approx(1.0 - floor + floor / 5, abs=1e-6)
    assert expected.min() >= floor / 5


def test_scaling_values_and_threshold_together_changes_nothing():
    rng = np.random.default_rng(3)
    q, values = rng.dirichlet(np.ones(20)), rng.random(20)
    one = step_from(q, values, 0.6, 0.1)
    assert step_from(q, 300 * values - 40, 300 * 0.6 - 40, 0.1) == pytest.approx(one, rel=1e-7)


class Problem(NamedTuple):
    q: np.ndarray
    values: np.ndarray
    threshold: float
    max_kl: float


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    values = rng.random(n) if seed % 3 else rng.normal(size=n) * 10
    q = np.maximum(rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0]))), 1e-6)
    low, high = values.min(), values.max()
    threshold = low + (high - low) * rng.uniform(-0.1, 1.1)
    return Problem(q / q.sum(), values, threshold, float(rng.choice([0.01, 0.05, 0.2, 0.5, 2.0])))


def best_by_scipy(problem: Problem, objective: Callable, meet_threshold: bool, starts) -> float:
    """The smallest feasible objective that SLSQP finds from any of `starts`.

    Args:
        objective: p to its value and its gradient.
    """
    span = np.ptp(problem.values)

    def log_ratio(p):
        return np.log(np.maximum(p, 1e-300)) - np.log(problem.q)

    constraints: list[dict[str, Any]] = [
        {
            "type": "ineq",
            "fun": lambda p: problem.max_kl - np.sum(p * log_ratio(p)),
            "jac": lambda p: -log_ratio(p) - 1.0,
        },
        {"type": "eq", "fun": lambda p: p.sum() - 1.0, "jac": np.ones_like},
    ]
    if meet_threshold:
        mean = {
            "type": "ineq",
            "fun": lambda p: (p @ problem.values - problem.threshold) / span,
            "jac": lambda p: problem.values / span,
        }
        constraints.append(mean)
    found = []
    for start in starts:
        result = minimize(
            objective,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(1e-12, 1.0)] * len(problem.q),
            constraints=constraints,
            options={"maxiter": 500, "ftol": 1e-14},
        )
        slack = [c["fun"](result.x) * (1 if c["type"] == "ineq" else -1) for c in constraints]
        if min(slack) > -1e-8 and abs(result.x.sum() - 1) < 1e-8:
            found.append(result.fun)
    return min(found) if found else np.inf


def loss(values, p) -> tuple[float, np.ndarray]:
    return -float(p @ values), -values


def distance(p) -> float:
    """KL(p‖uniform)."""
    return float(np.sum(p * np.log(np.maximum(p, 1e-300))) + np.log(len(p)))


def distance_with_gradient(p) -> tuple[float, np.ndarray]:
    return distance(p), np.log(np.maximum(p, 1e-300)) + 1.0


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
@pytest.mark.parametrize("seeds", [range(k, k + 50) for k in range(0, 300, 50)], ids=str)
def test_solver_against_scipy(seeds):
    """300 problems: constraints within 1e-6, objective no worse than scipy's by 1e-6."""
    compared = 0
    for seed in seeds:
        problem = random_problem(seed)
        q, values, threshold, max_kl = problem
        p = step_from(q, values, threshold, max_kl)
        span = np.ptp(values)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert kl(p, q) <= max_kl + 1e-6
        out_of_reach = False
        if q @ values < threshold:
            best = -best_by_scipy(problem, partial(loss, values / span), False, [q, p]) * span
            out_of_reach = best < threshold - 1e-9 * span
            if out_of_reach:
                assert (best - p @ values) / span <= 1e-6
                compared += 1
        if not out_of_reach:
            assert (threshold - p @ values) / span <= 1e-6
            starts = [q, p, np.full(len(q), 1 / len(q))]
            best = best_by_scipy(problem, distance_with_gradient, True, starts)
            assert distance(p) - best <= 1e-6
            compared += np.isfinite(best)
    assert compared >= 45, "scipy must have solved nearly all of them, or nothing was compared"


@pytest.mark.soak
def test_jax_in_double_precision_equals_numpy():
    with jax.enable_x64(True):
        step = jax.jit(self_paced_step)
        for seed in range(40):
            q, values, threshold, max_kl = random_problem(seed)
            got = step(jnp.log(q), jnp.asarray(values), threshold, max_kl)
            expected = self_paced_step(np.log(q), values, threshold, max_kl)
            np.testing.assert_allclose(np.exp(got), np.exp(expected), atol=1e-9)


def test_single_precision_keeps_the_constraints():
    """float32 on a pool of Karel's size, under jit and vmap over thresholds and step sizes."""
    values = jnp.asarray(np.random.default_rng(0).random(24_000), dtype=jnp.float32)
    log_q = jnp.full(24_000, -np.log(24_000), dtype=jnp.float32)
    thresholds = jnp.asarray([0.3, 0.55, 0.7, 0.99], dtype=jnp.float32)
    max_kls = jnp.asarray([0.1, 0.2, 0.5, 0.2], dtype=jnp.float32)
    step = jax.jit(jax.vmap(lambda t, k: self_paced_step(log_q, values, t, k)))
    for p, threshold, max_kl in zip(
        np.exp(
            np.asarray(step(thresholds, max_kls), dtype=float),
        ),
        thresholds,
        max_kls,
        strict=True,
    ):
        assert p.sum() == pytest.approx(1.0, abs=1e-4)
        assert np.sum(p * np.log(p * 24_000)) <= max_kl + 1e-3
        reachable = threshold < 0.8
        assert (p @ np.asarray(values) >= threshold - 1e-3) == reachable


def test_single_precision_keeps_what_was_between_tasks_of_the_largest_value():
    """No tilt rounds it away, and with it the bound on the step."""
    q = np.array([0.868, 0.0432, 0.0432, 0.0432, 0.0024])
    values = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    log_q = jnp.asarray(np.log(q), dtype=jnp.float32)
    log_p = jax.jit(self_paced_step)(log_q, jnp.asarray(values, dtype=jnp.float32), 2.0, 0.2)
    p = np.exp(np.asarray(log_p, dtype=float))
    np.testing.assert_allclose(p, step_from(q, values, 2.0, 0.2), atol=1e-5)
    assert kl(p, q) < 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": np.inf}, "threshold must be"),
        ({"max_kl": 0.0}, "max_kl must be"),
        ({"floor": -0.1}, "floor must be a finite number of at least 0 and at most 1, got -0.1"),
        ({"floor": 1.5}, "floor must be a finite number of at least 0 and at most 1, got 1.5"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("spdl", **settings)
