"""Rollouts on part of the pool, in compiled runs and on the host."""

from dataclasses import replace

import numpy as np
import pytest

from procurl import make_strategy
from procurl.ppo.learning.settings import PPOSettings
from tests.ppo.host.host_runs import after, host_run, native, set_params
from tests.ppo.toy import (
    COIN,
    EXPERT,
    LENGTHS,
    SHORTEST_TASK,
    SMALL,
    biased,
    make_runs,
    row,
    same,
    set_policies,
)
from tests.strategies.few_rollouts import EvenTasks

STILL: PPOSettings = replace(SMALL, learning_rate=1e-30)  # the policy stays as it was set
N = len(LENGTHS)


def env_strategy(tasks, rollouts=2):
    return make_strategy("procurl-env", c_rollouts=rollouts, refresh_every=64, rollout_tasks=tasks)


def compiled(strategy):
    """Three runs after one refresh, all of an expert."""
    runs = make_runs(strategy, ppo=STILL)
    set_policies(runs, EXPERT, EXPERT, EXPERT)
    runs.advance()
    return runs


def played(teaching):
    """[n] the tasks with rollouts: an expert succeeds, and estimates begin at 0."""
    return np.asarray(teaching.strategy.success.estimate) > 0


def test_as_many_tasks_as_asked_for_are_played_and_their_steps_counted():
    runs = compiled(env_strategy(2))
    parts = [played(row(runs.state.teaching, run)) for run in range(3)]
    assert [part.sum() for part in parts] == [2, 2, 2]
    assert len({part.tobytes() for part in parts}) > 1  # each run draws for itself
    steps = np.asarray(runs.state.teaching.teacher_steps)
    assert steps.tolist() == [2 * int(LENGTHS[part].sum()) for part in parts]


def test_tasks_are_drawn_anew_and_the_others_keep_their_estimates():
    runs = compiled(env_strategy(2))
    first = played(runs.state.teaching)
    for _ in range(12):
        before = played(runs.state.teaching)
        runs.advance()
        assert (played(runs.state.teaching) >= before).all()
    assert (first.sum(axis=1) == 2).all()
    assert played(runs.state.teaching).all()


@pytest.mark.soak
def test_a_pool_smaller_than_the_plan_is_played_as_a_whole():
    plan, more = (make_runs(env_strategy(tasks)) for tasks in (None, 10 * N))
    for _ in range(3):
        plan.advance()
        more.advance()
    assert same(plan.state, more.state)


def test_rollouts_go_where_the_strategy_puts_weight():
    for teaching in (
        row(compiled(EvenTasks()).state.teaching, 1),
        expert_on_host(EvenTasks()).state.teaching,
    ):
        assert played(teaching).tolist() == [False, False, True, False, True, False]


def expert_on_host(strategy, n_envs=4):
    run = host_run(strategy=strategy, ppo=STILL, eval_env=native(n_envs))
    set_params(run, biased(run.params, EXPERT))
    return after(1, run)


@pytest.mark.parametrize(
    "n_envs", [pytest.param(1, marks=pytest.mark.soak), 4, pytest.param(7, marks=pytest.mark.soak)]
)
def test_the_host_plays_the_same_tasks_as_compiled_runs(n_envs):
    strategy = env_strategy(3)
    runs, host = compiled(strategy), expert_on_host(strategy, n_envs)
    assert played(host.state.teaching).tolist() == played(row(runs.state.teaching, 0)).tolist()
    assert int(host.state.teaching.teacher_steps) == int(runs.state.teaching.teacher_steps[0])


def test_estimates_belong_to_their_tasks():
    """A coin succeeds in a corridor of length L with probability 2^−L, on whichever tasks."""
    k = 200
    strategy = env_strategy(4, rollouts=k)
    runs = make_runs(strategy, ppo=STILL)
    set_policies(runs, COIN, COIN, COIN)
    for _ in range(8):
        runs.advance()
    expected = 2.0**-LENGTHS
    sigma = np.sqrt(expected * (1.0 - expected) / k)
    found = np.asarray(runs.state.teaching.strategy.success.estimate)
    assert (np.abs(found - expected) <= 4.5 * sigma).all()


def test_sfl_plays_what_a_coin_sometimes_wins():
    """p = 2^−L, so the shortest corridor, p = 1/2, is the most learnable."""
    strategy = make_strategy("sfl", c_rollouts=50, refresh_every=64, keep=1, floor=0.1)
    runs = make_runs(strategy, ppo=STILL)
    set_policies(runs, COIN, COIN, COIN)
    runs.advance()
    p = np.diff(np.asarray(runs.state.teaching.cumulative), prepend=0.0)
    assert (p.argmax(axis=1) == SHORTEST_TASK).all()
    assert p[:, SHORTEST_TASK] == pytest.approx([0.9 + 0.1 / N] * 3, abs=1e-5)
