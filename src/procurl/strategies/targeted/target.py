"""Target: train on the targets alone."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_number
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import SharedTasks
from procurl.tasks.pool import TaskPool
from procurl.tasks.targets import TARGET, target_ids


class TargetState(NamedTuple):
    """State of `Target`."""

    shares: Array  # [n] 1/m on each of the m targets, else 0


@dataclass(frozen=True)
class Target(Strategy):
    """Play the targets uniformly at random: P(s) = 1/m on each of the m targets.

    Targets are tasks of the pool, marked by a feature. It needs no evidence and never changes.

    Args:
        targets: the feature of the pool that is not 0 on targets.
        floor: share of the mass that is spread evenly over the whole pool.
    """

    targets: str = TARGET
    floor: float = 0.0
    # Not a setting: `bind` finds it in the pool. [n], None before that.
    shares: Array | None = field(default=None, repr=False, compare=False)

    ends_evenly = True

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def bind(self, pool: TaskPool) -> Self:
        """The same strategy with the targets of `pool`; raises if it has none."""
        marked = target_ids(pool, self.targets)
        shares = np.zeros(len(pool))
        shares[marked] = 1.0 / len(marked)
        return replace(self, shares=shares)

    def init(self, n: int) -> TargetState:
        if self.shares is None:
            raise ValueError(
                "targets are tasks of a pool: call strategy.bind(pool) first, as Curriculum and "
                "the engines do"
            )
        return TargetState(self.shares)

    def update(self, state: TargetState, evidence: Evidence) -> TargetState:
        return state

    def probabilities(self, state: TargetState) -> Array:
        shares = namespace(state.shares, self.floor).asarray(state.shares)
        return (1.0 - self.floor) * shares + self.floor / shares.shape[0]

    def carry_over(
        self, state: TargetState, fresh: TargetState, shared: SharedTasks
    ) -> TargetState:
        return fresh

    def check(self) -> None:
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)
