"""What an array environment is: pure dynamics for a batch of tasks at once.

The same text runs on NumPy for the Gymnasium adapters and under `jax.jit` for the JAX engine.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from procurl.arrays import Array


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
    """

    horizon: int  # steps after which the episode ends (terminated, nothing is bootstrapped)
    context_names: tuple[str, ...]  # c names
    observation_low: Array  # [o] float32, finite
    observation_high: Array  # [o]
    action_low: Array | None  # [a] float32 for continuous actions, None for discrete ones
    action_high: Array | None
    n_actions: int | None  # number of discrete actions, None for continuous ones
    noise_shape: tuple[int, ...]  # standard normal draws that one environment takes per step

    @abstractmethod
    def initial(self, contexts: Array) -> Any:
        """State of b fresh episodes.

        Args:
            contexts: [b, c].
        """

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
