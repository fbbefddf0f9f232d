"""Budgets that are spent early, compiled and on the host.

An expert takes 21 steps for a rollout on each of the six tasks. A budget of 1.1 or 1.2 for 384
training steps is 38.4 or 76.8 teacher steps: 2 or 4 refreshes with rollouts, the first ones.
"""

from dataclasses import replace

import numpy as np
import pytest

from procurl import make_strategy
from tests.ppo.host.host_runs import host_run, native, set_params
from tests.ppo.toy import EXPERT, SMALL, biased, make_runs, set_policies

STILL = replace(SMALL, learning_rate=1e-30)  # the policy stays as it was set
SPENT = {
    1.1: [21, 42, 42, 42, 42, 42],
    1.2: [21, 42, 63, 84, 84, 84],
    1e6: [21, 42, 63, 84, 105, 126],
}
STEPS = [64, 128, 192, 256, 320, 384]


def early(budget):
    settings = {"c_rollouts": 1, "refresh_every": 64, "budget": budget}
    return make_strategy("procurl-env", **settings, spending="early", training_steps=384)


def known_while_paid(spent):
    """[6, n] the estimates after each refresh: 1 after those with rollouts, 0 after the others."""
    rolled = np.diff([0, *spent]) > 0
    return np.repeat(rolled.astype(float), 6).reshape(6, 6)


@pytest.mark.soak
def test_compiled_runs_spend_their_budgets_with_the_first_refreshes():
    runs = make_runs([early(budget) for budget in SPENT], ppo=STILL)
    set_policies(runs, EXPERT, EXPERT, EXPERT)
    spent, success = [], []
    for step in STEPS:
        runs.advance()
        assert runs.state.teaching.step.tolist() == [step] * 3
        spent.append(runs.state.teaching.teacher_steps.tolist())
        success.append(np.asarray(runs.state.teaching.strategy.success.estimate))
    assert np.transpose(spent).tolist() == list(SPENT.values())
    for run, expected in enumerate(SPENT.values()):
        assert np.asarray(success)[:, run] == pytest.approx(known_while_paid(expected))


def test_a_host_run_spends_its_budget_with_the_first_refreshes():
    run = host_run(strategy=early(1.1), ppo=STILL, eval_env=native(4))
    set_params(run, biased(run.params, EXPERT))
    spent, success = [], []
    for step in STEPS:
        run.advance()
        assert int(run.state.teaching.step) == step
        spent.append(int(run.state.teaching.teacher_steps))
        success.append(np.asarray(run.state.teaching.strategy.success.estimate))
    assert spent == SPENT[1.1]
    assert np.asarray(success) == pytest.approx(known_while_paid(spent))
