"""What a problem of the gallery is, and what one run of it records."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

EVALUATIONS = 8  # per run, evenly spaced


class Run(NamedTuple):
    """The evaluations of one run, in order."""

    steps: list[float]  # training steps (draws of tasks, for learners without an environment)
    performance: list[float]  # mean over the pool, from 0 to 1
    calibration: list[float]  # mean over the pool of |PoS − achieved success|, NaN without PoS


@dataclass(frozen=True)
class Problem:
    """A pool of tasks, a learner, and the strategies worth comparing on it."""

    name: str
    text: str  # reward, horizon, pool and algorithm, in a few words
    role: str  # `choose`: used to choose defaults; `confirm`: never looked at for that
    strategies: tuple[str, ...]  # compared by default, `iid` first
    others: tuple[str, ...]  # further ones, from other papers and made by hand
    # Strategies whose PoS must be calibrated.
    calibrated: tuple[str, ...]
    train: Callable[[str, int], Run]  # of the name of a strategy and a seed

    @property
    def contenders(self) -> tuple[str, ...]:
        """All strategies that can be compared."""
        return (*self.strategies, *self.others)
