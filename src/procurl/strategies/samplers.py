"""Samplers: from a potential per task to a distribution over tasks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from procurl.internals.arrays import Array, by_blocks, namespace, softmax
from procurl.internals.checks import require_integer, require_number
from procurl.strategies.schedules import Scheduled, check_scheduled, value_at

KEEP = 100  # tasks that `TopTasks` keeps by default, as in the paper on SFL
ONE_IN = 10  # but at most one in so many candidates


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
class Proportional(Sampler):
    """P(s) ∝ potential(s), mixed with a share of the uniform distribution.

    Tasks without potential get their share of the latter alone; if no task has any, all are equal.

    Args:
        floor: share of the mass that is always spread evenly over the pool.
    """

    floor: float = 0.1

    def __call__(self, potential: Array, step: Array) -> Array:
        xp = namespace(potential)
        highest = xp.max(potential)
        some = highest > 0.0
        share = by_blocks(  # no underflow
            lambda own: xp.where(some, own / xp.where(some, highest, 1.0), 1.0), potential
        )
        total, least = xp.sum(share), self.floor / potential.shape[0]
        return by_blocks(lambda own: (1.0 - self.floor) * own / total + least, share)

    def check(self) -> None:
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)


@dataclass(frozen=True)
class Argmax(Sampler):
    """All mass on the tasks with the highest potential; ties share it.

    Potentials that differ only by rounding, such as those of PoS 0.3 and 0.7, count as ties.
    """

    def __call__(self, potential: Array, step: Array) -> Array:
        xp = namespace(potential)
        highest = xp.max(potential)
        best = (potential >= highest - _rounding(highest)).astype(potential.dtype)
        return best / xp.sum(best)


@dataclass(frozen=True)
class TopTasks(Sampler):
    """An equal share for each of the K tasks with the highest potential, mixed with the uniform.

    Tasks that tie for the last places share them evenly. As in `Argmax`, potentials that differ
    only by rounding are equal.

    Args:
        keep: K; None: 100, but at most a tenth of the candidates, rounded up.
        candidates: how many tasks are in question; None: all of them.
        floor: share of the mass that is always spread evenly over the pool.
    """

    keep: int | None = None
    candidates: int | None = None
    floor: float = 0.5

    def count(self, n: int) -> int:
        """K in a pool of `n` tasks."""
        candidates = n if self.candidates is None else min(self.candidates, n)
        if self.keep is not None:
            return min(self.keep, candidates)
        return min(KEEP, -(-candidates // ONE_IN))

    def __call__(self, potential: Array, step: Array) -> Array:
        xp = namespace(potential, self.floor)
        n = potential.shape[0]
        k = self.count(n)
        last = xp.sort(potential)[n - k]  # the lowest potential that is kept
        above = potential > last + _rounding(last)
        equal = (potential >= last - _rounding(last)) & ~above
        room = (k - xp.sum(above)) / xp.sum(equal)
        places = xp.where(above, 1.0, xp.where(equal, room, 0.0)).astype(potential.dtype)
        return places * ((1.0 - self.floor) / k) + self.floor / n

    def check(self) -> None:
        if self.keep is not None:
            require_integer("keep", self.keep, at_least=1)
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)


def _rounding(value: Array) -> Array:
    """How far a potential may be from `value` by rounding alone."""
    xp = namespace(value)
    return 4.0 * xp.finfo(value.dtype).eps * xp.abs(value)
