"""Tasks that a strategy excludes from learning: compiled runs and runs on the host."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import make_strategy
from procurl.ppo import programs
from procurl.ppo.collect import Rollout
from procurl.ppo.learning.networks import init_params
from procurl.ppo.learning.update import init_student
from procurl.ppo.programs import Agent
from tests.ppo.host.host_runs import after as after_updates
from tests.ppo.host.host_runs import host_run
from tests.ppo.toy import CONTEXTS, SMALL, StepCorridor, kept, make_runs, row, same

ROBUST = make_strategy("plr", robust=True)
N = len(CONTEXTS)
KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def agent():
    return Agent.of(StepCorridor(), SMALL, 4)


@pytest.fixture(scope="module")
def played(agent):
    """(student, rollout, last observations) of one update on all tasks."""
    even = jnp.asarray(np.arange(1.0, N + 1.0) / N)
    params = init_params(agent.actor.network, 0, agent.actor.observation_size)
    lanes = agent.actor.begin(jnp.asarray(CONTEXTS), even, *jax.random.split(jax.random.key(0)))
    lanes, rollout = agent.actor.collect(
        jnp.asarray(CONTEXTS), params, lanes, even, KEY, SMALL.n_steps // 4
    )
    return init_student(params), rollout, lanes.observations


def learned(agent, played, mask=None, rollout: Rollout | None = None):
    student, recorded, last = played
    learn = jax.jit(agent.student.learn)
    return learn(SMALL, student, rollout or recorded, last, KEY, mask)[0]


def test_a_mask_of_all_tasks_changes_nothing(agent, played):
    every = learned(agent, played, jnp.ones(N, dtype=bool))
    plain = learned(agent, played)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7), every, plain)


def test_a_mask_of_no_task_leaves_the_student_as_it_was(agent, played):
    assert same(learned(agent, played, jnp.zeros(N, dtype=bool)), played[0])


def test_excluded_steps_have_no_influence(agent, played):
    """Other rewards on excluded tasks change what is learned only without the mask.

    An advantage reaches back to the start of its episode and no further, so it never crosses from
    one task to another.
    """
    rollout = played[1]
    mask = jnp.asarray(np.arange(N) % 2 == 0)
    excluded = ~mask[rollout.tasks]
    assert 0 < int(excluded.sum()) < excluded.size
    other = rollout._replace(rewards=jnp.where(excluded, rollout.rewards + 5.0, rollout.rewards))
    assert same(learned(agent, played, mask), learned(agent, played, mask, other))
    assert not same(learned(agent, played), learned(agent, played, None, other))
    assert not same(learned(agent, played, mask), played[0])


def test_robust_plr_learns_nothing_before_a_task_is_replayed():
    runs = make_runs(ROBUST)
    before = kept(runs.state.training.student)
    runs.advance()
    assert same(runs.state.training.student, before)
    assert np.asarray(runs.state.teaching.strategy.seen).any(axis=1).all()
    for _ in range(3):
        runs.advance()
    after = runs.state.training.student
    assert not any(same(row(after, run), row(before, run)) for run in range(3))


def test_the_host_learns_nothing_before_a_task_is_replayed():
    run = host_run(strategy=ROBUST)
    before = kept(run.state.student)
    after_updates(1, run)
    assert same(run.state.student, before)
    after_updates(3, run)
    assert not same(run.state.student, before)


def test_other_strategies_ask_no_mask(monkeypatch):
    def asked(*_):
        raise AssertionError("no mask is needed")

    monkeypatch.setattr(programs, "learning_masks", asked)
    make_runs(replace(ROBUST, robust=False)).advance()
    with pytest.raises(AssertionError, match="no mask is needed"):
        make_runs(ROBUST).advance()
