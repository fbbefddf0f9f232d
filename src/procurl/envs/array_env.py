"""What an array environment is: pure dynamics for a batch of tasks at once.

The same text runs on NumPy for the Gymnasium adapters and under `jax.jit` for the JAX engine.
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
    """What one step of b environments gives."""

    state: Any  # NamedTuple of arrays, each [b, ...]
    reward: Array  # [b] float32
    done: Array  # [b] bool, the episode has ended
    success: Array  # [b] bool, it has ended at the goal; False while it goes on


class ArrayEnv(ABC):
    """Batch-first dynamics without randomness of their own: noise is handed to `step`.

    Subclass as a frozen dataclass. A context is the row of numbers that makes a task; states are
    NamedTuples of arrays with the batch first, and `step` leaves its inputs untouched. What an
    environment does after its episode has ended is of no meaning; callers reset it.

    `initial`, `observe` and `step` are all that an engine needs. The methods below them serve the
    Gymnasium adapters and the command line, run on the host, and are never traced.
    """

    horizon: int  # steps after which the episode ends (terminated, nothing is bootstrapped)
    context_names: tuple[str, ...]  # c names
    observation_low: Array  # [o] float32, finite
    observation_high: Array  # [o]
    action_low: Array | None  # [a] float32 for continuous actions, None for discrete ones
    action_high: Array | None
    n_actions: int | None  # number of discrete actions, None for continuous ones
    noise_shape: tuple[int, ...]  # standard normal draws that one environment takes per step
    start_noise_shape: tuple[int, ...] = (0,)  # those that a fresh episode takes, see `start`

    @abstractmethod
    def initial(self, contexts: Array) -> Any:
        """State of b fresh episodes.

        Args:
            contexts: [b, c].
        """

    def start(self, contexts: Array, noise: Array) -> Any:
        """State of b fresh episodes, where resets are random; `initial` is then a start without.

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
            state: of `initial` or an earlier step.
            actions: [b, a] float, or [b] int for discrete actions.
            noise: [b, *noise_shape] standard normal.
        """

    @abstractmethod
    def check_context(self, context: Array) -> None:
        """Raise ValueError that names the entry, its range and its value.

        Args:
            context: [c].
        """

    def default_pool(self) -> TaskPool:
        """The tasks that an adapter draws from when it is given none."""
        raise NotImplementedError(f"{type(self).__name__} has no pool of its own: hand one over")

    def read_pool(self, path: str | PathLike[str]) -> TaskPool:
        """The pool in a file: CSV, unless the environment has a format of its own."""
        return TaskPool.from_csv(path)

    def write_pool(self, pool: TaskPool, path: str | PathLike[str]) -> None:
        """Write a pool so that `read_pool` reads it back."""
        pool.to_csv(path)

    def contexts_of(self, pool: TaskPool) -> NDArray[np.float64]:
        """[n, c] the context of every task of `pool`; raises where one is not a valid context."""
        self.check_columns(pool)
        rows = [self.context_of(pool[task]) for task in range(len(pool))]
        for task, context in enumerate(rows):
            try:
                self.check_context(context)
            except ValueError as error:
                raise ValueError(f"task {task} of the pool cannot be played: {error}") from error
        return np.stack(rows)

    def check_columns(self, pool: TaskPool) -> None:
        """Raise where the contexts of `pool` have this environment's columns in another order."""
        if set(pool.names) == set(self.context_names) and pool.names != self.context_names:
            raise ValueError(
                f"the pool's columns must stand in the order {', '.join(self.context_names)}, "
                f"got {', '.join(pool.names)}: rows would be read wrongly"
            )

    def context_of(self, task: Any) -> NDArray[np.float64]:
        """[c] the context that a pool's task stands for: the task itself, unless it is opaque."""
        try:
            return np.asarray(task, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"a task must be {len(self.context_names)} numbers "
                f"({', '.join(self.context_names)}), got {task!r}"
            ) from None

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        """[height, width, 3] a picture of one episode so far.

        Args:
            states: of the episode, first to current, each with a batch of one.
        """
        raise NotImplementedError(f"{type(self).__name__} draws no pictures")


def require_context(
    context: Array, names: Sequence[str], low: Sequence[float], high: Sequence[float]
) -> None:
    """Raise unless `context` [c] holds a number within its bounds for each of `names`."""
    if np.shape(context) != (len(names),):
        raise ValueError(
            f"context must hold {len(names)} numbers ({', '.join(names)}), got {context!r}"
        )
    for name, value, least, most in zip(names, context, low, high, strict=True):
        require_number(f"context: {name}", float(value), at_least=least, at_most=most)
