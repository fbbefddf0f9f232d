"""`ArrayEnv`, the interface of array environments: pure dynamics for a batch of tasks.

The same code runs on NumPy for the Gymnasium adapters and under `jax.jit` for the JAX engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Array
from procurl.internals.checks import require_number
from procurl.tasks.pool import TaskPool


class Transition(NamedTuple):
    """The result of one step of b environments."""

    state: Any  # NamedTuple of arrays, each [b, ...]
    reward: Array  # [b] float
    done: Array  # [b] bool, the episode has ended
    success: Array  # [b] bool, the episode has ended in success; False before its end


class ArrayEnv(ABC):
    """Dynamics of a batch of episodes, with all random numbers passed in.

    Subclass it as a frozen dataclass. A context is the row of numbers that defines a task. States
    are NamedTuples of arrays with the batch first, and `step` does not modify its inputs. What
    `step` returns after the end of an episode is undefined; callers reset first.

    Engines need `initial`, `observe` and `step`, and `start` if resets are random. The other
    methods serve the Gymnasium adapters and the command line. They run on the host and are never
    traced.
    """

    horizon: int  # every episode has ended after this many steps (terminated, not truncated)
    context_names: tuple[str, ...]  # c names
    observation_low: Array  # [o] float32, finite
    observation_high: Array  # [o]
    action_low: Array | None  # [a] float32 for continuous actions, None for discrete ones
    action_high: Array | None
    n_actions: int | None  # number of discrete actions, None for continuous ones
    noise_shape: tuple[int, ...]  # standard normal numbers per environment and step
    start_noise_shape: tuple[int, ...] = (0,)  # standard normal numbers per reset, see `start`

    @abstractmethod
    def initial(self, contexts: Array) -> Any:
        """State of b fresh episodes.

        Args:
            contexts: [b, c].
        """

    def start(self, contexts: Array, noise: Array) -> Any:
        """State of b fresh episodes with random resets; `initial` is the one without noise.

        Args:
            contexts: [b, c].
            noise: [b, *start_noise_shape] standard normal.
        """
        return self.initial(contexts)

    @abstractmethod
    def observe(self, state: Any) -> Array:
        """[b, o] float32."""

    @abstractmethod
    def step(self, state: Any, actions: Array, noise: Array) -> Transition:
        """Advance b environments by one action each.

        Args:
            state: from `initial`, `start` or an earlier step.
            actions: [b, a] float, which may lie outside the bounds and must be clipped here, or
                [b] int for discrete actions.
            noise: [b, *noise_shape] standard normal.
        """

    @abstractmethod
    def check_context(self, context: Array) -> None:
        """Raise a ValueError with entry, range and value if the context is not valid.

        Args:
            context: [c].
        """

    def default_pool(self) -> TaskPool:
        """The pool that adapters use by default."""
        raise NotImplementedError(f"{type(self).__name__} has no default pool: pass one")

    def read_pool(self, path: str | PathLike[str]) -> TaskPool:
        """Read a pool from a file: CSV, unless the environment has its own format.

        Columns are matched by name, see `fit_pool`.
        """
        pool = TaskPool.from_csv(path)
        try:
            return self.fit_pool(pool)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def write_pool(self, pool: TaskPool, path: str | PathLike[str]) -> None:
        """Write a pool to a file that `read_pool` reads back."""
        pool.to_csv(path)

    def contexts_of(self, pool: TaskPool) -> NDArray[np.float64]:
        """[n, c] the context of every task of `pool`; raises if one is not valid."""
        pool = self.fit_pool(pool)
        rows = [self.context_of(pool[task]) for task in range(len(pool))]
        for task, context in enumerate(rows):
            try:
                self.check_context(context)
            except ValueError as error:
                raise ValueError(f"task {task} of the pool cannot be played: {error}") from error
        return np.stack(rows)

    def fit_pool(self, pool: TaskPool) -> TaskPool:
        """`pool` with its context columns named and ordered as `context_names`.

        Columns are matched by name in any case. Those without names of their own (`context_0`, …)
        and opaque tasks are taken as they are.

        Raises:
            ValueError: with the columns that are missing or unknown.
        """
        if pool.contexts is None or pool.names == self.context_names or pool.has_default_names:
            return pool
        found = [name.casefold() for name in pool.names]
        wanted = [name.casefold() for name in self.context_names]
        if sorted(found) != sorted(wanted):
            missing = [name for name in self.context_names if name.casefold() not in found]
            unknown = [name for name in pool.names if name.casefold() not in wanted]
            twice = [name for name in pool.names if found.count(name.casefold()) > 1]
            listed = {"missing": missing, "unknown": unknown, "more than once": twice}
            faults = [f"{what}: {', '.join(names)}" for what, names in listed.items() if names]
            raise ValueError(
                "the pool's context columns must be "
                f"{', '.join(self.context_names)}, in any order; {'; '.join(faults)}. Rename the "
                "columns, or name those that only describe tasks 'feature:…'"
            )
        order = [found.index(name) for name in wanted]
        return TaskPool(
            pool.contexts[:, order],
            names=self.context_names,
            features=pool.features,
            labels=pool.labels,
        )

    def context_of(self, task: Any) -> NDArray[np.float64]:
        """[c] the context of a task of a pool: the task itself, unless it is opaque."""
        try:
            return np.asarray(task, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"a task must be {len(self.context_names)} numbers "
                f"({', '.join(self.context_names)}), got {task!r}"
            ) from None

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        """[height, width, 3] picture of one episode so far.

        Args:
            states: of the episode, from first to current, each with a batch of one.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement draw")


def require_context(
    context: Array, names: Sequence[str], low: Sequence[float], high: Sequence[float]
) -> None:
    """Raise unless `context` [c] holds a number within the bounds for each of `names`."""
    if np.shape(context) != (len(names),):
        raise ValueError(
            f"context must hold {len(names)} numbers ({', '.join(names)}), got {context!r}"
        )
    for name, value, least, most in zip(names, context, low, high, strict=True):
        require_number(f"context: {name}", float(value), at_least=least, at_most=most)
