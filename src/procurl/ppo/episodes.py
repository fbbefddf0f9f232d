"""Whole episodes on every task of a pool in one compiled program: rollouts and evaluations."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array

Tree = TypeVar("Tree")

BEFORE = 2**32 - 1  # the step number of the start of an episode


class Episodes(NamedTuple):
    """The outcomes of k episodes on each of m tasks."""

    returns: Array  # [m, k] undiscounted
    success: Array  # [m, k] bool, or 1, 0 and NaN from a host
    steps: Array  # []  environment steps in total, int32
    tasks: Array | None = None  # [m] int32, which tasks; None: all of the pool


class _Lanes(NamedTuple):
    """State of the loop: `width` environments, each playing one episode at a time."""

    env: Any  # [width, ...]
    episode: Array  # [width] int32, its number; `total` or more if none is left to play
    age: Array  # [width] int32, steps into the episode
    gained: Array  # [width] return so far
    started: Array  # []  int32, episodes started
    steps: Array  # []  int32
    returns: Array  # [total]
    success: Array  # [total] bool


def play_episodes(
    env: ArrayEnv,
    contexts: Array,
    act: Callable[[Array, Array], Array],
    key: Array,
    k: int,
    width: int,
) -> Episodes:
    """Play `k` episodes on every task, `width` at a time.

    An environment whose episode has ended starts the next one at once, so that none waits for the
    longest. All randomness of an episode comes from (key, task, its number, step), whichever
    environment plays it, so the result does not depend on `width`. An episode ends at the horizon
    at the latest: one whose numbers are not finite may never end by itself.

    Args:
        env: the dynamics.
        contexts: [n, c].
        act: maps (observations [b, o], keys [b]) to actions [b, …].
        key: one random key.
        k: episodes per task.
        width: environments at a time.
    """
    total = contexts.shape[0] * k
    width = min(width, total)

    def keys_of(episodes: Array, ages: Array) -> Array:
        return jax.vmap(lambda e, t: jax.random.fold_in(jax.random.fold_in(key, e), t))(
            episodes, ages
        )

    def fresh(episodes: Array) -> Any:
        before = jnp.full(width, BEFORE, dtype=jnp.uint32)
        noise = _normal(keys_of(episodes, before), env.start_noise_shape)
        return env.start(contexts[jnp.minimum(episodes, total - 1) // k], noise)

    def advance(lanes: _Lanes) -> _Lanes:
        keys, noise_keys = _two(keys_of(lanes.episode, lanes.age))
        noise = _normal(noise_keys, env.noise_shape)
        after = env.step(lanes.env, act(env.observe(lanes.env), keys), noise)
        busy = lanes.episode < total
        done = (after.done | (lanes.age + 1 >= env.horizon)) & busy
        gained = lanes.gained + after.reward
        place = jnp.where(done, lanes.episode, total)  # past the end: dropped
        new = lanes.started + jnp.cumsum(done.astype(jnp.int32)) - 1
        episode = jnp.where(done, jnp.minimum(new, total), lanes.episode)
        return _Lanes(
            env=choose(done, fresh(episode), after.state),
            episode=episode,
            age=jnp.where(done, 0, lanes.age + 1),
            gained=jnp.where(done, 0.0, gained),
            started=lanes.started + jnp.sum(done, dtype=jnp.int32),
            steps=lanes.steps + jnp.sum(busy, dtype=jnp.int32),
            returns=lanes.returns.at[place].set(gained, mode="drop"),
            success=lanes.success.at[place].set(after.success, mode="drop"),
        )

    first = jnp.arange(width, dtype=jnp.int32)
    start = _start(fresh(first), first, total)
    end = lax.while_loop(lambda lanes: jnp.any(lanes.episode < total), advance, start)
    return Episodes(end.returns.reshape(-1, k), end.success.reshape(-1, k), end.steps)


def _start(env: Any, episodes: Array, total: int) -> _Lanes:
    """The loop before its first step.

    Args:
        env: states of the environments at the start of their episodes.
        episodes: [width] the numbers of these episodes.
        total: number of episodes to play.
    """
    width = len(episodes)
    return _Lanes(
        env=env,
        episode=episodes,
        age=jnp.zeros(width, dtype=jnp.int32),
        gained=jnp.zeros(width, dtype=jnp.float32),
        started=jnp.asarray(width, dtype=jnp.int32),
        steps=jnp.zeros((), dtype=jnp.int32),
        returns=jnp.zeros(total, dtype=jnp.float32),
        success=jnp.zeros(total, dtype=bool),
    )


def choose(where: Array, yes: Tree, no: Tree) -> Tree:
    """`jnp.where` on trees of arrays [b, …]: rows of `yes` where `where` [b], else of `no`."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(where.reshape(where.shape + (1,) * (a.ndim - where.ndim)), a, b)

    picked: Tree = jax.tree.map(pick, yes, no)
    return picked


def _normal(keys: Array, shape: tuple[int, ...]) -> Array:
    """[b, *shape] standard normal numbers, one block per key of `keys` [b]."""
    return jax.vmap(lambda key: jax.random.normal(key, shape))(keys)


def _two(keys: Array) -> tuple[Array, Array]:
    """Two independent keys from each of `keys` [b]."""
    split = jax.vmap(jax.random.split)(keys)
    return split[:, 0], split[:, 1]
