"""SPDL's climb that stops early, against SciPy's solver as the paper's program calls it."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from procurl import SPDL, Evidence, make_strategy
from procurl.strategies.baselines.self_paced_step import self_paced_step

MAX_KL = 0.5
OUT_OF_REACH = 5.0  # a threshold


def early(log_q, values, threshold=OUT_OF_REACH):
    return self_paced_step(log_q, values, threshold, MAX_KL, early_stop=True)


def exact(log_q, values):
    return self_paced_step(log_q, values, OUT_OF_REACH, MAX_KL)


def by_scipy(log_q, values):
    """The distribution at which `trust-constr` stops, from (η, α) = (1, 1) and with gtol 1e-4.

    None if it does not converge, which depends on how the processor rounds.
    """

    def log_p(x):
        eta, alpha = x
        logits = alpha * (eta * values - np.log(len(values))) + (1.0 - alpha) * log_q
        return logits - np.logaddexp.reduce(logits)

    def loss(x):
        return -np.exp(log_p(x)) @ values

    def distance(x):
        return np.exp(log_p(x)) @ (log_p(x) - log_q)

    found = minimize(
        loss,
        np.ones(2),
        method="trust-constr",
        jac="3-point",
        constraints=[NonlinearConstraint(distance, -np.inf, MAX_KL)],
        bounds=Bounds(np.full(2, 1e-3), np.full(2, 1e4)),
        options={"gtol": 1e-4, "xtol": 1e-6},
    )
    return log_p(found.x) if found.success else None


def effective_tasks(log_p) -> float:
    """exp of the entropy."""
    return float(np.exp(-np.exp(log_p) @ log_p))


class Update(NamedTuple):
    before: np.ndarray  # [n] log-probabilities
    values: np.ndarray  # [n]
    scipy: np.ndarray  # [n] log-probabilities after SciPy's step


def updates_by_scipy(deviations, steady: float, seed: int) -> Iterator[Update]:
    """Updates one after the other: values with these standard deviations, partly always the same.

    Args:
        steady: how much of the values stays the same, in [0, 1].
    """
    rng = np.random.default_rng(seed)
    log_q, same = np.full(100, -np.log(100)), rng.normal(size=100)
    for deviation in deviations:
        new = rng.normal(size=100)
        values = deviation * (steady * same + np.sqrt(1.0 - steady**2) * new)
        after = by_scipy(log_q, values)
        if after is not None:
            yield Update(log_q, values, after)
            log_q = after


SHRINKING = np.geomspace(0.3, 0.002, 14)


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0", "ignore:Singular Jacobian")
@pytest.mark.parametrize(
    ("deviations", "steady"),
    [
        pytest.param(SHRINKING, 0.0, id="shrinking", marks=pytest.mark.soak),
        pytest.param(np.full(14, 0.02), 0.0, id="new values", marks=pytest.mark.soak),
        pytest.param(np.full(14, 0.05), 0.95, id="nearly the same values"),
    ],
)
def test_agrees_with_scipys_solver(deviations, steady):
    """84 updates: most end at the same distribution; the exact solution is mostly far away.

    Now and then SciPy's path, which depends on details such as its trust region, ends elsewhere,
    above all where values hardly differ, and differs between processors. The effective tasks agree
    on average.
    """
    distances, from_exact, effective = [], [], []
    for seed in range(2):
        for update in updates_by_scipy(deviations, steady, seed):
            theirs = np.exp(update.scipy)
            ours, best = (step(update.before, update.values) for step in (early, exact))
            distances.append(0.5 * np.abs(np.exp(ours) - theirs).sum())
            from_exact.append(0.5 * np.abs(np.exp(best) - theirs).sum())
            effective.append([effective_tasks(ours), effective_tasks(update.scipy)])
    assert len(distances) >= 0.85 * 2 * len(deviations)  # nearly all converge
    assert np.median(distances) < 0.02
    assert np.mean(np.array(distances) < 0.1) > 0.75
    assert np.median(from_exact) > 0.1
    assert np.ptp(np.mean(effective, axis=0)) < 0.05 * np.mean(effective)


def effective_over(step, deviations, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    log_p, effective = np.full(100, -np.log(100)), []
    for deviation in deviations:
        log_p = step(log_p, rng.normal(scale=deviation, size=100))
        effective.append(effective_tasks(log_p))
    return effective


@pytest.mark.parametrize("seed", range(5))
def test_returns_to_uniform_while_values_hardly_differ(seed):
    """The exact solution concentrates on a few tasks, however small the differences are."""
    early_effective = effective_over(early, SHRINKING, seed)
    exact_effective = effective_over(exact, SHRINKING, seed)
    assert min(early_effective) > 10.0
    assert min(early_effective[-2:]) > 90.0
    assert min(early_effective[-7:]) > 50.0
    assert max(exact_effective[-2:]) < 12.0


def test_values_that_hardly_differ_leave_uniform_uniform():
    values = np.random.default_rng(0).normal(scale=0.002, size=100)
    assert np.exp(early(np.full(100, -np.log(100)), values)) == pytest.approx(0.01, rel=0.05)


def test_from_uniform_values_that_differ_get_the_whole_step():
    """log q is constant, so V and w are proportional and the bound is the solution: KL = ε."""
    log_u = np.full(2, -np.log(2.0))
    p = np.exp(early(log_u, np.array([1.0, 0.0])))
    assert p @ np.log(2.0 * p) == pytest.approx(MAX_KL, rel=5e-3)
    assert p == pytest.approx(np.exp(exact(log_u, np.array([1.0, 0.0]))), abs=2e-3)


def test_above_the_threshold_it_solves_the_second_problem_exactly():
    rng = np.random.default_rng(0)
    log_q, values = np.log(rng.dirichlet(np.ones(20))), rng.random(20)
    threshold = float(np.exp(log_q) @ values) - 0.05
    whole = self_paced_step(log_q, values, threshold, MAX_KL)
    np.testing.assert_array_equal(early(log_q, values, threshold), whole)


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0", "ignore:Singular Jacobian")
def test_jax_equals_numpy():
    """Under jit and vmap in double precision; in single precision the same effective tasks."""
    updates = list(updates_by_scipy(SHRINKING[::3], 0.5, seed=3))
    before = np.stack([update.before for update in updates])
    values = np.stack([update.values for update in updates])
    expected = np.exp([early(*row) for row in zip(before, values, strict=True)])
    with jax.enable_x64(True):
        got = jax.jit(jax.vmap(early))(jnp.asarray(before), jnp.asarray(values))
        np.testing.assert_allclose(np.exp(got), expected, atol=1e-9)
    single = jax.jit(jax.vmap(early))(jnp.float32(before), jnp.float32(values))
    np.testing.assert_allclose(np.exp(single), expected, atol=1e-3)


def test_equal_values_and_one_task_give_a_proper_distribution():
    for n in (1, 3):
        q = np.random.default_rng(n).dirichlet(np.ones(n))
        p = np.exp(early(np.log(q), np.full(n, 0.3)))
        assert np.isfinite(p).all()
        assert p.sum() == pytest.approx(1.0)
        assert p @ np.log(p / q) <= MAX_KL * 1.01


def test_the_strategy_has_it_as_a_setting():
    strategy = make_strategy("spdl", early_stop=True, max_kl=MAX_KL, threshold=OUT_OF_REACH)
    assert isinstance(strategy, SPDL)
    values = np.random.default_rng(0).normal(scale=0.1, size=30)
    state = strategy.update(strategy.init(30), Evidence(1024, values))
    assert strategy.probabilities(state) == pytest.approx(
        np.exp(early(np.full(30, -np.log(30)), values))
    )
    with pytest.raises(TypeError, match="early_stop must be True or False, got 'yes'"):
        make_strategy("spdl", early_stop="yes")
