"""IID: every task is as likely as any other."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_patience
from procurl.internals.settings import ADDED
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import SharedTasks


class IIDState(NamedTuple):
    """State of `IID`."""

    probabilities: Array  # [n]


@dataclass(frozen=True)
class IID(Strategy):
    """Play tasks uniformly at random: P(s) = 1/n. It needs no evidence and never changes.

    Args:
        patience: as of `AutoProCuRL`, to compare its choice of tasks alone; None: the agent takes
            every update.
    """

    patience: int | None = field(default=None, metadata=ADDED)
    ends_evenly = True

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def init(self, n: int) -> IIDState:
        return IIDState(np.full(n, 1.0 / n))

    def update(self, state: IIDState, evidence: Evidence) -> IIDState:
        return state

    def probabilities(self, state: IIDState) -> Array:
        return namespace(state.probabilities).asarray(state.probabilities)

    def check(self) -> None:
        require_patience(self.patience)

    def carry_over(self, state: IIDState, fresh: IIDState, shared: SharedTasks) -> IIDState:
        return fresh
