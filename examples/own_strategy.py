"""A strategy of your own beside the named ones, in one file.

`Halfway` prefers tasks that the agent solves about half of the time. It counts wins and losses in
training and forgets old ones slowly. Once it has a name, the command line takes it like any other:

    python examples/own_strategy.py compare pointmass-s --strategies halfway procurl iid \\
        --seeds 8 --steps 500000

The figure is `curves-train.png` of its results, after four minutes on one core. Both curricula are
ahead of evenly drawn tasks: 5 of 8 runs each learn, against 2 of 8. `halfway` and `procurl` cannot
be told apart with so few runs.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from procurl import Array, Evidence, Strategy, register_strategy
from procurl.cli import main


class HalfwayState(NamedTuple):
    """State of `Halfway`."""

    wins: Array  # [n] of the training episodes so far, old ones counted less
    losses: Array  # [n]


@dataclass(frozen=True)
class Halfway(Strategy):
    """P(s) ∝ p(s) · (1 − p(s)), where p(s) = (wins(s) + 1) / (wins(s) + losses(s) + 2).

    Args:
        memory: how much of the counts an update keeps, from 0 to 1.
    """

    memory: float = 0.98

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    def init(self, n: int) -> HalfwayState:
        return HalfwayState(np.zeros(n), np.zeros(n))

    def update(self, state: HalfwayState, evidence: Evidence) -> HalfwayState:
        return HalfwayState(
            self.memory * state.wins + evidence.wins, self.memory * state.losses + evidence.losses
        )

    def probabilities(self, state: HalfwayState) -> Array:
        rate = (state.wins + 1.0) / (state.wins + state.losses + 2.0)
        weights = rate * (1.0 - rate)
        return weights / weights.sum()

    def check(self) -> None:
        if not 0.0 <= self.memory <= 1.0:
            raise ValueError(f"memory must be from 0 to 1, got {self.memory}")


# Outside of the block below, because training processes import this file and need the name.
register_strategy("halfway", Halfway, when="An example of a strategy of your own.")

if __name__ == "__main__":
    raise SystemExit(main())
