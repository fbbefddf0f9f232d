"""When the runs of a batch refresh, and what their strategies take from the pool."""

import jax.numpy as jnp
import numpy as np
import pytest

from procurl import OutcomeSuccess, ProCuRL, TaskPool
from procurl.ppo import programs
from procurl.strategies import make_strategy
from tests.ppo.toy import CONTEXTS, SMALL, kept, make_runs, row, same
from tests.strategies.own_rule import AtMultiples

UPDATE = SMALL.n_steps  # 64


def test_each_run_obeys_the_rule_of_its_own_strategy():
    """Every update, every second and every third one, side by side in a batch."""
    every = (UPDATE, 2 * UPDATE, 3 * UPDATE)
    runs = make_runs([AtMultiples(float(steps)) for steps in every])
    for update in range(1, 8):
        runs.advance()
        step = update * UPDATE
        assert runs.state.teaching.step.tolist() == [step // own * own for own in every]
        refreshes = [step // own for own in every]
        assert runs.state.teaching.strategy.refreshes.tolist() == refreshes


def test_a_run_that_is_not_due_keeps_its_curriculum():
    runs = make_runs([AtMultiples(float(UPDATE)), *[AtMultiples(2.0 * UPDATE)] * 2])
    runs.advance()
    runs.advance()
    before = kept(runs.state.teaching)
    runs.advance()
    assert same(row(runs.state.teaching, 1), row(before, 1))
    assert not same(row(runs.state.teaching, 0), row(before, 0))


def test_a_run_that_stopped_does_not_make_others_refresh():
    runs = make_runs([AtMultiples(float(UPDATE)), *[AtMultiples(2.0 * UPDATE)] * 2])
    runs.state = runs.state._replace(alive=jnp.array([False, True, True]))
    for _ in range(3):
        runs.advance()
    assert runs.state.teaching.step.tolist() == [0, 2 * UPDATE, 2 * UPDATE]


@pytest.mark.parametrize(
    ("name", "asks"), [("procurl-val", False), ("plr", False), ("iid", False), ("spdl", True)]
)
def test_the_device_is_asked_only_if_the_host_cannot_tell(name, asks, monkeypatch):
    calls = []
    rule = programs.due

    def due(*args):
        calls.append(args)
        return rule(*args)

    monkeypatch.setattr(programs, "due", due)
    settings = {"refresh_every": UPDATE} if asks else {}
    make_runs(make_strategy(name, **settings)).advance()
    assert bool(calls) is asks


def test_strategies_are_bound_to_the_pool():
    """Outcomes are shared among near tasks, which takes the kernel over the pool's contexts."""
    unbound = ProCuRL(success=OutcomeSuccess(bandwidth=1.0))
    bound = unbound.bind(TaskPool(CONTEXTS))
    runs, expected = (make_runs(strategy) for strategy in (unbound, bound))
    for _ in range(2):
        runs.advance()
        expected.advance()
    assert same(runs.state.teaching, expected.state.teaching)
    state = row(runs.state.teaching.strategy.success, 0)
    wins, losses = state.counts.wins, state.counts.losses
    own = (wins + state.prior) / (wins + losses + 1.0)
    assert np.abs(np.asarray(state.estimate - own)).max() > 1e-3


def test_a_setting_per_task_must_fit_the_pool():
    with pytest.raises(ValueError, match="one number per task, got 2 for a pool of 6"):
        make_runs(ProCuRL(p_star=[0.5, 1.0]))
