"""The compiled programs of a host run: acting, learning, teaching."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Array, Floats32, Ids
from procurl.ppo.collect import Rollout, draw_tasks
from procurl.ppo.learning.anchor import next_anchor
from procurl.ppo.learning.distributions import Categorical, Gaussian
from procurl.ppo.learning.networks import ActorCritic, GaussianHead, forward
from procurl.ppo.student import Student
from procurl.ppo.teacher import Teacher, Teaching

Act = Callable[[Floats32], NDArray[Any]]  # maps observations [b, o] to actions

NOISE_BLOCK = 64  # steps per draw of noise


class HostLanes(NamedTuple):
    """The run's view of its b training episodes."""

    observations: Floats32  # [b, o]
    tasks: Ids  # [b]
    gained: NDArray[np.float64]  # [b] return so far


class CutShort(NamedTuple):
    """The truncated episodes of a rollout."""

    where: NDArray[np.bool_]  # [T, b]
    final: Floats32  # [T, b, o] the observation after the step, otherwise zero


Tuples = TypeVar("Tuples", Rollout, CutShort)


@partial(jax.jit, static_argnames="network")
def bootstrap_rewards(
    network: ActorCritic, params: Any, rewards: Array, cut_short: CutShort, gamma: Array
) -> Array:
    """[T, b] r + γ·V(s') if the episode was truncated at s', else r.

    The critic values what would have followed, as in Stable-Baselines3.
    """
    _, values = forward(network, params, cut_short.final)
    return rewards + jnp.where(cut_short.where, gamma * values, 0.0)


@partial(jax.jit, static_argnames="network")
def draw_actions(network: ActorCritic, params: Any, observations: Array, noise: Array) -> Array:
    """[b, a] or [b]: sampled actions, not clipped."""
    return forward(network, params, observations)[0].sample(noise)


@partial(jax.jit, static_argnames="network")
def deterministic_actions(network: ActorCritic, params: Any, observations: Array) -> Array:
    """[b, a] or [b]: deterministic actions, not clipped."""
    return forward(network, params, observations)[0].mode()


def stochastic(network: ActorCritic, params: Any, noise: Iterable[NDArray[Any]]) -> Act:
    """The stochastic policy; each step uses the next entry of `noise`."""
    rows = iter(noise)
    return lambda observations: np.asarray(draw_actions(network, params, observations, next(rows)))


def deterministic(network: ActorCritic, params: Any) -> Act:
    """The deterministic policy, which takes the most likely action."""
    return lambda observations: np.asarray(deterministic_actions(network, params, observations))


def stack_rows(rows: list[Tuples]) -> Tuples:
    """T NamedTuples of arrays [b, …] as one of arrays [T, b, …]."""
    return type(rows[0])(*map(np.stack, zip(*rows, strict=True)))


def env_seed(key: Array) -> int:
    return int(jax.random.bits(key, dtype=jnp.uint32) >> 1)


@partial(jax.jit, static_argnames=("network", "shape"))
def draw_noise(network: ActorCritic, key: Array, shape: tuple[int, int]) -> Array:
    """[T, b, …] noise for sampling actions."""
    kind = Gaussian if isinstance(network.head, GaussianHead) else Categorical
    return kind.draw_noise(key, (*shape, network.head.size))


def endless_noise(network: ActorCritic, key: Array, n_envs: int) -> Iterator[NDArray[Any]]:
    """An endless sequence of noise [b, …], one entry per step, drawn in blocks."""
    for block in count():
        own = jax.random.fold_in(key, block)
        yield from np.asarray(draw_noise(network, own, (NOISE_BLOCK, n_envs)))


@partial(jax.jit, static_argnames=("teacher", "network"))
def value_tasks(
    teacher: Teacher, network: ActorCritic, params: Any, teaching: Teaching, observations: Array
) -> tuple[Teaching, Array]:
    """(teaching, [n] the critic's values, averaged over the tasks' observations [n, k, o])."""

    def value(seen: Array) -> Array:
        return jnp.mean(forward(network, params, seen)[1], axis=1)

    return teacher.value_tasks(teaching, value, observations)


draw_task_ids = jax.jit(draw_tasks, static_argnames="shape")
learn = jax.jit(Student.learn, static_argnums=0)
move_anchor = jax.jit(next_anchor, static_argnames="patience")
count_episodes = jax.jit(Teacher.count_episodes, static_argnums=0)
refresh = jax.jit(Teacher.refresh, static_argnums=0)
rollout_tasks = jax.jit(Teacher.rollout_tasks, static_argnums=0)
