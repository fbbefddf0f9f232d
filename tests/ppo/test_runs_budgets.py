"""Runs of one batch that are due for rollouts at different steps."""

import numpy as np
import pytest

from procurl.ppo.runs import APART, refresh_groups
from procurl.strategies import make_strategy
from tests.ppo.toy import SMALL, make_runs, row, same

WIDTH = 2 * APART  # groups of two


def batch(budgets, seeds):
    """Runs with these budgets, after several refreshes of some of them."""
    strategies = [
        make_strategy("procurl-env-2", c_rollouts=3, refresh_every=SMALL.n_steps, budget=budget)
        for budget in budgets
    ]
    runs = make_runs(strategies, seeds=seeds)
    for _ in range(6):
        runs.advance()
    return runs


@pytest.mark.soak
def test_what_a_run_does_does_not_depend_on_which_others_are_due():
    """The same run in another group, with runs that are due more often."""
    rare = batch([1.1] * WIDTH, tuple(range(WIDTH)))
    often = batch([1.1] + [1e9] * (WIDTH - 1), tuple(range(WIDTH)))
    spent = np.asarray(often.state.teaching.teacher_steps)
    assert 0 < spent[0] < spent[1:].min()
    assert same(row(rare.state.teaching, 0), row(often.state.teaching, 0))
    assert same(row(rare.state.training, 0), row(often.state.training, 0))
    assert not same(row(rare.state.teaching, 1), row(often.state.teaching, 1))


@pytest.mark.parametrize("due", [[3], [0, 5, 7], list(range(WIDTH))])
def test_groups_are_of_one_size_and_hold_every_run_that_is_due(due):
    runs = make_runs(
        [make_strategy("procurl-env-2", c_rollouts=3)] * WIDTH, seeds=tuple(range(WIDTH))
    )
    groups = list(refresh_groups(np.array(due), runs.refresh_size))
    assert {len(group) for group in groups} == {WIDTH // APART}
    assert sorted({int(run) for group in groups for run in group}) == due


def test_runs_without_a_budget_are_refreshed_at_once():
    runs = make_runs(
        [make_strategy("procurl-env", c_rollouts=3)] * WIDTH, seeds=tuple(range(WIDTH))
    )
    (group,) = refresh_groups(np.arange(WIDTH - 1), runs.refresh_size)  # one has stopped
    assert len(group) == WIDTH
    assert set(group.tolist()) == set(range(WIDTH - 1))
