"""Agents that wait for a reward: compiled runs and runs on the host."""

import numpy as np

from procurl import AutoProCuRL
from tests.ppo.host.host_runs import after as after_updates
from tests.ppo.host.host_runs import host_run, set_params
from tests.ppo.toy import COIN, EXPERT, biased, kept, make_runs, row, same, set_policies

WAITING, EAGER = AutoProCuRL(), AutoProCuRL(wait=False)
LOSER = -EXPERT  # always wrong, so that no episode has a reward


def test_runs_wait_one_by_one_until_there_is_a_reward():
    runs = make_runs(WAITING)
    set_policies(runs, LOSER, COIN, LOSER)
    before = kept(runs.state.training.student)
    runs.advance()
    after = kept(runs.state.training.student)
    assert [same(row(after, run), row(before, run)) for run in range(3)] == [True, False, True]

    set_policies(runs, EXPERT, COIN, LOSER)
    before = kept(runs.state.training.student)
    runs.advance()
    after = kept(runs.state.training.student)
    assert [same(row(after, run), row(before, run)) for run in range(3)] == [False, False, True]


def test_runs_that_do_not_wait_learn_at_once():
    runs = make_runs(EAGER)
    set_policies(runs, LOSER, LOSER, LOSER)
    before = kept(runs.state.training.student)
    runs.advance()
    after = kept(runs.state.training.student)
    assert not any(same(row(after, run), row(before, run)) for run in range(3))


def test_runs_that_wait_still_count_episodes():
    runs = make_runs(WAITING)
    set_policies(runs, LOSER, LOSER, LOSER)
    runs.advance()
    counts = runs.state.teaching.strategy.success.counts
    assert (np.asarray(counts.losses).sum(axis=1) > 0).all()
    assert not np.asarray(counts.wins).any()


def test_the_host_waits_until_there_is_a_reward():
    run = host_run(strategy=WAITING)
    set_params(run, biased(run.params, LOSER))
    before = kept(run.state.student)
    after_updates(2, run)
    assert same(run.state.student, before)
    set_params(run, biased(run.params, COIN))
    before = kept(run.state.student)
    after_updates(1, run)
    assert not same(run.state.student, before)


def test_the_host_learns_at_once_without_waiting():
    run = host_run(strategy=EAGER)
    set_params(run, biased(run.params, LOSER))
    before = kept(run.state.student)
    after_updates(1, run)
    assert not same(run.state.student, before)
