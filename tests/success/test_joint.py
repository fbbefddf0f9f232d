"""The estimate from everything that is known, worked by hand."""

from typing import Any

import numpy as np
import pytest

from procurl import (
    Curriculum,
    Evidence,
    JointSuccess,
    RolloutPlan,
    Scale,
    TaskPool,
    make_strategy,
)
from procurl.internals.state_arrays import state_arrays

TINY = 1e-9  # a prior weight that leaves the outcomes alone


def evidence(step=1.0, **fields) -> Evidence:
    given: dict[str, Any] = {
        name: value if name == "scale" else np.asarray(value, dtype=float)
        for name, value in fields.items()
    }
    return Evidence(step, **given)


def after(success, *every: Evidence):
    wins: Any = every[0].wins
    state = success.init(len(wins))
    for each in every:
        state = success.update(state, each)
    return state


def trust(state) -> float:
    return float(1.0 / (1.0 + np.exp(-state.advantage)))


def scale(low, high) -> Scale:
    return Scale(np.float64(low), np.float64(high), np.bool_(False))


def outcomes(*shares: list[float], **others) -> Evidence:
    """Evidence of episodes that won these shares, one list per task."""
    won = [np.array(each) for each in shares]
    sums = {
        "wins": [w.sum() for w in won],
        "losses": [(1 - w).sum() for w in won],
        "partial": [(w * (1 - w)).sum() for w in won],
    }
    return evidence(**sums, **others)


def variance(success, state) -> np.ndarray:
    p = success.estimate(state)
    return success.spread(state) * p * (1.0 - p)


def test_without_contexts_a_task_starts_from_the_rate_of_the_pool():
    """6 of 12 won: r = 6.5/13 = 1/2 and p = (S + 1/2)/(S + F + 1); a task not played has r."""
    state = after(JointSuccess(), evidence(wins=[4, 2, 0, 0], losses=[0, 2, 4, 0]))
    assert state.around == pytest.approx([0.5] * 4)
    assert state.estimate == pytest.approx([0.9, 0.5, 0.1, 0.5])


def test_with_contexts_a_task_starts_from_the_rate_around_it():
    """Tasks 0 to 3 won 3 of 3 episodes, tasks 4 to 7 none of 4.

    Pool: (3 + 1/2)/(7 + 1) = 0.4375. Cells: r = (3 + 0.4375)/4 = 0.859375 and
    r = 0.4375/5 = 0.0875. Task 0 won one episode: p = (1 + r)/2 = 0.9296875; task 4 lost four:
    p = r/5 = 0.0175; task 7 was not played.
    """
    success = JointSuccess().bind(TaskPool(np.arange(8.0)[:, None]))
    state = after(success, evidence(wins=[1, 2, 0, 0, 0, 0, 0, 0], losses=[0] * 4 + [4, 0, 0, 0]))
    assert state.around == pytest.approx([0.859375] * 4 + [0.0875] * 4)
    assert state.estimate[[0, 3, 4, 7]] == pytest.approx([0.9296875, 0.859375, 0.0175, 0.0875])


def test_before_the_first_episode_critic_and_pool_count_alike():
    """t = 1/2 and r = 1/2: p = (V + 1/2)/2."""
    state = after(JointSuccess(), evidence(wins=[0, 0], losses=[0, 0], values=[0.9, 0.1]))
    assert state.estimate == pytest.approx([0.7, 0.3])


def test_trust_is_the_odds_of_the_two_predictions():
    """V = 0.9 and 0.2, r = 0.5; one win on task 0, one loss on task 1.

    Odds of V to r: (0.9/0.5)·(0.8/0.5) = 2.88, so t = 2.88/3.88 = 0.742268. Then S = F = 1 in all,
    r = 1/2 again, and p = (1 + t·0.9 + (1 − t)/2)/2 = 0.898454 on task 0. That is shifted, as the
    outcomes were better than the p before: (0.9 + 0.5)/2 = 0.7 and (0.2 + 0.5)/2 = 0.35. Shift:
    (1 − 0.7 − 0.35)/(0.7·0.3 + 0.35·0.65 + 2) = −0.05/2.4375 = −0.0205128; the logit of 0.898454
    is 2.180163, and σ(2.159650) = 0.896567.
    """
    known = evidence(wins=[0, 0], losses=[0, 0], values=[0.9, 0.2])
    state = after(JointSuccess(), known, evidence(2.0, wins=[1, 0], losses=[0, 1]))
    assert trust(state) == pytest.approx(2.88 / 3.88)
    assert state.around == pytest.approx([0.5, 0.5])
    assert state.drift.shift == pytest.approx(-0.0205128, abs=1e-6)
    assert state.estimate[0] == pytest.approx(0.896567, abs=1e-5)


@pytest.mark.parametrize(("critic", "low", "high"), [([0.9, 0.1], 0.9, 1.0), ([0.1, 0.9], 0, 0.1)])
def test_a_critic_that_predicts_outcomes_is_trusted_and_no_other(critic, low, high):
    known = evidence(wins=[0, 0], losses=[0, 0], values=critic)
    episodes = [evidence(step, wins=[1, 0], losses=[0, 1]) for step in range(2, 8)]
    state = after(JointSuccess(), known, *episodes)
    assert low <= trust(state) <= high
    # What is known of a task never played: its critic, or nothing but the pool.
    known = evidence(wins=[0] * 3, losses=[0] * 3, values=[*critic, 0.8])
    episodes = [evidence(step, wins=[1, 0, 0], losses=[0, 1, 0]) for step in range(2, 8)]
    state = after(JointSuccess(), known, *episodes)
    expected = 0.8 if critic[0] > 0.5 else 0.5
    assert state.estimate[2] == pytest.approx(expected, abs=0.05)


def test_with_bounds_the_critic_is_calibrated_without_a_scale():
    """A tenth, half and nine tenths of two episodes are won where values are 5, 30 and 55 of 60."""
    shares = {"wins": [0.2, 1.0, 1.8], "losses": [1.8, 1.0, 0.2], "values": [5.0, 30.0, 55.0]}
    state = after(JointSuccess(v_min=0.0, v_max=60.0), *(evidence(k, **shares) for k in range(5)))
    assert state.critic == pytest.approx([0.1, 0.5, 0.9], abs=0.02)


def test_without_a_critic_there_is_nothing_to_trust():
    state = after(JointSuccess(), *(evidence(k, wins=[1, 0], losses=[0, 1]) for k in range(5)))
    assert state.advantage == 0.0
    assert not state.judged


@pytest.mark.parametrize(
    "shares", [[0.0, 1.0, 1.0, 0.0, 1.0], [0.5, 0.5, 0.5], [0.1, 0.7, 0.4, 0.9], [1.0, 1.0, 0.25]]
)
def test_the_variance_is_that_of_the_outcomes(shares):
    success = JointSuccess(prior_weight=TINY)
    state = after(success, outcomes(shares, [0.0, 1.0]))
    assert success.estimate(state)[0] == pytest.approx(np.mean(shares))
    assert variance(success, state)[0] == pytest.approx(np.var(shares), abs=1e-8)


def test_a_task_not_played_has_the_share_of_the_pool():
    """Halves on task 0, 0 and 1 on task 1: Σ w(1 − w) = 1/2 of S·F/N = 2·2/4 = 1."""
    state = after(JointSuccess(), outcomes([0.5, 0.5], [0.0, 1.0], []))
    assert state.spread[2] == pytest.approx(0.5)
    # With a = 1: (1/2 + 1/2 · 1/4)/3 of 1/4 is 5/6, and (1/2 · 1/4)/3 of 1/4 is 1/6.
    assert state.spread[:2] == pytest.approx([1 / 6, 5 / 6])


def test_without_partial_wins_the_variance_is_as_of_whole_ones():
    state = after(JointSuccess(), evidence(wins=[1.5, 0.2], losses=[0.5, 3.0]))
    assert (state.spread == 1.0).all()


def test_a_wider_range_leaves_the_variance_of_returns_as_it_was():
    """Returns of 0, 1 and 2 are shares of the range 0 to 2, then of −2 to 6."""
    success = JointSuccess(prior_weight=TINY)
    shares, other = [0.0, 0.5, 1.0], [0.2, 0.6]
    state = after(success, outcomes(shares, other, scale=scale(0.0, 2.0)))
    before = variance(success, state)
    assert before[0] * 2.0**2 == pytest.approx(np.var([0.0, 1.0, 2.0]))
    idle = outcomes([], [], step=2.0, scale=scale(-2.0, 6.0))
    state = success.update(state, idle)
    assert success.estimate(state) == pytest.approx([3 / 8, (2 + 0.8) / 8])
    assert variance(success, state) * 8.0**2 == pytest.approx(before * 2.0**2)


def test_nothing_fades_while_nothing_is_won():
    success = JointSuccess(decay=0.5)
    lost = evidence(wins=[0, 0], losses=[3, 1])
    state = after(success, lost, lost, lost)
    assert state.counts.losses.tolist() == [9.0, 3.0]
    state = success.update(state, evidence(wins=[1, 0], losses=[0, 0]))
    assert state.counts.losses[1] == pytest.approx(3.0 * 0.5**0.5)  # half of the pool was played
    assert state.counts.wins[0] == 1.0


def test_rollouts_count_like_training_episodes():
    """Task 0 won its training episode; rollouts on tasks 1 and 2 returned −2 and 4.

    On the range −10 to 10 they won 8/20 = 0.4 and 14/20 = 0.7. Of three episodes 2.1 are wins:
    r = (2.1 + 1/2)/(3 + 1) = 0.65, and p = (w + 0.65)/2.
    """
    success = JointSuccess(budget=1.5)
    training = {"wins": [1, 0, 0], "losses": [0, 0, 0], "partial": [0, 0, 0]}
    rollouts = {"rollout_success": [0, -2, 4], "rollouts": [0, 1, 1]}
    state = after(success, evidence(**training, **rollouts, scale=scale(-10, 10)))
    assert state.counts.wins == pytest.approx([1.0, 0.4, 0.7])
    assert state.counts.losses == pytest.approx([0.0, 0.6, 0.3])
    assert state.counts.partial == pytest.approx([0.0, 0.24, 0.21])
    assert state.estimate == pytest.approx([0.825, 0.525, 0.675])


def test_several_rollouts_on_a_task_count_as_wins_and_losses():
    """Of four rollouts three were won; without a scale, rewards are 0 and 1."""
    given = evidence(wins=[0, 2], losses=[1, 0], rollout_success=[0.75, 0.0], rollouts=[4, 0])
    state = after(JointSuccess(budget=1.5), given)
    assert state.counts.wins.tolist() == [3.0, 2.0]
    assert state.counts.losses.tolist() == [2.0, 0.0]
    assert (state.spread == 1.0).all()


def test_a_refresh_without_rollouts_is_the_same_with_and_without_a_budget():
    every = [outcomes([0.2, 1.0], [0.0], step=step, values=[0.3, 0.6]) for step in (1.0, 2.0)]
    plain, budgeted = (
        state_arrays(after(JointSuccess(budget=budget), *every)) for budget in (None, 1.5)
    )
    assert "counts.wins" in plain
    np.testing.assert_equal(plain, budgeted)


def test_a_budget_plays_one_rollout_on_the_tasks_with_the_least_data():
    """Weights 1/(N + 1) for tasks with 3, 1 and 0 episodes; a pool of 7 has no 100 tasks."""
    strategy = make_strategy("procurl", budget=1.5)
    plan = strategy.rollout_plan()
    assert plan == RolloutPlan(1, "return", budget=1.5, tasks=100, optional=True)
    assert (plan.tasks_of(7), plan.tasks_of(1000)) == (7, 100)
    state = strategy.update(strategy.init(3), evidence(wins=[2, 0, 0], losses=[1, 1, 0]))
    assert strategy.rollout_weights(state) == pytest.approx([1 / 4, 1 / 2, 1])
    assert make_strategy("procurl").rollout_plan() is None
    with pytest.raises(ValueError, match="budget must be a finite number above 1, got 1"):
        make_strategy("procurl", budget=1)


def test_a_prior_known_before_training_is_used():
    curriculum = Curriculum("procurl", TaskPool.from_seeds(3), prior=[0.9, 0.1, None])
    success = curriculum.success()
    t = 1.0 / (1.0 + np.exp(-4.0))  # more than a critic gets at first
    assert success == pytest.approx([0.5 + 0.4 * t, 0.5 - 0.4 * t, 0.5])
    for _ in range(10):
        curriculum.record([0, 1], [0, 1])
    state: Any = curriculum._state
    assert trust(state.success) < 0.1  # it was wrong


def test_relabeling_tasks_relabels_their_probabilities():
    """On a pool of several cells, which the conformance suite does not have."""
    rng = np.random.default_rng(3)
    n, strategy = 40, make_strategy("procurl")
    contexts, order = rng.random((n, 2)), rng.permutation(n)
    fields = {
        "wins": rng.integers(0, 3, n) * 1.0,
        "losses": rng.integers(0, 3, n) * 1.0,
        "values": rng.random(n),
    }

    def distribution(places):
        curriculum = Curriculum(strategy, TaskPool(contexts[places]))
        for step in (1, 2):
            curriculum.observe(
                Evidence(step=step, **{name: field[places] for name, field in fields.items()})
            )
        return curriculum.probabilities()

    plain, relabeled = distribution(np.arange(n)), distribution(order)
    assert plain.max() > 2 * plain.min()
    np.testing.assert_allclose(relabeled, plain[order], rtol=1e-9)
