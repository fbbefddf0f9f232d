"""Episodes over a pool: every task its share, whichever environment plays it."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.envs.array_env import ArrayEnv, Transition
from procurl.envs.point_mass.dynamics import DensePointMass, SparsePointMass
from procurl.envs.point_mass.rules import HORIZON
from procurl.internals.arrays import Array
from procurl.ppo.episodes import choose, play_episodes

CONTEXTS = jnp.asarray([[0.0, 8.0, 0.0], [3.9, 0.5, 0.0], [0.0, 8.0, 4.0]])


def straight_down(observations, keys):
    """Full force towards the goal, stopping in front of it."""
    y, vy = observations[:, 2], observations[:, 3]
    x, vx = observations[:, 0], observations[:, 1]
    return jnp.stack([-4 * x - 3 * vx, 4 * (-3.0 - y) - 3 * vy], axis=1)


def at_random(observations, keys):
    return jax.vmap(lambda key: 10 * jax.random.normal(key, (2,)))(keys)


def play(env, act, k, width, seed=0):
    return jax.jit(lambda key: play_episodes(env, CONTEXTS, act, key, k, width))(
        jax.random.key(seed)
    )


def test_results_belong_to_their_tasks():
    """The open gates are passed, the narrow one at the edge is missed."""
    episodes = play(SparsePointMass(), straight_down, k=4, width=5)
    assert episodes.success.tolist() == [[True] * 4, [False] * 4, [True] * 4]
    assert episodes.returns.tolist() == [[1.0] * 4, [0.0] * 4, [1.0] * 4]


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_results_do_not_depend_on_the_width(width):
    one = play(DensePointMass(), at_random, k=5, width=3)
    other = play(DensePointMass(), at_random, k=5, width=width)
    np.testing.assert_allclose(one.returns, other.returns, rtol=1e-5)
    np.testing.assert_array_equal(one.success, other.success)
    assert int(one.steps) == int(other.steps)


def test_episodes_of_a_task_differ_and_keys_matter():
    episodes = play(DensePointMass(), at_random, k=5, width=15)
    assert len(set(np.asarray(episodes.returns)[0].tolist())) == 5
    again = play(DensePointMass(), at_random, k=5, width=15)
    other = play(DensePointMass(), at_random, k=5, width=15, seed=1)
    np.testing.assert_array_equal(episodes.returns, again.returns)
    assert not np.array_equal(episodes.returns, other.returns)


def test_every_step_is_counted_and_no_other():
    """Standing still in the dense form lasts to the horizon, three tasks, two episodes each."""
    still = play(DensePointMass(), lambda observations, keys: jnp.zeros((len(keys), 2)), 2, 4)
    assert int(still.steps) == 3 * 2 * HORIZON
    expected = HORIZON * np.exp(-0.6 * 6.0)
    np.testing.assert_allclose(still.returns, expected, rtol=0.05)


class Height(NamedTuple):
    """How high b balls are."""

    y: Array  # [b]


@dataclass(frozen=True)
class Falling(ArrayEnv):
    """Balls that end their episode on the floor, which one without a height never reaches."""

    horizon = 6
    context_names = ("height",)
    noise_shape = (0,)

    def initial(self, contexts):
        return Height(contexts[:, 0])

    def observe(self, state):
        return state.y[:, None]

    def step(self, state, actions, noise):
        y = state.y - 1.0 + actions[:, 0]
        return Transition(Height(y), jnp.ones_like(y), y <= 0.0, y <= 0.0)

    def check_context(self, context):
        pass


def test_an_episode_that_is_no_longer_finite_ends_at_the_horizon():
    def act(observations, keys):
        return jnp.where(observations == 4.0, jnp.nan, 0.0)

    contexts = jnp.asarray([[2.0], [4.0], [3.0]])
    episodes = play_episodes(Falling(), contexts, act, jax.random.key(0), 1, 2)
    assert episodes.returns[:, 0].tolist() == [2.0, 6.0, 3.0]
    assert episodes.success[:, 0].tolist() == [True, False, True]
    assert int(episodes.steps) == 2 + 6 + 3


@pytest.mark.soak
def test_vmapped_runs_equal_single_ones():
    keys = jax.random.split(jax.random.key(3), 2)

    def run(key):
        return play_episodes(DensePointMass(), CONTEXTS, at_random, key, 2, 4)

    both = jax.jit(jax.vmap(run))(keys)
    for i, key in enumerate(keys):
        np.testing.assert_allclose(both.returns[i], run(key).returns, rtol=1e-5)
        assert int(both.steps[i]) == int(run(key).steps)


def test_choose_takes_rows():
    got = choose(jnp.array([True, False]), {"a": jnp.ones((2, 3))}, {"a": jnp.zeros((2, 3))})
    assert got["a"].tolist() == [[1.0] * 3, [0.0] * 3]
