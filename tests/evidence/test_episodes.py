"""Sums over training episodes, worked by hand and on both kinds of arrays."""

import jax.numpy as jnp
import numpy as np
import pytest

from procurl import OutcomeSuccess
from procurl.evidence import (
    EpisodeTotals,
    TrainingSteps,
    add_counts,
    add_episodes,
    add_scores,
    build_evidence,
    no_episodes,
    no_returns,
    note_best,
    without_counts,
)


def lists_of(totals):
    return EpisodeTotals(*(np.asarray(field).tolist() for field in totals[:6]), totals.returns)


def steps_of(xp, scores, ended):
    """A rollout with these scores [T, b], in which `ended` {(step, env): task} ended."""
    dones, tasks = np.zeros(np.shape(scores), dtype=bool), np.zeros(np.shape(scores), dtype=int)
    for place, task in ended.items():
        dones[place], tasks[place] = True, task
    return TrainingSteps(xp.asarray(dones), xp.asarray(tasks), xp.asarray(scores))


both = pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])


@both
def test_an_episode_is_scored_when_it_ends_and_carried_over_until_then(xp):
    totals = no_episodes(4, 2, xp)
    first = [[1.0, 10.0], [3.0, 20.0], [5.0, 30.0]]
    totals = add_scores(totals, steps_of(xp, first, {(1, 0): 2, (2, 1): 0}))
    got = lists_of(totals)
    assert got.score == [20.0, 0.0, 2.0, 0.0]
    assert got.open_score == [5.0, 0.0]
    assert got.open_length == [1.0, 0.0]
    second = [[7.0, 1.0], [0.0, 1.0]]
    totals = add_scores(totals, steps_of(xp, second, {(0, 0): 1, (1, 0): 2}))
    got = lists_of(totals)
    assert got.score == [20.0, 6.0, 0.0, 0.0]  # (5 + 7) / 2; the latest of task 2
    assert got.open_score == [0.0, 2.0]
    assert got.open_length == [0.0, 2.0]


@both
def test_of_two_episodes_that_end_together_the_later_environments_counts(xp):
    totals = add_scores(
        no_episodes(2, 3, xp), steps_of(xp, [[4.0, 6.0, 9.0]], {(0, 0): 1, (0, 1): 1})
    )
    assert lists_of(totals).score == [0.0, 6.0]


@both
def test_counts_are_sums_over_the_episodes_of_a_task(xp):
    tasks = xp.asarray([2, 0, 2])
    outcomes = xp.asarray([1.0, 0.25, 0.0]), xp.asarray([0.0, 0.75, 1.0])
    totals = add_counts(no_episodes(3, 1, xp), tasks, outcomes)
    got = lists_of(totals)
    assert got.wins == [0.25, 0.0, 1.0]
    assert got.losses == [0.75, 0.0, 1.0]
    assert got.played == [1.0, 0.0, 2.0]
    more = lists_of(add_counts(totals, tasks, outcomes, xp.asarray([True, False, False])))
    assert more.played == [1.0, 0.0, 3.0]
    assert more.wins == [0.25, 0.0, 2.0]


def test_no_episodes_change_nothing():
    none = np.zeros(0)
    totals = add_counts(no_episodes(2, 1), np.zeros(0, dtype=np.int64), (none, none))
    assert lists_of(totals).played == [0.0, 0.0]


@both
def test_counts_start_again_after_a_refresh_and_scores_stay(xp):
    totals = EpisodeTotals(*(xp.ones(2) for _ in EpisodeTotals._fields[:-1]), no_returns(xp))
    got = lists_of(without_counts(totals))
    assert got.wins == got.losses == got.played == [0.0, 0.0]
    assert got.score == got.open_score == got.open_length == [1.0, 1.0]


def test_numpy_and_jax_agree_on_random_rollouts():
    rng = np.random.default_rng(0)
    here, there = no_episodes(5, 3), no_episodes(5, 3, jnp)
    for _ in range(4):
        dones, tasks = rng.random((7, 3)) < 0.3, rng.integers(5, size=(7, 3))
        scores, wins = rng.normal(size=(7, 3)), rng.random(21)
        for xp in (np, jnp):
            steps = TrainingSteps(xp.asarray(dones), xp.asarray(tasks), xp.asarray(scores))
            outcomes = xp.asarray(wins), xp.asarray(1.0 - wins)
            ended = xp.asarray(dones.reshape(-1))
            totals = add_scores(here if xp is np else there, steps)
            totals = add_counts(totals, steps.tasks.reshape(-1), outcomes, ended)
            here, there = (totals, there) if xp is np else (here, totals)
    assert here.score.dtype == np.float64
    assert np.count_nonzero(here.played) == 5
    for ours, theirs in zip(here[:6], there[:6], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_success_that_is_not_reported_is_named():
    rule = OutcomeSuccess(measure="success")
    tasks, returns = np.array([0, 1]), np.array([3.0, 4.0])
    with pytest.raises(ValueError, match="is_success.*is missing.*use measure='return'"):
        add_episodes(no_episodes(2, 1), rule, tasks, returns, np.array([1.0, np.nan]))
    known = add_episodes(no_episodes(2, 1), rule, tasks, returns, np.array([1.0, 0.0]))
    assert known.wins.tolist() == [1.0, 0.0]


@both
def test_the_best_return_of_each_task_is_kept(xp):
    """Task 1: −3, then −1, which is better; NaN and an episode that has not ended do not count."""
    totals = no_episodes(3, 1, xp, uses=("best_return",))
    tasks = xp.asarray([1, 0, 1])
    totals = note_best(totals, tasks, xp.asarray([-3.0, 2.0, np.nan]))
    assert np.asarray(totals.best).tolist() == [2.0, -3.0, -np.inf]
    ended = xp.asarray([True, True, False])
    totals = note_best(without_counts(totals), tasks, xp.asarray([-1.0, 0.0, 9.0]), ended)
    assert np.asarray(totals.best).tolist() == [2.0, -1.0, -np.inf]
    evidence = build_evidence(("best_return",), 1, episodes=totals)
    assert np.asarray(evidence.best_return).tolist() == [2.0, -1.0, 0.0]


def test_best_returns_are_kept_only_if_they_are_used():
    totals = note_best(no_episodes(2, 1), np.array([0]), np.array([1.0]))
    assert totals.best is None
    assert build_evidence(("best_return",), 1, episodes=totals).best_return is None
