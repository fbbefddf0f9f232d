"""Success estimates worked by hand."""

from typing import Any

import numpy as np
import pytest

from procurl import (
    CriticSuccess,
    Evidence,
    OutcomeSuccess,
    ProCuRL,
    RolloutSuccess,
    Scale,
    TaskPool,
    TopRollouts,
    make_strategy,
)
from procurl.success import normalize
from procurl.tasks.neighbors import nearest_neighbors


def probability(success, noise=None, **evidence) -> list[float]:
    given: dict[str, Any] = {
        name: np.asarray(value, dtype=float) for name, value in evidence.items()
    }
    n = len(next(iter(given.values())))
    state = success.update(success.init(n), Evidence(1024, **given))
    return success.probability(state, noise).tolist()


def test_critic_values_of_binary_rewards_are_clipped():
    assert probability(CriticSuccess(), values=[-0.2, 0.4, 1.3]) == [0.0, 0.4, 1.0]


def test_critic_values_are_normalized_by_given_bounds():
    """(V − 0)/60."""
    assert probability(CriticSuccess(v_max=60.0), values=[-3, 15, 90]) == [0.0, 0.25, 1.0]


def test_critic_values_are_normalized_by_the_pool():
    """From −2 to 6: (V + 2)/8."""
    success = CriticSuccess(v_min=None, v_max=None)
    assert probability(success, values=[-2, 0, 6]) == [0.0, 0.25, 1.0]


@pytest.mark.parametrize("bounds", [(None, None), (5.0, 5.0)])
def test_a_zero_range_gives_zero_everywhere(bounds):
    assert normalize(np.full(3, 5.0), *bounds).tolist() == [0.0, 0.0, 0.0]


def test_before_the_first_evidence_success_is_zero():
    for success in (CriticSuccess(), RolloutSuccess(), OutcomeSuccess()):
        assert success.probability(success.init(2)).tolist() == [0.0, 0.0]


def test_rollouts_give_the_rate_or_the_normalized_return():
    assert probability(RolloutSuccess(), rollout_success=[0.05, 0.95]) == [0.05, 0.95]
    dense = RolloutSuccess(v_min=0.0, v_max=300.0)
    assert probability(dense, rollout_success=[150.0, 600.0]) == [0.5, 1.0]


def test_outcomes_weigh_wins_and_losses_against_the_prior():
    """No sharing, a = 1: (3 + 0.5)/(3 + 1 + 1) with prior 0.5, (0 + 0.2)/(0 + 1 + 1) with 0.2.

    An unplayed task keeps its prior.
    """
    success = OutcomeSuccess()
    wins, losses = [3, 0, 0], [1, 1, 0]
    assert probability(success, wins=wins, losses=losses) == pytest.approx([0.7, 0.25, 0.5])
    with_critic = probability(success, wins=wins, losses=losses, values=[0.5, 0.2, 0.9])
    assert with_critic == pytest.approx([0.7, 0.1, 0.9])


def test_outcomes_fade_by_the_share_of_the_pool_that_was_played():
    """One of two tasks is half a pass: 4 wins count as 4·√0.81 = 3.6, whatever the steps."""
    success = OutcomeSuccess(decay=0.81)
    state = success.init(2)
    state = success.update(state, Evidence(10, wins=np.array([4.0, 0]), losses=np.zeros(2)))
    assert state.counts.wins == pytest.approx([4.0, 0.0])
    later = Evidence(9_000, wins=np.zeros(2), losses=np.array([0.0, 4.0]))
    state = success.update(state, later)
    assert state.counts.wins == pytest.approx([3.6, 0.0])


def test_outcomes_of_a_task_are_replaced_by_its_own_new_ones():
    """Two new episodes leave 4 wins at 4·(15/16)² = 3.515625 when nothing else fades."""
    success = OutcomeSuccess(decay=1.0)
    state = success.init(2)
    state = success.update(state, Evidence(1, wins=np.array([4.0, 4.0]), losses=np.zeros(2)))
    state = success.update(state, Evidence(2, wins=np.zeros(2), losses=np.array([2.0, 0.0])))
    assert state.counts.wins == pytest.approx([3.515625, 4.0])
    assert state.counts.losses == pytest.approx([2.0, 0.0])


def test_outcomes_fade_by_training_steps_if_told_so():
    """After 2048 steps 4 wins count as 4·0.81 = 3.24, whatever was played."""
    success = OutcomeSuccess(decay=0.9, decay_steps=1024.0)
    state = success.init(1)
    state = success.update(state, Evidence(1000, wins=np.array([4.0]), losses=np.array([0.0])))
    state = success.update(state, Evidence(3048, wins=np.array([0.0]), losses=np.array([0.0])))
    assert state.counts.wins == pytest.approx([3.24])
    assert state.estimate == pytest.approx([0.882075], abs=1e-6)


def test_outcomes_are_shared_with_near_tasks():
    """Contexts 0, 0.1 and 1; bandwidth 0.1: weight e^−½ = 0.606531 between the first two.

    One win on the first task: the second has (0.606531 + 0.5)/(0.606531 + 1) = 0.688770.
    """
    success = OutcomeSuccess(neighbors=2, bandwidth=0.1).bind(TaskPool([[0.0], [0.1], [1.0]]))
    p = probability(success, wins=[1, 0, 0], losses=[0, 0, 0])
    assert p == pytest.approx([0.75, 0.688770, 0.5], abs=1e-6)


def test_opaque_tasks_share_nothing():
    success = OutcomeSuccess().bind(TaskPool(["a", "b"]))
    assert probability(success, wins=[1, 0], losses=[0, 0]) == pytest.approx([0.75, 0.5])


def test_returns_become_wins_and_losses():
    """Returns 0, 15 and 90 between 0 and 60 count as 0, 0.25 and 1 win."""
    seen = Scale(np.float64(2.0), np.float64(6.0), np.bool_(False))
    wins, losses = OutcomeSuccess(v_max=60.0).outcomes(np.array([0.0, 15.0, 90.0]), seen)
    assert wins.tolist() == [0.0, 0.25, 1.0]
    assert losses.tolist() == [1.0, 0.75, 0.0]
    for by_range in (OutcomeSuccess(v_min=None, v_max=None), OutcomeSuccess()):
        wins, _ = by_range.outcomes(np.array([3.0]), seen)
        assert wins.tolist() == [0.25]


def test_bounds_are_those_of_returns():
    assert OutcomeSuccess().outcome_measure == "auto"
    assert OutcomeSuccess(v_max=60.0).outcome_measure == "return"
    by_success = OutcomeSuccess(v_max=60.0, measure="success")
    assert by_success.outcome_measure == "success"
    unit = Scale(np.float64(0.0), np.float64(1.0), np.bool_(False))
    assert by_success.outcomes(np.array([1.0, 0.0]), unit)[0].tolist() == [1.0, 0.0]


def test_a_bound_that_is_left_out_is_zero_or_one():
    assert (CriticSuccess(v_max=60.0).v_min, CriticSuccess(v_min=-1.0).v_max) == (0.0, 1.0)
    assert CriticSuccess().v_min == CriticSuccess().v_max == "auto"


def test_the_prior_of_a_solved_task_does_not_look_half_solved():
    """Two solved tasks, returns of 200, and a critic whose discounted values stop at 100.

    The only episode was won at a value of 100, so a value of 100 means success: with a tenth of a
    win and of a loss added, 1.1/1.2 = 0.9167. With that episode, (1 + 0.9167)/2 = 0.9583.
    """
    success = OutcomeSuccess(v_min=0.0, v_max=200.0)
    p = probability(success, wins=[0, 1], losses=[0, 0], values=[100, 100])
    assert p == pytest.approx([0.9167, 0.9583], abs=1e-4)


def test_old_outcomes_are_measured_anew_when_the_range_grows():
    """A return of 10 was a win on [0, 10] and is a quarter of one on [0, 40].

    The older episode counts 15/16.
    """
    success = OutcomeSuccess(decay=1.0)
    state = success.init(1)
    for high in (10.0, 40.0):
        won = np.array([10.0 / high])
        scale = Scale(np.float64(0.0), np.float64(high), np.bool_(False))
        state = success.update(state, Evidence(1, wins=won, losses=1.0 - won, scale=scale))
    assert state.counts.wins == pytest.approx([0.25 + 0.25 * 15 / 16])
    assert state.counts.losses == pytest.approx([0.75 + 0.75 * 15 / 16])


def test_neighbors_are_the_nearest_after_scaling_each_column():
    """The second column spans 1000 times the first, and a constant third counts for nothing."""
    contexts = np.array([[0.0, 0.0, 7.0], [1.0, 0.0, 7.0], [0.0, 100.0, 7.0], [1.0, 1000.0, 7.0]])
    near = nearest_neighbors(contexts, k=2, bandwidth=0.1)
    assert near.tasks[:, 0].tolist() == [0, 1, 2, 3]
    assert near.tasks[:3, 1].tolist() == [2, 0, 0]
    assert near.weights[0].tolist() == pytest.approx([1.0, np.exp(-0.5)], abs=1e-6)


def test_a_pool_smaller_than_the_neighborhood_keeps_all_tasks():
    assert nearest_neighbors(np.zeros((1, 2)), k=8, bandwidth=0.1).tasks.tolist() == [[0]]


def test_a_task_is_its_own_neighbor_among_many_in_the_same_place():
    tasks, weights = nearest_neighbors(np.zeros((20, 2)), k=8, bandwidth=0.1)
    assert all(own in row for own, row in enumerate(tasks))
    assert all(len(set(row)) == 8 for row in tasks.tolist())
    assert (weights == 1.0).all()


def test_without_episodes_there_are_no_outcomes():
    scale = Scale(np.float64(0.0), np.float64(1.0), np.bool_(True))
    wins, losses = OutcomeSuccess(v_min=None, v_max=None).outcomes(np.zeros(0), scale)
    assert wins.shape == losses.shape == (0,)


def test_noise_is_added_after_normalizing_and_before_clipping():
    """0.2·noise on 0.5, −0.1 and 1.5: the clip comes last."""
    noise = 0.2 * np.array([-1.0, 1.0, -0.5])
    p = probability(CriticSuccess(), noise, values=[0.5, -0.1, 1.5])
    assert p == pytest.approx([0.3, 0.1, 1.0])


@pytest.mark.parametrize(
    ("success", "message"),
    [
        (RolloutSuccess(c_rollouts=0), "c_rollouts must be an integer of at least 1, got 0"),
        (RolloutSuccess(budget=1.0), "budget must be a finite number above 1, got 1.0"),
        (OutcomeSuccess(decay=0.0), "decay must be"),
        (OutcomeSuccess(bandwidth=-1.0), "bandwidth must be"),
        (OutcomeSuccess(prior_weight=0.0), "prior_weight must be"),
        (OutcomeSuccess(neighbors=0), "neighbors must be"),
        (CriticSuccess(refresh_every=-1), "refresh_every must be"),
    ],
)
def test_bad_settings_are_named(success, message):
    with pytest.raises(ValueError, match=message):
        success.check()


def test_tasks_without_rollouts_keep_their_estimates():
    """Returns from 2 to 6: the range of the tasks played, not of the zeros of the others."""
    success = RolloutSuccess(v_min=None, v_max=None, rollout_tasks=3)
    state = success.init(4)
    for returns, rollouts, expected in (
        ([2.0, 0.0, 6.0, 3.0], [5, 0, 5, 5], [0.0, 0.0, 1.0, 0.25]),
        ([0.0, 4.0, 3.0, 5.0], [0, 5, 5, 5], [0.0, 0.5, 0.0, 1.0]),
        ([0.0, 0.0, 0.0, 0.0], [0, 0, 0, 0], [0.0, 0.5, 0.0, 1.0]),
    ):
        evidence = Evidence(1, rollout_success=np.array(returns), rollouts=np.array(rollouts))
        state = success.update(state, evidence)
        assert success.probability(state).tolist() == expected


def test_tasks_without_rollouts_follow_the_range_of_returns():
    """A return of 4 is nearly the best seen so far, and little after one of 100."""
    success = RolloutSuccess(rollout_tasks=1)
    state = success.init(3)
    for high, returns, rollouts, expected in (
        (5.0, [4.0, 0.0, 0.0], [5, 0, 0], [0.8, 0.0, 0.0]),
        (100.0, [0.0, 90.0, 0.0], [0, 5, 0], [0.04, 0.9, 0.0]),
    ):
        scale = Scale(np.float64(0.0), np.float64(high), np.bool_(False))
        found, played = np.array(returns), np.array(rollouts)
        evidence = Evidence(1, rollout_success=found, rollouts=played, scale=scale)
        state = success.update(state, evidence)
        assert success.probability(state) == pytest.approx(expected)


def test_the_best_rollouts_are_those_of_tasks_played():
    """With returns of at most 0, the zero of a task not played would look like a perfect policy."""
    strategy = ProCuRL(
        success=RolloutSuccess(v_min=-4.0, v_max=0.0, rollout_tasks=1), p_star=TopRollouts()
    )
    evidence = Evidence(
        1,
        rollout_success=np.array([-3.0, 0.0]),
        rollout_top=np.array([-2.0, 0.0]),
        rollouts=np.array([5, 0]),
    )
    state = strategy.update(strategy.init(2), evidence)
    assert state.potential.p_star.tolist() == [0.5, 0.0]
    assert strategy.estimated_success(state).tolist() == [0.25, 0.0]


@pytest.mark.parametrize("bad", [0, 2.5])
def test_a_bad_number_of_rollout_tasks_is_named(bad):
    with pytest.raises(
        (TypeError, ValueError), match=f"rollout_tasks must be an integer.*got {bad}"
    ):
        make_strategy("procurl-env", rollout_tasks=bad)
