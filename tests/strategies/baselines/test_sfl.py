"""SFL worked by hand."""

import numpy as np
import pytest

from procurl import SFL, Curriculum, Evidence, RolloutSuccess, TaskPool, make_strategy


def after(strategy, success, rollouts=None):
    success = np.asarray(success, dtype=float)
    rollouts = None if rollouts is None else np.asarray(rollouts)
    evidence = Evidence(5120, rollout_success=success, rollouts=rollouts)
    return strategy.update(strategy.init(len(success)), evidence)


def probabilities(strategy, success, rollouts=None):
    return strategy.probabilities(after(strategy, success, rollouts))


def test_the_most_learnable_tasks_share_what_is_not_spread_evenly():
    """p(1 − p) = 0, 0.25, 0.09, 0.16, 0: the two largest are tasks 1 and 3.

    Half of the mass goes to them, 1/4 each, and 1/2 · 1/5 to every task.
    """
    p = probabilities(SFL(keep=2), [0.0, 0.5, 0.9, 0.2, 1.0])
    assert p == pytest.approx([0.1, 0.35, 0.1, 0.35, 0.1])


def test_tasks_equal_at_the_edge_share_the_places_left():
    """K = 2: task 0 has 0.25; 0.3 and 0.7 both 0.21, up to rounding, and share one place."""
    p = probabilities(SFL(keep=2, floor=0.0), [0.5, 0.3, 0.1, 0.7])
    assert p == pytest.approx([0.5, 0.25, 0.0, 0.25])


def test_tasks_without_rollouts_are_not_kept_however_good_they_were():
    """Task 0 was at 0.5 in the first refresh; the second measures tasks 1 and 2 alone."""
    strategy = SFL(keep=1, floor=0.25)
    state = after(strategy, [0.5, 0.0, 0.0, 0.0], [4, 4, 0, 0])
    assert strategy.probabilities(state) == pytest.approx([0.8125, *[0.0625] * 3])
    later = Evidence(
        10240,
        rollout_success=np.array([0.0, 0.25, 1.0, 0.0]),
        rollouts=np.array([0, 4, 4, 0]),
    )
    state = strategy.update(state, later)
    assert strategy.probabilities(state) == pytest.approx([0.0625, 0.8125, 0.0625, 0.0625])
    assert strategy.estimated_success(state).tolist() == [0.5, 0.25, 1.0, 0.0]


def test_an_agent_that_solves_nothing_plays_the_sample_evenly():
    """Nothing is learnable: the ρ = 1/2 of the kept tasks is spread over the two measured."""
    p = probabilities(SFL(keep=1), [0.0, 0.0, 0.0, 0.0], [3, 0, 3, 0])
    assert p == pytest.approx([0.375, 0.125, 0.375, 0.125])


def test_is_uniform_before_the_first_refresh():
    strategy = make_strategy("sfl")
    assert strategy.probabilities(strategy.init(4)) == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(
    ("n", "settings", "kept"),
    [
        (1, {}, 1),
        (15, {}, 2),  # a tenth of 15, rounded up
        (100, {}, 10),
        (1_000, {}, 100),
        (20_000, {}, 100),  # 5,000 are measured, as in the paper
        (20_000, {"rollout_tasks": 300}, 30),
        (20, {"rollout_tasks": 300}, 2),
        (20_000, {"keep": 7}, 7),
        (5, {"keep": 7}, 5),
    ],
)
def test_how_many_tasks_are_kept(n, settings, kept):
    """All different: as many tasks as are kept have more than the uniform share."""
    strategy = make_strategy("sfl", **settings)
    p = probabilities(strategy, np.linspace(0.0, 0.5, n))
    assert p.sum() == pytest.approx(1.0)
    assert (p > 0.5 / n + 1e-9).sum() == kept
    assert p[-kept:] == pytest.approx(np.full(kept, 0.5 / kept + 0.5 / n))


def test_it_plans_rollouts_on_a_sample_of_the_pool():
    plan = make_strategy("sfl", rollout_tasks=40, c_rollouts=5).rollout_plan()
    assert (plan.tasks, plan.episodes) == (40, 5)
    curriculum = Curriculum("sfl", TaskPool.from_seeds(6_000))
    assert len(curriculum.rollout_tasks()) == 5_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": 0}, "keep must be an integer of at least 1, got 0"),
        ({"keep": 9, "rollout_tasks": 8}, "keep must be at most rollout_tasks=8, .*, got 9"),
        ({"floor": 1.5}, "floor must be a finite number of at least 0 and at most 1, got 1.5"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("sfl", **settings)


def test_without_a_limit_any_number_may_be_kept():
    strategy = SFL(success=RolloutSuccess(), keep=3)
    strategy.check()
    assert probabilities(strategy, [0.5, 0.4, 0.3, 0.2]).argmin() == 3
