"""Rollouts that a refresh does without once the budget is spent, compiled and on the host.

An expert takes 21 steps for a rollout on each of the six tasks. Budgets of 1.1 and 1.2 grant 6.4
and 12.8 steps per update of 64:

    spent before update   1   2   3   4   5   6
    1.1: at most          6  12  19  25  32  38
         spent            0  21  21  21  42  42     rollouts at updates 1 and 4
    1.2: at most         12  25  38  51  64  76
         spent            0  21  42  42  63  84     rollouts at updates 1, 2, 4 and 5
"""

from dataclasses import replace

import numpy as np
import pytest

from procurl import make_strategy
from procurl.ppo.learning.settings import PPOSettings
from tests.ppo.host.host_runs import after, host_run, native, set_params
from tests.ppo.toy import EXPERT, SMALL, biased, make_runs, row, same, set_policies

STILL: PPOSettings = replace(SMALL, learning_rate=1e-30)  # the policy stays as it was set
SPENT = {
    1.1: [21, 21, 21, 42, 42, 42],
    1.2: [21, 42, 42, 63, 84, 84],
    1e6: [21, 42, 63, 84, 105, 126],
}
STEPS = [64, 128, 192, 256, 320, 384]


def budgeted(budget):
    return make_strategy("procurl", budget=budget)


@pytest.mark.soak
def test_compiled_runs_refresh_at_every_update_and_roll_out_by_their_budgets():
    runs = make_runs([budgeted(budget) for budget in SPENT], ppo=STILL)
    set_policies(runs, EXPERT, EXPERT, EXPERT)
    spent = []
    for step in STEPS:
        runs.advance()
        assert runs.state.teaching.step.tolist() == [step] * 3
        spent.append(runs.state.teaching.teacher_steps.tolist())
    assert np.transpose(spent).tolist() == list(SPENT.values())


@pytest.mark.soak
def test_a_run_does_not_depend_on_whether_others_roll_out():
    def batch(*others):
        runs = make_runs([budgeted(budget) for budget in (1.1, *others)])
        for _ in range(3):
            runs.advance()
        return runs.state

    rare, often = batch(1.1, 1.1), batch(1e6, 1e6)
    spent = often.teaching.teacher_steps.tolist()
    assert 0 < spent[0] < min(spent[1:])
    assert same(row(rare.teaching, 0), row(often.teaching, 0))
    assert same(row(rare.training, 0), row(often.training, 0))


@pytest.mark.soak
@pytest.mark.parametrize("budget", [1.1, 1.2])
def test_a_host_run_refreshes_at_every_update_and_rolls_out_by_its_budget(budget):
    run = host_run(strategy=budgeted(budget), ppo=STILL, eval_env=native(4))
    set_params(run, biased(run.params, EXPERT))
    spent = []
    for step in STEPS:
        run.advance()
        assert int(run.state.teaching.step) == step
        spent.append(int(run.state.teaching.teacher_steps))
    assert spent == SPENT[budget]


def test_rollouts_add_an_episode_to_every_task():
    """The training episodes of the first update are the same with and without rollouts."""

    def counts(strategy):
        run = host_run(strategy=strategy, ppo=STILL, eval_env=native(4))
        set_params(run, biased(run.params, EXPERT))
        return after(1, run).state.teaching.strategy.success.counts

    plain, rolled = counts(make_strategy("procurl")), counts(budgeted(1.1))
    assert (np.asarray(rolled.wins) - np.asarray(plain.wins)).tolist() == [1.0] * 6
    assert np.asarray(rolled.losses).tolist() == np.asarray(plain.losses).tolist() == [0.0] * 6
