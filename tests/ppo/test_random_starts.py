"""Environments with random resets: every program draws noise, and values are means over it."""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.envs.array_env import ArrayEnv
from procurl.ppo.actor import Actor
from procurl.ppo.collect import collect, enter, head_of
from procurl.ppo.episodes import play_episodes
from procurl.ppo.learning.networks import actor_critic, init_params
from procurl.ppo.student import Student
from tests.ppo.toy import CONTEXTS, LENGTHS, LONGEST, SMALL, CorridorState, StepCorridor

N = len(CONTEXTS)
POOL = jnp.asarray(CONTEXTS)
EVEN = jnp.asarray(np.arange(1.0, N + 1.0) / N)


@dataclass(frozen=True)
class RandomCorridor(StepCorridor):
    """A walker starts in cell 0 or, with probability 1/2, in the next."""

    start_noise_shape = (1,)

    def start(self, contexts, noise) -> CorridorState:
        state = self.initial(contexts)
        return state._replace(cell=(noise[:, 0] > 0.0).astype("int32"))


ENV = RandomCorridor()
NETWORK = actor_critic(SMALL, head_of(ENV))


@pytest.fixture(scope="module")
def params():
    return init_params(NETWORK, 0, 2 * LONGEST)


def test_a_start_is_not_random_unless_the_environment_says_so():
    plain = StepCorridor()
    assert plain.start_noise_shape == (0,)
    started = plain.start(CONTEXTS, np.zeros((N, 0)))
    jax.tree.map(np.testing.assert_array_equal, started, plain.initial(CONTEXTS))
    assert ArrayEnv.start_noise_shape == (0,)


def test_values_are_means_over_sampled_starts(params):
    actor, student = Actor(ENV, NETWORK, 4, start_samples=200), Student(NETWORK)
    seen = actor.initial_observations(POOL)
    assert seen.shape == (N, 200, 2 * LONGEST)
    further = np.asarray(seen[:, :, 1])
    assert np.all(np.abs(further.mean(axis=1) - 0.5) < 4.0 * 0.5 / np.sqrt(200))
    assert len({row.tobytes() for row in further}) == N  # every task has starts of its own

    first = jnp.asarray([[cell, length] for length in LENGTHS for cell in (0, 1)], dtype=jnp.int32)
    observations = ENV.observe(CorridorState(first[:, 0], first[:, 1], first[:, 0]))
    by_cell = np.asarray(student.values(params, observations)).reshape(N, 2)
    share = further.mean(axis=1)
    expected = (1.0 - share) * by_cell[:, 0] + share * by_cell[:, 1]
    np.testing.assert_allclose(student.values(params, seen), expected, atol=1e-5)


def test_training_starts_at_random(params):
    """The first observations of all episodes but the first: about half are in the next cell."""
    lanes = enter(ENV, POOL, jnp.arange(40) % N, jax.random.key(1))
    assert 0 < int(lanes.env.cell.sum()) < 40
    program = jax.jit(partial(collect, ENV, NETWORK, POOL, params, steps=100))
    _, rollout = program(lanes, EVEN, jax.random.key(2))
    ended = np.asarray(rollout.dones)[:-1]
    firsts = np.asarray(rollout.observations)[1:][ended]
    assert np.all(firsts[:, :2].sum(axis=1) == 1)
    share, count = firsts[:, 1].mean(), len(firsts)
    assert count > 500
    assert abs(share - 0.5) < 4.0 * 0.5 / np.sqrt(count)


def test_episodes_start_at_random_whatever_the_width():
    """Moving right from the start earns 0.25 a step and 1 at the end."""
    env = replace(ENV, toll=0.25)

    def act(observations, keys):
        return jnp.argmax(observations[:, :LONGEST], axis=1) % 2

    def returns(width, seed=0):
        play = jax.jit(lambda key: play_episodes(env, POOL[:1], act, key, 60, width))
        return np.asarray(play(jax.random.key(seed)).returns)[0]

    earned = returns(7)
    assert set(earned.tolist()) == {1.75, 1.5}  # of length 3, and 1 at the goal
    assert 10 < np.sum(earned == 1.5) < 50
    for width in (1, 100):
        np.testing.assert_array_equal(returns(width), earned)
    assert not np.array_equal(returns(7, seed=1), earned)


def test_evaluation_means_over_episodes_and_may_be_stochastic(params):
    actor = Actor(ENV, NETWORK, 4)
    evaluate = partial(actor.evaluate, params, POOL, jax.random.key(3), 8)
    one = evaluate()
    assert one.shape == (N,)
    assert set(np.asarray(one).tolist()) <= {0.0, 1.0}
    drawn = np.asarray(evaluate(episodes=64, stochastic=True))
    expected = actor.roll_out(params, POOL, jax.random.key(3), 64, 8).returns.mean(axis=1)
    np.testing.assert_array_equal(drawn, expected)
    assert 0.0 < drawn[np.argmin(LENGTHS)] <= 1.0
