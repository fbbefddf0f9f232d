"""Episodes of an array environment on the host, which both Gymnasium adapters are made of.

One environment is a batch of one, so that the two adapters cannot drift apart.
"""

from collections.abc import Collection, Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.arrays import Array
from procurl.checks import suggest
from procurl.envs.array_env import ArrayEnv, Transition
from procurl.pool import TaskPool

Ids = NDArray[np.int64]
Contexts = NDArray[np.float64]
FREE = -1  # the task id of an episode whose context is not that of a task of the pool


class Episodes:
    """n episodes side by side: what is played in each, and where it stands.

    Args:
        env: the dynamics.
        pool: the tasks, a file that `env.read_pool` reads, or None for the environment's own.
        n: number of episodes.
    """

    def __init__(self, env: ArrayEnv, pool: TaskPool | str | PathLike[str] | None, n: int) -> None:
        self.env = env
        self.n = n
        self.pool = _resolved(env, pool)
        self.pool_contexts: Contexts = env.contexts_of(self.pool)  # [tasks, c]
        self.tasks: Ids = np.full(n, FREE)
        self.running: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.state: Any = None  # of the environment, None before the first start

        # What describes a task: its context where tasks are not opaque, and the pool's features.
        entries = () if self.pool.contexts is None else env.context_names
        self.entries = len(entries)
        self.names = (*entries, *self.pool.features)  # k names
        self.features = np.array([*self.pool.features.values()]).reshape(-1, len(self.pool))
        self.described = np.zeros((len(self.names), n))  # [k, n] of the tasks being played
        self.known = np.ones((len(self.names), n), dtype=bool)  # free contexts have no features

    def chosen(self, task: Any) -> tuple[int, Contexts]:
        """(id, context [c]) of a task that a user names: an id of the pool, or a task itself."""
        if isinstance(task, int | np.integer) and not isinstance(task, bool):
            self.check_ids(np.asarray([task]))
            return int(task), self.pool_contexts[int(task)]
        return FREE, self.checked_context(self.env.context_of(task))

    def checked_context(self, context: Any) -> Contexts:
        """`context` as [c] numbers; raises where it is none of the environment's."""
        try:
            row: Contexts = np.asarray(context, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"context must be numbers, got {context!r}") from None
        self.env.check_context(row)
        return row

    def check_ids(self, tasks: Ids) -> None:
        """Raise unless all `tasks` [m] are ids of the pool."""
        wrong = (tasks < 0) | (tasks >= len(self.pool))
        if wrong.any():
            raise ValueError(
                f"task must be from 0 to {len(self.pool) - 1}, got {tasks[wrong][0]}: "
                "the pool has no such task"
            )

    def start(self, which: Ids, tasks: Ids, contexts: Contexts) -> None:
        """Begin the episodes `which` [m] anew, with those tasks [m] and contexts [m, c]."""
        fresh = self.env.initial(contexts)
        if len(which) == self.n:
            self.state = fresh
        elif self.state is None:
            raise RuntimeError("the first reset must start every episode, got a reset_mask")
        else:
            self.state = type(fresh)(
                *(_replaced(old, which, new) for old, new in zip(self.state, fresh, strict=True))
            )
        self.tasks[which] = tasks
        self.running[which] = True
        if self.entries:
            self.described[: self.entries, which] = contexts.T
        if len(self.features):
            self.described[self.entries :, which] = self.features[:, tasks]
            self.known[self.entries :, which] = tasks != FREE

    def advance(self, actions: Array, noise: Array) -> Transition:
        """Take one action [n, ...] in every episode.

        Args:
            actions: as of `checked_actions`.
            noise: [n, *noise_shape] standard normal.
        """
        if not self.running.all():
            idle = np.flatnonzero(~self.running).tolist()
            which = "" if self.n == 1 else f" of sub-environments {idle}"
            reason = "has not begun" if self.state is None else "has ended"
            raise RuntimeError(f"the episode{which} {reason}: call reset before step")
        transition = self.env.step(self.state, actions, noise)
        self.state = transition.state
        self.running = ~transition.done
        return transition

    def observe(self) -> NDArray[np.float32]:
        """[n, o] what the agent sees now, in memory of its own."""
        return np.array(self.env.observe(self.state))

    def noise(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """[n, *noise_shape] standard normal, laid out with the batch last, where it is fastest."""
        drawn = rng.standard_normal((*self.env.noise_shape, self.n), dtype=np.float32)
        return drawn.transpose(drawn.ndim - 1, *range(drawn.ndim - 1))

    def checked_actions(self, actions: Any) -> NDArray[Any]:
        """`actions` as an array [n, a] or [n]; raises on a wrong shape, NaN or unknown action."""
        given = np.asarray(actions)
        if self.env.action_low is not None:
            shape: tuple[int, ...] = (self.n, len(self.env.action_low))
            if given.shape != shape or given.dtype.kind not in "fiu":
                raise ValueError(f"action must be numbers of shape {shape}, got {actions!r}")
            if not np.isfinite(given).all():
                raise ValueError(f"action must be finite, got {actions!r}")
            return given.astype(np.float32)
        if given.shape != (self.n,) or given.dtype.kind not in "iu":
            raise ValueError(f"action must be integers of shape {(self.n,)}, got {actions!r}")
        count = self.env.n_actions or 0
        if given.min() < 0 or given.max() >= count:
            raise ValueError(f"action must be from 0 to {count - 1}, got {actions!r}")
        return given


def check_options(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise on a reset option that is not known, or on two that contradict each other."""
    for name in options:
        if name not in known:
            raise ValueError(
                f"reset option {name!r} is not known.{suggest(name, known)} "
                f"Known options: {', '.join(known)}"
            )
    if "task" in options and "context" in options:
        raise ValueError("reset options 'task' and 'context' exclude each other: give one of them")


def _resolved(env: ArrayEnv, pool: TaskPool | str | PathLike[str] | None) -> TaskPool:
    if pool is None:
        return env.default_pool()
    if isinstance(pool, TaskPool):
        return pool
    if isinstance(pool, str | PathLike):
        return env.read_pool(pool)
    raise TypeError(f"pool must be a TaskPool or the path of a file, got {type(pool).__name__}")


def _replaced(old: NDArray[Any], which: Ids, new: NDArray[Any]) -> NDArray[Any]:
    """A copy of `old` with its rows `which` from `new`: states are never changed in place."""
    copy = old.copy()
    copy[which] = new
    return copy
