"""The record of what was played: every episode that ended, in order, whenever it is fetched."""

import jax.numpy as jnp
import numpy as np
import pytest

from procurl import make_strategy
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.picks import PickLog
from tests.ppo.toy import CONTEXTS, make_runs

VAL = make_strategy("procurl-val")


def as_lists(picks):
    return [ids.tolist() for ids in picks]


def noted(log, dones, tasks, alive=(True, True)):
    """Note [w][T][b] written as nested lists."""
    log.note(jnp.asarray(dones, dtype=bool), jnp.asarray(tasks), jnp.asarray(alive))


def test_episodes_by_hand():
    """Two runs, two steps in two environments: by time, then by environment."""
    log = PickLog(runs=2, steps=4, updates=3)
    noted(log, [[[0, 1], [1, 1]], [[0, 0], [0, 1]]], [[[5, 6], [7, 8]], [[1, 2], [3, 4]]])
    noted(log, [[[1, 0], [0, 0]], [[0, 0], [0, 0]]], [[[9, 6], [7, 8]], [[1, 2], [3, 4]]])
    assert as_lists(log.peek()) == [[6, 7, 8, 9], [4]]
    assert as_lists(log.take()) == [[6, 7, 8, 9], [4]]
    assert as_lists(log.take()) == [[], []]


def test_a_stopped_run_notes_nothing():
    log = PickLog(runs=2, steps=1, updates=3)
    noted(log, [[[1]], [[1]]], [[[3]], [[4]]], alive=(False, True))
    assert as_lists(log.take()) == [[], [4]]


def test_more_updates_than_fit_are_fetched_in_between():
    log = PickLog(runs=1, steps=2, updates=2)
    for update in range(7):
        noted(log, [[[1], [1]]], [[[update], [10 + update]]], alive=(True,))
    assert as_lists(log.take()) == [[x for update in range(7) for x in (update, 10 + update)]]


def test_what_is_put_back_comes_before_what_follows():
    log = PickLog(runs=1, steps=1, updates=2)
    noted(log, [[[1]]], [[[3]]], alive=(True,))
    log.put_back([np.array([1, 2])])
    noted(log, [[[1]]], [[[4]]], alive=(True,))
    assert as_lists(log.take()) == [[1, 2, 4]]


@pytest.mark.parametrize("every", [64, 128, 10**9])
def test_the_same_is_played_however_often_it_is_evaluated(every):
    runs, often = (make_runs(VAL, evaluation=EvaluationPlan(n)) for n in (every, 64))
    for _ in range(40):
        runs.advance()
        often.advance()
    for each in (runs, often):
        each.evaluate(0)
    for run in range(3):
        one, other = (
            np.concatenate([e.picks for e in each.evaluations[run]]) for each in (runs, often)
        )
        np.testing.assert_array_equal(one, other)
        assert len(one) > 40
        assert set(one.tolist()) <= set(range(len(CONTEXTS)))


def test_snapshots_show_what_the_evaluation_saw():
    plan = EvaluationPlan(every=128, tasks=[0, 2, 3, 5], snapshot_tasks=[5, 2])
    runs = make_runs(VAL, evaluation=plan)
    runs.advance()
    whole = make_runs(VAL)
    whole.advance()
    for one, other in zip(runs.evaluate(0), whole.evaluate(0), strict=True):
        seen, everything = one.snapshot, other.snapshot
        assert seen.tasks.tolist() == [5, 2]
        assert seen.probabilities.shape == seen.success.shape == seen.returns.shape == (2,)
        np.testing.assert_array_equal(seen.probabilities, everything.probabilities[[5, 2]])
        np.testing.assert_array_equal(seen.success, everything.success[[5, 2]])
        np.testing.assert_allclose(everything.probabilities.sum(), 1.0, rtol=1e-5)


def test_a_strategy_without_an_estimate_shows_none():
    evaluations = make_runs(make_strategy("iid")).evaluate(0)
    assert [evaluation.snapshot.success for evaluation in evaluations] == [None] * 3
    assert [evaluation.mean_success for evaluation in evaluations] == [None] * 3


def test_snapshots_show_evaluated_tasks_alone():
    with pytest.raises(ValueError, match="tasks that are evaluated, got task 4"):
        make_runs(VAL, evaluation=EvaluationPlan(tasks=[0, 1], snapshot_tasks=[4]))


def test_stochastic_evaluations_differ_from_deterministic_ones():
    """An untrained student that acts at random wins now and then; a deterministic one may not."""
    plan = EvaluationPlan(episodes=50, stochastic=True)
    evaluations = make_runs(VAL, evaluation=plan).evaluate(0)
    drawn = np.stack([evaluation.snapshot.returns for evaluation in evaluations])
    assert np.isin(np.round(drawn * 50, 4), np.arange(51)).all()
    shortest = drawn[:, 1]  # a corridor of one cell: one half of all episodes
    assert (np.abs(shortest - 0.5) < 0.25).all()
