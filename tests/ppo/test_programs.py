"""The agent of one run: how its actor plays, how its student learns and values tasks."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.ppo import programs
from procurl.ppo.learning.networks import init_batch, init_params
from procurl.ppo.learning.update import Diagnostics
from procurl.ppo.programs import Agent, TrainingState
from procurl.ppo.student import RolloutSummary
from tests.ppo.toy import (
    COIN,
    CONTEXTS,
    EXPERT,
    LENGTHS,
    LONGEST,
    SMALL,
    PushCorridor,
    StepCorridor,
    biased,
    same,
)

N = len(CONTEXTS)
POOL = jnp.asarray(CONTEXTS)
EVEN = jnp.asarray(np.arange(1.0, N + 1.0) / N)
PPO = replace(SMALL, gamma=0.9, gae_lambda=0.8)
UPDATE_KEYS = jax.random.split(jax.random.key(1), 3)


def agent_in(env, n_envs=4):
    return Agent.of(env, SMALL, n_envs)


@pytest.fixture(scope="module")
def fresh():
    """(agent, its parameters)."""
    agent = agent_in(StepCorridor())
    return agent, begun(agent, seed=0).student.params


def begun(agent, seed):
    """The second of three runs side by side, like all that the tests of `Runs` train."""
    return jax.tree.map(lambda array: np.asarray(array[1]), begin_three(agent, seed))


def begin_three(agent, seed):
    params = init_batch(agent.actor.network, range(seed, seed + 3), agent.actor.observation_size)
    keys = jax.random.split(jax.random.key(seed), 3)
    return programs.begin_agents(agent, params, POOL, jnp.tile(EVEN, (3, 1)), keys)


class Update(NamedTuple):
    """One update of one run, and the parts it was made of."""

    agent: Agent
    before: TrainingState
    after: TrainingState
    summary: RolloutSummary
    diagnostics: Diagnostics


@pytest.fixture(
    scope="module", params=[StepCorridor(), PushCorridor(slip=2.0, toll=0.25)], ids=repr
)
def update(request):
    agent = agent_in(request.param)
    ppo = jax.tree.map(lambda number: jnp.full(3, number, dtype=jnp.float32), PPO)
    before = begin_three(agent, seed=0)
    kept = jax.tree.map(lambda array: np.asarray(array[1]), before)
    after, summary, diagnostics, going = programs.train(
        agent, ppo, POOL, before, jnp.tile(EVEN, (3, 1)), UPDATE_KEYS, jnp.ones(3, dtype=bool)
    )
    assert going.tolist() == [True] * 3
    mine = jax.tree.map(lambda array: np.asarray(array[1]), (after, summary, diagnostics))
    return Update(agent, kept, *mine)


def test_begins_on_tasks_of_the_first_distribution():
    agent = agent_in(StepCorridor(), n_envs=600)
    lanes = jax.jit(agent.actor.begin)(POOL, EVEN, *jax.random.split(jax.random.key(0)))
    counts = np.bincount(lanes.tasks, minlength=N)
    sigma = np.sqrt(600 * (1 / N) * (1 - 1 / N))
    assert np.all(np.abs(counts - 600 / N) <= 4.0 * sigma)
    np.testing.assert_array_equal(lanes.observations, agent.actor.env.observe(lanes.env))
    np.testing.assert_array_equal(lanes.env.length, LENGTHS[np.asarray(lanes.tasks)])


def test_seeds_decide_weights_and_first_tasks():
    agent = agent_in(StepCorridor())
    one, again, other = (begun(agent, seed) for seed in (0, 0, 1))
    assert same(one, again)
    assert not np.array_equal(one.lanes.tasks, other.lanes.tasks)
    for part in ("value_0", "value", "head"):
        assert not same(one.student.params[part], other.student.params[part])


def test_every_purpose_and_use_has_its_own_keys_from_one_program():
    seeds = jnp.arange(2, dtype=jnp.uint32)
    compiled = programs.run_keys._cache_size()
    keys = [programs.run_keys(seeds, purpose, use) for purpose in range(3) for use in range(2)]
    seen = {tuple(row) for key in keys for row in np.asarray(jax.random.key_data(key)).tolist()}
    assert len(seen) == 12
    assert programs.run_keys._cache_size() - compiled <= 1


def test_an_update_plays_n_steps_over_all_environments(update):
    summary = update.summary
    assert summary.tasks.shape == (SMALL.n_steps // 4, 4)
    assert summary.advantages.shape == summary.returns.shape == summary.tasks.shape
    assert summary.dones.any()
    assert np.all(summary.dones | ~summary.success)  # success only where the episode ends


def test_advantages_equal_a_scalar_recursion(update):
    """A_t = δ_t + γ·λ·A_{t+1} and δ_t = r_t + γ·V_{t+1} − V_t by the critic before the update, cut
    at the ends of episodes; the steps are those of the first of the update's two keys.
    """
    agent, summary, params = update.agent, update.summary, update.before.student.params
    student, n_envs = agent.student, agent.actor.n_envs
    steps = SMALL.n_steps // n_envs
    key, _ = jax.random.split(UPDATE_KEYS[1])
    program = jax.jit(partial(agent.actor.collect, steps=steps))
    lanes, rollout = program(POOL, params, update.before.lanes, EVEN, key)
    for name in ("dones", "success", "returns", "tasks"):
        np.testing.assert_array_equal(getattr(rollout, name), getattr(summary, name))
    np.testing.assert_array_equal(lanes.observations, update.after.lanes.observations)

    seen = rollout.observations.reshape(steps * n_envs, -1)
    values = np.asarray(student.values(params, seen), dtype=float).reshape(steps, n_envs)
    last = np.asarray(student.values(params, lanes.observations), dtype=float)
    rewards = np.asarray(rollout.rewards, dtype=float)
    for lane in range(n_envs):
        later, next_value = 0.0, last[lane]
        for t in reversed(range(steps)):
            going = 0.0 if summary.dones[t, lane] else 1.0
            delta = rewards[t, lane] + PPO.gamma * going * next_value - values[t, lane]
            later = delta + PPO.gamma * PPO.gae_lambda * going * later
            next_value = values[t, lane]
            assert summary.advantages[t, lane] == pytest.approx(later, abs=1e-5)


def test_learning_changes_every_weight_that_was_used_and_is_finite(update):
    assert np.isfinite(update.diagnostics).all()
    before, after = update.before.student.params, update.after.student.params
    moved = jax.tree.map(lambda a, b: float(np.max(np.abs(a - b))), before, after)
    assert min(jax.tree.leaves(moved)) > 1e-6


def test_one_environment_takes_as_many_steps_per_update():
    agent = agent_in(StepCorridor(), n_envs=1)
    params = init_params(agent.actor.network, 0, agent.actor.observation_size)
    before = jax.eval_shape(
        partial(agent.begin, has_anchor=False), params, POOL, EVEN, jax.random.key(0)
    )
    shapes = jax.eval_shape(agent.train, SMALL, POOL, before, EVEN, jax.random.key(1))
    assert shapes[1].tasks.shape == (SMALL.n_steps, 1)


def test_a_coin_reaches_the_end_with_probability_two_to_the_minus_length(fresh):
    agent, params = fresh
    k = 500
    roll_out = jax.jit(partial(agent.actor.roll_out, k=k, width=300))
    episodes = roll_out(biased(params, COIN), POOL, jax.random.key(2))
    expected = 2.0**-LENGTHS
    sigma = np.sqrt(expected * (1.0 - expected) / k)
    assert np.all(np.abs(np.mean(episodes.returns, axis=1) - expected) <= 4.0 * sigma)
    np.testing.assert_array_equal(episodes.returns, episodes.success)


def test_evaluation_reaches_as_far_as_the_policy_knows(fresh):
    """A policy that errs in cell `reach` and nowhere before solves the corridors up to there; a
    slight preference for the right action is as good as a strong one.
    """
    agent, params = fresh
    evaluate = jax.jit(partial(agent.actor.evaluate, width=4))
    for reach in range(LONGEST + 1):
        for scale in (1.0, 1e-3):
            errs = np.where(np.arange(LONGEST) == reach, -EXPERT, EXPERT)
            returns = evaluate(biased(params, scale * errs), POOL, jax.random.key(3))
            assert returns.tolist() == [float(length <= reach) for length in LENGTHS]


def test_values_are_those_of_first_observations(fresh):
    """By hand: one layer of ReLU over the bits of cell 0 and of the corridor's length."""
    agent, params = fresh
    params = jax.tree.map(np.asarray, params)
    seen = agent.actor.initial_observations(POOL)
    values = agent.student.values(params, seen)
    for task, length in enumerate(LENGTHS):
        bits = np.zeros(2 * LONGEST)
        bits[0] = bits[LONGEST + int(length) - 1] = 1.0
        np.testing.assert_array_equal(seen[task], bits)
        hidden = np.maximum(bits @ params["value_0"]["kernel"] + params["value_0"]["bias"], 0.0)
        by_hand = hidden @ params["value"]["kernel"][:, 0] + params["value"]["bias"][0]
        assert float(values[task]) == pytest.approx(by_hand, abs=1e-5)
