"""Refreshes that value a slice of the pool, in compiled runs and on the host."""

import jax
import numpy as np
import pytest

from procurl import Curriculum, TaskSpace, make_strategy
from procurl.ppo.host.programs import value_tasks
from procurl.ppo.pool_values import next_values, no_values
from procurl.ppo.runs import Runs
from procurl.strategies import refreshing
from tests.ppo.host.host_runs import host_run
from tests.ppo.toy import LENGTHS, SMALL, StepCorridor, make_runs, row, same

N = len(LENGTHS)
SLICED = make_strategy("procurl-val", v_min=0.0, v_max=1.0, tasks_per_refresh=4)
WHOLE = make_strategy("procurl-val", v_min=0.0, v_max=1.0)


@pytest.mark.parametrize(
    ("size", "rounds"),
    [
        (4, [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 2, 2], [3, 3, 3, 3, 2, 2]]),
        (3, [[0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 2, 2, 2], [3, 3, 3, 2, 2, 2]]),
        (5, [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 2], [3, 3, 3, 3, 3, 2]]),
    ],
)
def test_slices_take_turns_after_a_first_refresh_of_all_tasks(size, rounds):
    """The value of task i at refresh t is 10·i + t, and each line of `rounds` has t by task."""
    observations = jax.numpy.arange(6.0)[:, None]
    kept = no_values(6)
    for t, latest in enumerate(rounds):
        kept = next_values(kept, size, lambda seen, t=t: 10.0 * seen[:, 0] + t, observations)
        assert kept.values.tolist() == [10.0 * i + by for i, by in enumerate(latest)]


def test_compiled_runs_value_a_slice_and_keep_the_other_values():
    runs = make_runs(SLICED)
    expected = None
    for turn in (slice(0, N), slice(0, 4), slice(4, N), slice(0, 4)):
        runs.advance()
        params = runs.state.training.student.params
        for run in range(3):
            student, seen = runs.agent.student, runs._pool.observations
            values = np.asarray(student.values(row(params, run), seen))
            if expected is None:
                expected = np.zeros((3, N))
            expected[run, turn] = values[turn]
        kept = runs.state.teaching.kept.values
        np.testing.assert_allclose(kept, expected, rtol=1e-5)
        estimate = runs.state.teaching.strategy.success.estimate
        np.testing.assert_allclose(estimate, expected, rtol=1e-5)


def test_host_runs_value_a_slice_and_keep_the_other_values():
    run, expected = host_run(strategy=SLICED), np.zeros(N)
    for turn in (slice(0, N), slice(0, 4), slice(4, N), slice(0, 4)):
        run.advance()
        all_tasks = host_run(strategy=WHOLE)
        seen = run.network, run.params, run.state.teaching, run.pool_observations
        expected[turn] = value_tasks(all_tasks.teacher, *seen)[1][turn]
        np.testing.assert_allclose(run.state.teaching.kept.values, expected, rtol=1e-5)
        estimate = run.state.teaching.strategy.success.estimate
        np.testing.assert_allclose(estimate, expected, rtol=1e-5)


def test_a_slice_as_large_as_the_pool_changes_nothing():
    whole = make_runs(WHOLE)
    large = make_runs(make_strategy("procurl-val", v_min=0.0, v_max=1.0, tasks_per_refresh=N))
    for _ in range(3):
        whole.advance()
        large.advance()
    assert same(whole.state, large.state)


def test_a_pool_larger_than_the_default_slice_is_valued_in_slices(monkeypatch):
    given = make_runs(SLICED)
    monkeypatch.setattr(refreshing, "SLICE", 4)
    default = make_runs(WHOLE)
    for _ in range(3):
        given.advance()
        default.advance()
    assert same(given.state, default.state)


def test_rollouts_do_not_stop_the_rotation():
    strategy = make_strategy("procurl", tasks_per_refresh=4, budget=4.0)
    runs = make_runs(strategy)
    turns = []
    for _ in range(4):
        runs.advance()
        turns.append(np.asarray(runs.state.teaching.kept.next_task).tolist())
    assert turns == [[0] * 3, [4] * 3, [0] * 3, [4] * 3]
    assert (np.asarray(runs.state.teaching.teacher_steps) > 0).all()


def test_the_candidates_of_a_space_are_all_valued(monkeypatch):
    monkeypatch.setattr(refreshing, "SLICE", 4)
    space = TaskSpace([1.0], [6.0], ["length"], size=N)
    runs = Runs(StepCorridor(), space, [WHOLE], [SMALL], [0])
    assert runs.teacher.slice_size is None


def test_a_space_refuses_slices():
    with pytest.raises(ValueError, match="tasks_per_refresh is for a fixed pool"):
        Curriculum(SLICED, TaskSpace([1.0], [6.0], size=16))
