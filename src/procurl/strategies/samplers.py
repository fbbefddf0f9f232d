"""Samplers: from a potential per task to a distribution over tasks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from procurl.internals.arrays import Array, namespace, softmax
from procurl.internals.checks import require_number
from procurl.strategies.schedules import Scheduled, check_scheduled, value_at


class Sampler(ABC):
    """Turns the potential of every task into the probability of playing it."""

    @abstractmethod
    def __call__(self, potential: Array, step: Array) -> Array:
        """[n] probabilities that sum to 1.

        Args:
            potential: [n] the higher, the more likely the task.
            step: [] training steps so far.
        """

    def check(self) -> None:
        """Raise on a bad setting."""


@dataclass(frozen=True)
class Softmax(Sampler):
    """P(s) ∝ exp(β · potential(s)), mixed with a share of the uniform distribution.

    Args:
        beta: how strongly high potentials are preferred, a constant or a schedule over steps.
        floor: share of the mass that is always spread evenly over the pool.
    """

    beta: Scheduled = 20.0
    floor: float = 0.0

    def __call__(self, potential: Array, step: Array) -> Array:
        return softmax(value_at(self.beta, step) * potential, self.floor)

    def check(self) -> None:
        check_scheduled("beta", self.beta, low=0.0)
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)


@dataclass(frozen=True)
class Argmax(Sampler):
    """All mass on the tasks with the highest potential; ties share it.

    Potentials that differ only by rounding, such as those of PoS 0.3 and 0.7, count as ties.
    """

    def __call__(self, potential: Array, step: Array) -> Array:
        xp = namespace(potential)
        highest = xp.max(potential)
        rounding = 4.0 * xp.finfo(potential.dtype).eps * xp.abs(highest)
        best = (potential >= highest - rounding).astype(potential.dtype)
        return best / xp.sum(best)
