"""The conditions: success, steps, and success that no longer rises."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_number
from procurl.strategies.conditions.condition import Condition
from procurl.strategies.conditions.phase import Phase


@dataclass(frozen=True)
class SuccessAbove(Condition):
    """The recent success of the phase is at least `above`.

    Args:
        above: the success to reach, from 0 to 1.
        episodes: that the phase lasts at least, so that a lucky start does not end it.
    """

    above: float = 0.7
    episodes: float = 20.0

    def holds(self, state: None, phase: Phase) -> Array:
        return (phase.success >= self.above) & (phase.episodes >= self.episodes)

    def check(self) -> None:
        require_number("above", self.above, at_least=0.0, at_most=1.0)
        require_number("episodes", self.episodes, at_least=0.0)


@dataclass(frozen=True)
class Steps(Condition):
    """The phase has lasted at least `steps` training steps."""

    steps: float = 100_000.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def holds(self, state: None, phase: Phase) -> Array:
        return phase.steps >= self.steps

    def check(self) -> None:
        require_number("steps", self.steps, above=0.0)


class BestSuccess(NamedTuple):
    """State of `NoProgress`."""

    outcome: Array  # []  mean outcome to be exceeded, whatever the range; −∞ before one
    steps: Array  # []  training steps of the phase when it was reached


@dataclass(frozen=True)
class NoProgress(Condition):
    """The recent success has not risen for `steps` training steps.

    It has risen if it exceeds its value at the last rise by more than `margin`. Both are measured
    on the range of outcomes as it is now, so that a wider range hides no progress.

    Args:
        steps: training steps without a rise.
        margin: rises up to this size do not count; it keeps noise from looking like progress.
    """

    steps: float = 100_000.0
    margin: float = 0.05

    def init(self) -> BestSuccess:
        return BestSuccess(np.full((), -np.inf), np.zeros(()))

    def update(self, state: BestSuccess, phase: Phase) -> BestSuccess:
        xp = namespace(state.outcome, phase.step, self.margin)
        low, span = phase.counts.low, phase.counts.high - phase.counts.low
        best = xp.clip((state.outcome - low) / xp.where(span > 0.0, span, 1.0), 0.0, 1.0)
        rose = phase.success > best + self.margin
        reached = low + phase.success * span
        return BestSuccess(
            xp.where(rose, reached, state.outcome).astype(state.outcome.dtype),
            xp.where(rose, phase.steps, state.steps).astype(state.steps.dtype),
        )

    def holds(self, state: BestSuccess, phase: Phase) -> Array:
        return phase.steps - state.steps >= self.steps

    def check(self) -> None:
        require_number("steps", self.steps, above=0.0)
        require_number("margin", self.margin, at_least=0.0)
