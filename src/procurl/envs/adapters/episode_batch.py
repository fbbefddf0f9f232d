"""A batch of episodes of an array environment, the base of both Gymnasium adapters.

A single environment is a batch of one, so the two adapters cannot drift apart.
"""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv, Transition
from procurl.internals.arrays import Array, Floats, Ids
from procurl.internals.checks import suggest
from procurl.tasks.pool import TaskPool

Mask = NDArray[np.bool_]
NO_TASK = -1  # task id of an episode whose context was given directly


class EpisodeBatch:
    """n episodes side by side: the task and the state of each.

    Args:
        env: the dynamics.
        pool: the tasks, a file that `env.read_pool` reads, or None for the environment's own pool.
        n: number of episodes.
    """

    def __init__(self, env: ArrayEnv, pool: TaskPool | str | PathLike[str] | None, n: int) -> None:
        self.env = env
        self.n = n
        self.pool = _load_pool(env, pool)
        self.pool_contexts: Floats = env.contexts_of(self.pool)  # [tasks, c]
        self.tasks: Ids = np.full(n, NO_TASK)
        self.idle: Ids = np.arange(n)  # episodes that have not started, or have ended
        self.state: Any = None  # of the environment, None before the first `start`
        self._first: Any = env.initial(self.pool_contexts)  # initial state of each task

        # A task is described by its context, unless it is opaque, and by the pool's features.
        entries = () if self.pool.contexts is None else env.context_names
        self.n_entries = len(entries)
        self.names = (*entries, *self.pool.features)  # k names
        columns = [*self.pool_contexts.T[: self.n_entries], *self.pool.features.values()]
        self._descriptions = np.zeros(
            (len(self.pool) + 1, len(self.names))
        )  # the last row is for NO_TASK
        self._descriptions[:-1].T[:] = np.reshape(columns, (-1, len(self.pool)))
        self._contexts: Floats = np.zeros((n, len(entries)))  # as passed to the last `start`
        self.has_free_contexts = False  # whether some episode may have no task id

        self.random_starts = bool(np.prod(env.start_noise_shape))
        no_noise = np.empty((n, *env.noise_shape), dtype=np.float32)
        self._no_noise = None if no_noise.size else no_noise  # for environments without noise
        one = rows_of(self._first, np.zeros(1, dtype=np.int64))
        seen = env.observe(one)
        self._observation_is_view = any(np.may_share_memory(seen, part) for part in one)

    def resolve_task(self, task: Any) -> tuple[int, Floats]:
        """(id, context [c]) of `task`, which is an id of the pool or a task itself."""
        if isinstance(task, int | np.integer) and not isinstance(task, bool):
            self.check_ids(np.asarray([task]))
            return int(task), self.pool_contexts[int(task)]
        try:
            return NO_TASK, self.as_context(self.env.context_of(task))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"task must be the id of a task, an integer from 0 to {len(self.pool) - 1}, or a "
                f"task itself, got {type(task).__name__}: {error}"
            ) from error

    def as_context(self, context: Any) -> Floats:
        """`context` as an array [c]; raises if it is not a valid context of the environment."""
        try:
            row: Floats = np.asarray(context, dtype=np.float64)
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
                f"the pool has {len(self.pool)} tasks"
            )

    def start(
        self, which: Ids, tasks: Ids, contexts: Floats, rngs: Sequence[np.random.Generator] = ()
    ) -> None:
        """Start new episodes at the positions `which` [m].

        Args:
            which: [m] positions in the batch.
            tasks: [m] ids of the pool, or `NO_TASK`.
            contexts: [m, c].
            rngs: one for each of `which`, used only if starts are random.
        """
        self._place(which, tasks, self._initial(contexts, rngs))
        self._contexts[which] = contexts[:, : self.n_entries]
        self.has_free_contexts = bool((self.tasks == NO_TASK).any())

    def start_tasks(self, which: Ids, tasks: Ids, rngs: Sequence[np.random.Generator] = ()) -> None:
        """`start` with tasks [m] of the pool; only random starts need computation."""
        if self.random_starts:
            first = self._initial(self.pool_contexts[tasks], rngs)
        else:
            first = rows_of(self._first, tasks)
        self._place(which, tasks, first)

    def descriptions(self, mask: Mask | None = None) -> NDArray[np.float64]:
        """[n, k] the descriptions of the current tasks; 0 outside `mask` [n] and if unknown."""
        tasks = self.tasks
        if mask is not None:
            tasks = tasks | (mask - 1)  # NO_TASK outside the mask; `where` takes twice as long
        rows = self._descriptions.take(tasks, axis=0)
        if self.has_free_contexts:
            free = self.tasks == NO_TASK if mask is None else mask & (self.tasks == NO_TASK)
            rows[free, : self.n_entries] = self._contexts[free]
        return rows

    def step(self, actions: Array, noise: Array) -> Transition:
        """Take one action in every episode.

        Args:
            actions: [n, ...] from `as_actions`.
            noise: [n, *noise_shape] standard normal.
        """
        if self.idle.size:
            which = "" if self.n == 1 else f" of sub-environments {self.idle.tolist()}"
            reason = "has not started" if self.state is None else "has ended"
            raise RuntimeError(f"the episode{which} {reason}: call reset before step")
        transition = self.env.step(self.state, actions, noise)
        self.state = transition.state
        self.idle = transition.done.nonzero()[0]
        return transition

    def observe(self, which: Ids | None = None) -> NDArray[np.float32]:
        """[n, o] the current observations, or [m, o] those of `which` [m], safe to keep."""
        state = self.state if which is None else rows_of(self.state, which)
        return np.array(self.env.observe(state), copy=self._observation_is_view or None)

    def noise(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """[n, *noise_shape] standard normal, with the batch last in memory, which is fastest."""
        if self._no_noise is not None:
            return self._no_noise
        drawn = rng.standard_normal((*self.env.noise_shape, self.n), dtype=np.float32)
        return drawn.transpose(drawn.ndim - 1, *range(drawn.ndim - 1))

    def as_actions(self, actions: Any) -> NDArray[Any]:
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
        numbers = given.astype(np.int64, copy=False)
        if np.maximum.reduce(numbers.view(np.uint64)) >= count:  # negative ones look large
            raise ValueError(f"action must be from 0 to {count - 1}, got {actions!r}")
        return numbers

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Copies of the arrays that hold the tasks and states of all episodes."""
        if self.state is None:
            raise RuntimeError("there is nothing to save: call reset first")
        fields = {f"state.{name}": part for name, part in self.state._asdict().items()}
        kept = {"tasks": self.tasks, "idle": self.idle, "contexts": self._contexts}
        return {name: np.array(array) for name, array in (kept | fields).items()}

    def load_state_dict(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict` bit for bit; raises and changes nothing if it does not fit."""
        if saved["tasks"].shape != (self.n,):
            raise ValueError(
                f"the saved state has {len(saved['tasks'])} sub-environments, this one has {self.n}"
            )
        kind = type(self._first)
        fields = [np.array(saved[f"state.{name}"]) for name in kind._fields]
        for name, field, own in zip(kind._fields, fields, self._first, strict=True):
            if field.shape != (self.n, *own.shape[1:]) or field.dtype != own.dtype:
                raise ValueError(
                    f"the saved {name} must be {own.dtype} of shape {(self.n, *own.shape[1:])}, "
                    f"got {field.dtype} of shape {field.shape}"
                )
        contexts = np.array(saved["contexts"]).reshape(self._contexts.shape)
        self.state, self._contexts = kind(*fields), contexts
        self.tasks, self.idle = np.array(saved["tasks"]), np.array(saved["idle"])
        self.has_free_contexts = bool((self.tasks == NO_TASK).any())

    def _initial(self, contexts: Floats, rngs: Sequence[np.random.Generator]) -> Any:
        """Initial states; if starts are random, each draws from its own one of `rngs` [m]."""
        if not self.random_starts:
            return self.env.initial(contexts)
        noise = np.stack([rng.standard_normal(self.env.start_noise_shape) for rng in rngs])
        return self.env.start(contexts, noise)

    def _place(self, which: Ids, tasks: Ids, first: Any) -> None:
        if len(which) == self.n:
            self.state = first
            self.has_free_contexts = False
        elif self.state is None:
            raise RuntimeError(
                "the first reset must start every episode: call reset without reset_mask"
            )
        else:
            pairs = zip(self.state, first, strict=True)
            self.state = type(first)(*[_with_rows(old, which, new) for old, new in pairs])
        self.tasks[which] = tasks
        if which is self.idle:  # in automatic resets
            self.idle = self.idle[:0]
        else:
            waiting = np.zeros(self.n, dtype=bool)
            waiting[self.idle] = True
            waiting[which] = False
            self.idle = waiting.nonzero()[0]


def check_options(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise on an unknown reset option, or if both `task` and `context` are given."""
    for name in options:
        if name not in known:
            raise ValueError(
                f"reset option {name!r} is not known.{suggest(name, known)} "
                f"Known options: {', '.join(known)}"
            )
    if "task" in options and "context" in options:
        raise ValueError("reset options 'task' and 'context' exclude each other: pass one of them")


def _load_pool(env: ArrayEnv, pool: TaskPool | str | PathLike[str] | None) -> TaskPool:
    if pool is None:
        return env.default_pool()
    if isinstance(pool, TaskPool):
        return pool
    if isinstance(pool, str | PathLike):
        return env.read_pool(pool)
    raise TypeError(f"pool must be a TaskPool or the path of a file, got {type(pool).__name__}")


def rows_of(state: Any, which: Ids) -> Any:
    """The states of the episodes `which` [m]."""
    return type(state)(*[part.take(which, axis=0) for part in state])


def _with_rows(old: NDArray[Any], which: Ids, new: NDArray[Any]) -> NDArray[Any]:
    """A copy of `old` whose rows `which` are `new`; states are never changed in place."""
    copy = old.copy()
    copy[which] = new
    return copy
