"""ALP-GMM on pools: shares worked by hand, and where it goes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import ALPGMM, Curriculum, Evidence, Scale, TaskPool, make_strategy
from procurl.internals.pytrees import register_settings
from procurl.strategies.progress.alp_gmm import spread_over_pool
from procurl.strategies.progress.mixture import Mixture


def test_components_share_by_progress_and_tasks_by_density():
    """Tasks at 0, 1/2 and 1. Components at 0 and 1 with variance 1/4, progress 0.3 and 0.1.

    The first, with 3/4 of the mass, has densities ∝ 1, e^(−1/2), e^(−2); the second the reverse.
    """
    a, b, c = 1.0, math.exp(-0.5), math.exp(-2.0)
    total = a + b + c
    mixture = Mixture(
        weights=np.array([0.9, 0.1]),  # how many visits it explains does not count
        means=np.array([[0.0, 0.3], [1.0, 0.1]]),
        covariances=np.array([np.diag([0.25, 0.01])] * 2),
    )
    shares = spread_over_pool(mixture, np.array([[0.0], [0.5], [1.0]]))
    expected = [(0.75 * a + 0.25 * c) / total, b / total, (0.75 * c + 0.25 * a) / total]
    assert shares == pytest.approx(expected)


def test_components_beyond_the_size_have_no_share():
    mixture = Mixture(
        weights=np.array([1.0, 0.0]),
        means=np.array([[0.0, 0.0], [1.0, 5.0]]),
        covariances=np.array([np.diag([0.25, 0.01])] * 2),
    )
    shares = spread_over_pool(mixture, np.array([[0.0], [1.0]]))
    assert shares == pytest.approx([1 / (1 + math.exp(-2)), 1 - 1 / (1 + math.exp(-2))])


def test_a_narrow_component_between_tasks_does_not_vanish():
    mixture = Mixture(np.ones(1), np.array([[0.4, 0.2]]), np.array([np.diag([1e-4, 1e-4])]))
    assert spread_over_pool(mixture, np.array([[0.0], [1.0]])) == pytest.approx([1.0, 0.0])


def pool_on_a_line(n=100):
    return TaskPool(np.linspace(-3.0, 5.0, n)[:, None])


def changing_half(strategy, n=100, refreshes=8):
    """Outcomes that alternate on the first half of the tasks, and are constant on the other."""
    state = strategy.init(n)
    for i in range(refreshes):
        wins = np.where(np.arange(n) < n // 2, float(i % 2), 1.0)
        state = strategy.update(state, Evidence(i, wins=wins, losses=1.0 - wins))
    return state


def test_it_goes_where_outcomes_change_and_keeps_a_uniform_share():
    strategy = ALPGMM().bind(pool_on_a_line())
    p = strategy.probabilities(changing_half(strategy))
    assert p[:50].sum() > 0.85
    assert p.min() >= 0.2 / 100
    assert p.sum() == pytest.approx(1.0)


def test_it_is_uniform_until_there_are_enough_visits():
    strategy = ALPGMM(fit_every=250).bind(pool_on_a_line())
    before = strategy.probabilities(changing_half(strategy, refreshes=2))  # 200 visits
    after = strategy.probabilities(changing_half(strategy, refreshes=3))
    assert before == pytest.approx(np.full(100, 0.01))
    assert np.ptp(after) > 0.001


def test_fits_come_after_so_many_visits():
    """Ten visits at a time, a fit after 25: at the third, and then after five more or six."""
    strategy = ALPGMM(fit_every=25).bind(pool_on_a_line(10))
    state = strategy.init(10)
    since = []
    for i in range(6):
        wins = np.full(10, float(i % 2))
        state = strategy.update(state, Evidence(i, wins=wins, losses=1.0 - wins))
        since.append(int(state.since_fit))
    assert since == [10, 20, 0, 10, 20, 0]


def test_the_scale_of_contexts_does_not_matter():
    rng = np.random.default_rng(0)
    contexts = rng.random((100, 2))
    one, two = (
        ALPGMM().bind(TaskPool(rows)) for rows in (contexts, contexts * [1e-3, 1e6] + [5.0, -1.0])
    )
    p, q = (strategy.probabilities(changing_half(strategy)) for strategy in (one, two))
    np.testing.assert_allclose(p, q, rtol=1e-6)


def test_a_wider_range_of_returns_is_not_progress():
    strategy = ALPGMM(fit_every=4, buffer=10).bind(pool_on_a_line(4))
    state = strategy.init(4)
    for high, wins in ((1.0, 0.5), (2.0, 0.25), (4.0, 0.125)):
        scale = Scale(np.float64(0.0), np.float64(high), np.bool_(False))
        evidence = Evidence(0, wins=np.full(4, wins), losses=np.full(4, 1 - wins), scale=scale)
        state = strategy.update(state, evidence)
    assert state.visits.change == pytest.approx(np.zeros(len(state.visits.change)))


@pytest.mark.soak
def test_single_precision_under_jit_agrees_over_many_fits():
    """Also with constant columns and tasks in the same place."""
    rng = np.random.default_rng(4)
    contexts = np.column_stack([rng.random(60).round(1), np.ones(60), rng.random(60)])
    strategy = ALPGMM(fit_every=100).bind(TaskPool(contexts))
    register_settings(strategy)
    update = jax.jit(ALPGMM.update)
    state = strategy.init(60)
    traced = jax.tree.map(jnp.asarray, strategy.init(60))
    for i in range(12):
        played = rng.integers(0, 3, 60)
        wins = rng.binomial(played, 1 / (1 + np.exp(4 * contexts[:, 0] - 0.4 * i)))
        wins, losses = wins.astype("float32"), (played - wins).astype("float32")
        state = strategy.update(state, Evidence(i, wins=wins, losses=losses))
        traced = update(
            strategy, traced, Evidence(i, wins=jnp.asarray(wins), losses=jnp.asarray(losses))
        )
        np.testing.assert_array_equal(state.visits.task, traced.visits.task)
        np.testing.assert_allclose(state.visits.change, traced.visits.change, atol=1e-6)
        assert 0.5 * np.abs(state.shares - traced.shares).sum() < 0.01


def test_a_pool_without_contexts_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"alp-gmm needs a pool with contexts.*learning-progress"):
        Curriculum("alp-gmm", TaskPool.from_seeds(5))
    with pytest.raises(ValueError, match=r"call bind\(pool\) first"):
        ALPGMM().update(ALPGMM().init(2), Evidence(0, wins=np.ones(2), losses=np.ones(2)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fit_every": 0}, "fit_every must be an integer of at least 1, got 0"),
        ({"max_components": 1}, "max_components must be an integer of at least 2, got 1"),
        ({"buffer": 5}, "buffer must be an integer of at least 10, got 5"),
        ({"memory": 100}, "memory must be an integer of at least 250, got 100"),
        ({"floor": 1.5}, "floor must be a finite number of at least 0 and at most 1, got 1.5"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("alp-gmm", **settings)


@pytest.mark.parametrize(
    ("refreshes", "said"),
    [
        (3, "there were 6. Train longer."),  # fewer than a mixture may have components
        (7, "there were 14. Train longer, or set fit_every=10."),
        (60, "there were 120. Train longer, or set fit_every=24."),
    ],
)
def test_training_that_was_too_short_for_a_fit_says_so_once(refreshes, said, caplog):
    """Two visits per refresh: two of four tasks are played."""
    curriculum = Curriculum(ALPGMM(), pool_on_a_line(4))
    for step in range(1, refreshes + 1):
        curriculum.observe(Evidence(step, wins=[3.0, 0.0, 0.0, 0.0], losses=[0.0, 0.0, 1.0, 0.0]))
    assert curriculum.metrics().strategy == {"fits": 0.0}
    curriculum.warn_of_shortfall()
    curriculum.warn_of_shortfall()
    assert caplog.messages == [
        "alp-gmm, at the end of training: no mixture was fitted, so all tasks were drawn evenly. "
        "A fit needs 250 episodes, of which those on one task between two refreshes count once; "
        f"{said}"
    ]


def test_a_fit_leaves_nothing_to_say(caplog):
    curriculum = Curriculum(ALPGMM(fit_every=6), pool_on_a_line(4))
    for step in range(1, 4):
        curriculum.observe(Evidence(step, wins=[1.0] * 4, losses=[0.0] * 4))
    assert curriculum.metrics().strategy == {"fits": 1.0}  # at the second, of eight visits
    curriculum.warn_of_shortfall()
    assert not caplog.messages
