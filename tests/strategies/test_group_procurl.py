"""`procurl-group`: the variance within groups, worked by hand and by enumeration."""

import numpy as np
import pytest

from procurl import (
    AutoProCuRL,
    CriticSuccess,
    Curriculum,
    Evidence,
    GroupProCuRL,
    JointSuccess,
    TaskPool,
    make_strategy,
)
from procurl.strategies.registry import strategy_name

WINS, LOSSES = np.array([4.0, 2, 0, 0]), np.array([0.0, 2, 4, 0])


def state_of(strategy):
    return strategy.update(strategy.init(4), Evidence(1, wins=WINS, losses=LOSSES))


def test_wins_and_losses_by_hand():
    """The potentials 81, 3125, 729 and 3125 of `procurl`, times (5/6)² and, unplayed, (1/2)².

    In 36ths they are 2025, 78125, 18225 and 28125.
    """
    strategy = GroupProCuRL(floor=0.0)
    expected = np.array([2025, 78125, 18225, 28125]) / 126500
    assert strategy.probabilities(state_of(strategy)) == pytest.approx(expected)


def test_the_expected_variance_is_that_of_groups_drawn_from_what_is_known():
    """p of a task with 2 wins, 2 losses and a prior of one half is from Beta(2.5, 2.5)."""
    strategy, rng = GroupProCuRL(), np.random.default_rng(0)
    state = state_of(strategy)
    known = float(strategy.success.known(state.success)[1])
    mean = float(strategy.estimated_success(state)[1])
    p = rng.beta(known * mean, known * (1.0 - mean), size=200_000)
    groups = rng.binomial(8, p) / 8
    within = (groups * (1.0 - groups)).mean() * 8 / 7  # unbiased
    assert within == pytest.approx(mean * (1.0 - mean) * known / (known + 1.0), rel=0.01)


def test_a_task_that_showed_both_outcomes_comes_before_an_unknown_one():
    """Both are estimated at one half. `procurl` draws them alike."""
    single, grouped = AutoProCuRL(floor=0.0), GroupProCuRL(floor=0.0)
    p = single.probabilities(state_of(single))
    assert p[1] == pytest.approx(p[3])
    p = grouped.probabilities(state_of(grouped))
    assert p[1] == pytest.approx(25 / 9 * p[3])


def test_fractions_that_always_end_alike_are_left():
    """p = 1/2 and N = 2 on both tasks, so that the odds are those of `procurl`: 1 to 25."""
    curriculum = Curriculum(GroupProCuRL(floor=0.0), TaskPool.from_seeds(2))
    curriculum.record([0, 0, 1, 1], [0.5, 0.5, 0.0, 1.0])
    assert curriculum.probabilities() == pytest.approx([1 / 26, 25 / 26])


def test_fewer_groups_without_a_signal_than_by_procurl_or_evenly():
    """Prompts that nearly always pass or fail, but for a tenth; the model does not learn."""

    def wasted(strategy):
        rng = np.random.default_rng(0)
        rates = np.where(rng.random(2000) < 0.1, 0.5, rng.integers(0, 2, 2000) * 0.96 + 0.02)
        curriculum = Curriculum(strategy, TaskPool.from_seeds(2000), seed=0)
        flat = []
        for _ in range(300):
            tasks = curriculum.next(16, replace=False)
            rewards = rng.random((16, 8)) < rates[tasks, None]
            flat += list(rewards.all(axis=1) | ~rewards.any(axis=1))
            curriculum.record(np.repeat(tasks, 8), rewards.ravel())
        return np.mean(flat[-1600:])

    evenly, single, grouped = (wasted(name) for name in ("iid", "procurl", "procurl-group"))
    assert grouped < 0.6 * single < single < 0.7 * evenly


def test_it_has_a_name_of_its_own():
    assert strategy_name(make_strategy("procurl-group", floor=0.3)) == "procurl-group"
    assert strategy_name(make_strategy("procurl")) == "procurl"
    assert make_strategy("procurl-group", prior_weight=2.0).success == JointSuccess(prior_weight=2)
    assert make_strategy("procurl-group").success == JointSuccess(prior_weight="auto")
    assert make_strategy("procurl-group").patience is None


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="floor must be .*1.5"):
        make_strategy("procurl-group", floor=1.5)
    with pytest.raises(TypeError, match=r"success must estimate the variance .* got CriticSuccess"):
        make_strategy("procurl-group", success=CriticSuccess())
