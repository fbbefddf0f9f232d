"""Training steps: what the environments did, replayed one by one outside the compiled loop."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.ppo.collect import collect, draw_tasks, enter, head_of
from procurl.ppo.learning.networks import (
    CategoricalHead,
    GaussianHead,
    actor_critic,
    forward,
    init_params,
)
from tests.ppo.toy import CONTEXTS, SMALL, PushCorridor, StepCorridor

N = len(CONTEXTS)
STEPS = 12
N_ENVS = 3
WEIGHTS = np.array([0.3, 0.0, 0.25, 0.4, 0.0, 0.05])
CUMULATIVE = jnp.cumsum(jnp.asarray(WEIGHTS))
ENVS = {
    "discrete": StepCorridor(slip=1.0, toll=0.25),
    "continuous": PushCorridor(slip=1.0, toll=0.25),
}


class Case:
    """Rollouts that follow one another, compiled once per environment."""

    def __init__(self, env):
        self.env = env
        self.network = actor_critic(SMALL, head_of(env))
        self.params = init_params(self.network, 0, len(env.observation_low))
        self.keys = jax.random.split(jax.random.key(1), 3)
        self.start = enter(env, jnp.asarray(CONTEXTS), jnp.asarray([2, 0, 3]), jax.random.key(2))
        self.program = jax.jit(self.collect)
        self.lanes, self.rollouts = [self.start], []
        for key in self.keys:
            lanes, rollout = self.program(self.lanes[-1], key)
            self.lanes.append(jax.tree.map(np.asarray, lanes))
            self.rollouts.append(jax.tree.map(np.asarray, rollout))

    def collect(self, lanes, key):
        contexts = jnp.asarray(CONTEXTS)
        return collect(self.env, self.network, contexts, self.params, lanes, CUMULATIVE, key, STEPS)

    def draws(self, key):
        """(next tasks, action noise, noise) of one rollout, by the stream that each belongs to."""
        tasks, actions, noise = jax.random.split(key, 3)
        size = self.network.head.size
        discrete = isinstance(self.network.head, CategoricalHead)
        draw = jax.random.gumbel if discrete else jax.random.normal
        return (
            np.asarray(draw_tasks(tasks, CUMULATIVE, (STEPS, N_ENVS))),
            np.asarray(draw(actions, (STEPS, N_ENVS, size))),
            np.asarray(jax.random.normal(noise, (STEPS, N_ENVS, *self.env.noise_shape))),
        )


@cache
def case_of(kind):
    return Case(ENVS[kind])


@pytest.fixture(params=ENVS)
def case(request):
    return case_of(request.param)


def test_head_follows_the_kind_of_actions():
    assert head_of(StepCorridor()) == CategoricalHead(2)
    assert head_of(PushCorridor()) == GaussianHead(1)


def test_steps_equal_a_replay_with_numpy(case):
    """One environment at a time, one step at a time, over all rollouts without a break."""
    env, ended = case.env, 0
    for lane in range(N_ENVS):
        task = int(case.start.tasks[lane])
        state, gained = env.initial(CONTEXTS[[task]]), np.float32(0.0)
        for key, rollout in zip(case.keys, case.rollouts, strict=True):
            next_tasks, _, noise = case.draws(key)
            for t in range(STEPS):
                assert rollout.tasks[t, lane] == task
                np.testing.assert_array_equal(rollout.observations[t, lane], env.observe(state)[0])
                after = env.step(state, rollout.actions[t, lane][None], noise[t, lane][None])
                gained += after.reward[0]
                assert rollout.rewards[t, lane] == after.reward[0]
                assert rollout.dones[t, lane] == after.done[0]
                assert rollout.success[t, lane] == after.success[0]
                assert rollout.returns[t, lane] == pytest.approx(gained, rel=1e-6)
                state = after.state
                if after.done[0]:
                    task, gained, ended = int(next_tasks[t, lane]), np.float32(0.0), ended + 1
                    state = env.initial(CONTEXTS[[task]])
        last = case.lanes[-1]
        assert last.tasks[lane] == task
        assert last.gained[lane] == pytest.approx(gained, rel=1e-6)
        np.testing.assert_array_equal(last.observations[lane], env.observe(state)[0])
    assert ended > 10


def test_some_episodes_span_rollouts_with_rewards_on_both_sides(case):
    """Without such episodes the replay would not show that anything is carried over."""
    carried = [lanes.gained.max() for lanes in case.lanes[1:-1]]
    assert max(carried) > 0.0
    for lanes, rollout in zip(case.lanes[1:-1], case.rollouts[1:], strict=True):
        np.testing.assert_array_equal(rollout.tasks[0], lanes.tasks)
        np.testing.assert_allclose(rollout.returns[0], lanes.gained + rollout.rewards[0])


def test_actions_are_the_policys_given_its_noise(case):
    for key, rollout in zip(case.keys, case.rollouts, strict=True):
        _, noise, _ = case.draws(key)
        policy, _ = forward(case.network, case.params, jnp.asarray(rollout.observations))
        np.testing.assert_allclose(rollout.actions, policy.sample(jnp.asarray(noise)), rtol=1e-5)


def test_tasks_change_at_the_ends_of_episodes_only(case):
    tasks = np.concatenate([rollout.tasks for rollout in case.rollouts])
    dones = np.concatenate([rollout.dones for rollout in case.rollouts])
    changed = tasks[1:] != tasks[:-1]
    assert changed.any()
    assert not np.any(changed & ~dones[:-1])


def test_continuous_actions_are_kept_as_drawn():
    """PPO needs the log-probability of what was drawn, not of what the box left of it."""
    actions = case_of("continuous").rollouts[0].actions
    assert np.abs(actions).max() > 1.0


def test_the_key_decides_actions_and_tasks(case):
    first = case.rollouts[0]
    _, again = case.program(case.start, case.keys[0])
    _, other = case.program(case.start, jax.random.key(99))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert not np.array_equal(first.actions, other.actions)
    assert not np.array_equal(first.tasks, other.tasks)


def test_played_tasks_follow_the_distribution(case):
    """Of the tasks that follow the end of an episode, over 300 rollouts; none has probability 0."""
    lanes, counts = case.start, np.zeros(N)
    for key in jax.random.split(jax.random.key(7), 300):
        following, rollout = case.program(lanes, key)
        tasks = np.concatenate([rollout.tasks, following.tasks[None]])
        started = tasks[1:][np.asarray(rollout.dones)]
        counts += np.bincount(started, minlength=N)
        lanes = following
    assert counts.sum() > 2000
    sigma = np.sqrt(counts.sum() * WEIGHTS * (1.0 - WEIGHTS))
    assert np.all(np.abs(counts - counts.sum() * WEIGHTS) <= 4.0 * sigma)
    assert counts[WEIGHTS == 0.0].tolist() == [0, 0]


@pytest.mark.parametrize("scale", [1.0, 0.3, 7.0])
def test_draws_follow_cumulative_weights_of_any_total(scale):
    weights = np.array([0.0, 0.1, 0.0, 0.6, 0.3, 0.0])
    cumulative = jnp.cumsum(jnp.asarray(scale * weights))
    tasks = np.asarray(draw_tasks(jax.random.key(3), cumulative, (100, 200)))
    assert tasks.dtype == np.int32
    counts = np.bincount(tasks.reshape(-1), minlength=6)
    sigma = np.sqrt(tasks.size * weights * (1.0 - weights))
    assert np.all(np.abs(counts - tasks.size * weights) <= 4.0 * sigma)
