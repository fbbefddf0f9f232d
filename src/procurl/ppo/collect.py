"""Collect training steps in array environments, on tasks drawn by the teacher."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array
from procurl.ppo.episodes import choose
from procurl.ppo.gpu.scan import scan
from procurl.ppo.learning.networks import ActorCritic, CategoricalHead, GaussianHead, forward


class Lanes(NamedTuple):
    """b environments between two rollouts, each within an episode."""

    env: Any  # [b, ...]
    observations: Array  # [b, o]
    tasks: Array  # [b] int32, the task each plays
    gained: Array  # [b] return of the episode so far


class Rollout(NamedTuple):
    """T steps in b environments."""

    observations: Array  # [T, b, o]
    actions: Array  # [T, b, ...] before clipping to the action bounds
    rewards: Array  # [T, b]
    dones: Array  # [T, b] bool, the episode ended at this step
    success: Array  # [T, b] whether the episode ended in success; NaN if a host does not say
    returns: Array  # [T, b] return of the episode up to and including this step
    tasks: Array  # [T, b] int32


class _Draws(NamedTuple):
    """All random numbers of a rollout."""

    next_tasks: Array  # [T, b] the task that follows if an episode ends at this step
    action_noise: Array  # [T, b, ...]
    noise: Array  # [T, b, ...] of the dynamics
    start_noise: Array  # [T, b, ...] of the starts of the next tasks


def head_of(env: ArrayEnv) -> GaussianHead | CategoricalHead:
    """The policy head for the action space of `env`."""
    if env.n_actions is not None:
        return CategoricalHead(env.n_actions)
    if env.action_low is None:
        raise ValueError(
            f"{type(env).__name__} must have n_actions, or action_low and action_high: all are None"
        )
    return GaussianHead(len(env.action_low))


def draw_tasks(key: Array, cumulative: Array, shape: tuple[int, ...]) -> Array:
    """Task ids, int32, drawn independently from a distribution with cumulative weights [n]."""
    draws = jax.random.uniform(key, shape) * cumulative[-1]
    return jnp.searchsorted(cumulative, draws, side="right").astype(jnp.int32)


def enter(env: ArrayEnv, contexts: Array, tasks: Array, key: Array) -> Lanes:
    """Environments at the start of their first episodes.

    Args:
        env: the dynamics.
        contexts: [n, c] contexts of the pool.
        tasks: [b].
        key: for random starts.
    """
    noise = jax.random.normal(key, (len(tasks), *env.start_noise_shape))
    state = env.start(contexts[tasks], noise)
    return Lanes(state, env.observe(state), tasks, jnp.zeros(len(tasks), dtype=jnp.float32))


def collect(
    env: ArrayEnv,
    network: ActorCritic,
    contexts: Array,
    params: dict[str, Array],
    lanes: Lanes,
    cumulative: Array,
    key: Array,
    steps: int,
) -> tuple[Lanes, Rollout]:
    """Act with the stochastic policy for `steps` steps in each environment.

    An environment whose episode ends starts a new task at once. All random numbers are drawn before
    the loop, which keeps it short.

    Args:
        env: the dynamics.
        network: the student's network.
        contexts: [n, c] contexts of the pool.
        params: its weights.
        lanes: the environments after the last rollout.
        cumulative: [n] cumulative weights of the tasks.
        key: one random key.
        steps: T.
    """
    kind, _ = jax.eval_shape(lambda o: forward(network, params, o), lanes.observations)
    shape = (steps, len(lanes.tasks))
    task_key, action_key, noise_key = jax.random.split(key, 3)
    start_key = jax.random.fold_in(key, 3)
    draws = _Draws(
        draw_tasks(task_key, cumulative, shape),
        kind.draw_noise(action_key, (*shape, network.head.size)),
        jax.random.normal(noise_key, (*shape, *env.noise_shape)),
        jax.random.normal(start_key, (*shape, *env.start_noise_shape)),
    )

    def step(lanes: Lanes, drawn: _Draws) -> tuple[Lanes, Rollout]:
        policy, _ = forward(network, params, lanes.observations)
        actions = policy.sample(drawn.action_noise)
        after = env.step(lanes.env, actions, drawn.noise)
        gained = lanes.gained + after.reward
        outcome = (after.reward, after.done, after.success, gained)
        taken = Rollout(lanes.observations, actions, *outcome, lanes.tasks)
        fresh = env.start(contexts[drawn.next_tasks], drawn.start_noise)
        state = choose(after.done, fresh, after.state)
        following = Lanes(
            state,
            env.observe(state),
            jnp.where(after.done, drawn.next_tasks, lanes.tasks),
            jnp.where(after.done, 0.0, gained),
        )
        return following, taken

    return scan(step, lanes, draws)
