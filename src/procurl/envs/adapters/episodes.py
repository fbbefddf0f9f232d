"""Episodes of an array environment on the host, which both Gymnasium adapters are made of.

One environment is a batch of one, so that the two adapters cannot drift apart.
"""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv, Transition
from procurl.internals.arrays import Array
from procurl.internals.checks import suggest
from procurl.tasks.pool import TaskPool

Ids = NDArray[np.int64]
Contexts = NDArray[np.float64]
Mask = NDArray[np.bool_]
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
        self.idle: Ids = np.arange(n)  # the episodes that have not begun, or have ended
        self.state: Any = None  # of the environment, None before the first start
        self._first: Any = env.initial(self.pool_contexts)  # state of a fresh episode, by task

        # What describes a task: its context where tasks are not opaque, and the pool's features.
        entries = () if self.pool.contexts is None else env.context_names
        self.entries = len(entries)
        self.names = (*entries, *self.pool.features)  # k names
        columns = [*self.pool_contexts.T[: self.entries], *self.pool.features.values()]
        self._descriptions = np.zeros((len(self.pool) + 1, len(self.names)))  # the last is FREE's
        self._descriptions[:-1].T[:] = np.reshape(columns, (-1, len(self.pool)))
        self._contexts: Contexts = np.zeros((n, len(entries)))  # as given to the last `start`
        self.some_free = False  # whether there may be free contexts among the tasks

        self.starts_vary = bool(np.prod(env.start_noise_shape))
        silence = np.empty((n, *env.noise_shape), dtype=np.float32)
        self._silence = None if silence.size else silence  # for environments without noise
        one = rows_of(self._first, np.zeros(1, dtype=np.int64))
        shown = env.observe(one)
        self._shows_state = any(np.may_share_memory(shown, part) for part in one)

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

    def start(
        self, which: Ids, tasks: Ids, contexts: Contexts, rngs: Sequence[np.random.Generator] = ()
    ) -> None:
        """Begin the episodes `which` [m] anew, with those tasks [m] and contexts [m, c].

        Args:
            which: of the episodes.
            tasks: ids of the pool, or `FREE`.
            contexts: theirs.
            rngs: one for each of `which`, looked at only where starts vary.
        """
        self._begin(which, tasks, self._fresh(contexts, rngs))
        self._contexts[which] = contexts[:, : self.entries]
        self.some_free = bool((self.tasks == FREE).any())

    def start_tasks(self, which: Ids, tasks: Ids, rngs: Sequence[np.random.Generator] = ()) -> None:
        """`start` with tasks [m] of the pool: nothing is computed anew unless starts vary."""
        if self.starts_vary:
            first = self._fresh(self.pool_contexts[tasks], rngs)
        else:
            first = rows_of(self._first, tasks)
        self._begin(which, tasks, first)

    def described(self, mask: Mask | None = None) -> NDArray[np.float64]:
        """[n, k] what describes the tasks being played; zero outside `mask` [n] and if unknown."""
        tasks = self.tasks
        if mask is not None:
            tasks = tasks | (mask - 1)  # FREE outside the mask; `where` takes twice as long
        described = self._descriptions.take(tasks, axis=0)
        if self.some_free:
            free = self.tasks == FREE if mask is None else mask & (self.tasks == FREE)
            described[free, : self.entries] = self._contexts[free]
        return described

    def advance(self, actions: Array, noise: Array) -> Transition:
        """Take one action [n, ...] in every episode.

        Args:
            actions: as of `checked_actions`.
            noise: [n, *noise_shape] standard normal.
        """
        if self.idle.size:
            which = "" if self.n == 1 else f" of sub-environments {self.idle.tolist()}"
            reason = "has not begun" if self.state is None else "has ended"
            raise RuntimeError(f"the episode{which} {reason}: call reset before step")
        transition = self.env.step(self.state, actions, noise)
        self.state = transition.state
        self.idle = transition.done.nonzero()[0]
        return transition

    def observe(self, which: Ids | None = None) -> NDArray[np.float32]:
        """[n, o] what the agent sees now, or [m, o] of the episodes `which` [m], to keep."""
        state = self.state if which is None else rows_of(self.state, which)
        return np.array(self.env.observe(state), copy=self._shows_state or None)

    def noise(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """[n, *noise_shape] standard normal, laid out with the batch last, where it is fastest."""
        if self._silence is not None:
            return self._silence
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
        numbers = given.astype(np.int64, copy=False)
        if np.maximum.reduce(numbers.view(np.uint64)) >= count:  # negative ones look large
            raise ValueError(f"action must be from 0 to {count - 1}, got {actions!r}")
        return numbers

    def saved(self) -> dict[str, NDArray[Any]]:
        """Copies of the arrays that say what is played, and where it stands."""
        if self.state is None:
            raise RuntimeError("no episode has begun, so there is nothing to save: call reset")
        fields = {f"state.{name}": part for name, part in self.state._asdict().items()}
        kept = {"tasks": self.tasks, "idle": self.idle, "contexts": self._contexts}
        return {name: np.array(array) for name, array in (kept | fields).items()}

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `saved` gave, to the bit; raise and change nothing where it misfits."""
        if saved["tasks"].shape != (self.n,):
            raise ValueError(
                f"the saved state is of {len(saved['tasks'])} sub-environments, here are {self.n}"
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
        self.some_free = bool((self.tasks == FREE).any())

    def _fresh(self, contexts: Contexts, rngs: Sequence[np.random.Generator]) -> Any:
        """State of fresh episodes, each with noise from its own of `rngs` [m] where starts vary."""
        if not self.starts_vary:
            return self.env.initial(contexts)
        noise = np.stack([rng.standard_normal(self.env.start_noise_shape) for rng in rngs])
        return self.env.start(contexts, noise)

    def _begin(self, which: Ids, tasks: Ids, first: Any) -> None:
        if len(which) == self.n:
            self.state = first
            self.some_free = False
        elif self.state is None:
            raise RuntimeError("the first reset must start every episode, got a reset_mask")
        else:
            pairs = zip(self.state, first, strict=True)
            self.state = type(first)(*[_replaced(old, which, new) for old, new in pairs])
        self.tasks[which] = tasks
        if which is self.idle:  # as in automatic resets
            self.idle = self.idle[:0]
        else:
            waiting = np.zeros(self.n, dtype=bool)
            waiting[self.idle] = True
            waiting[which] = False
            self.idle = waiting.nonzero()[0]


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


def rows_of(state: Any, which: Ids) -> Any:
    """The state of the episodes `which` [m] alone."""
    return type(state)(*[part.take(which, axis=0) for part in state])


def _replaced(old: NDArray[Any], which: Ids, new: NDArray[Any]) -> NDArray[Any]:
    """A copy of `old` with its rows `which` from `new`: states are never changed in place."""
    copy = old.copy()
    copy[which] = new
    return copy
