"""A strategy with a refresh rule of its own, which no engine can know beforehand."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from procurl import Evidence, Strategy, namespace


class RefreshCount(NamedTuple):
    """State of `AtMultiples`."""

    refreshes: Any  # [] evidence seen so far
    values: Any  # [n] the latest


@dataclass(frozen=True)
class AtMultiples(Strategy):
    """Uniform, and due when the training steps are a multiple of `every`.

    `every` is a float, so that the runs of a batch may differ in it.
    """

    every: float = 128.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("values",)

    def init(self, n: int) -> RefreshCount:
        return RefreshCount(np.zeros(()), np.zeros(n))

    def update(self, state: RefreshCount, evidence: Evidence) -> RefreshCount:
        values = evidence.values
        assert values is not None
        return RefreshCount(state.refreshes + 1.0, values.astype(state.values.dtype))

    def probabilities(self, state: RefreshCount) -> Any:
        xp = namespace(state.values)
        return xp.ones_like(state.values) / state.values.shape[0]

    def due(self, step: Any, refreshed_at: Any, teacher_steps: Any) -> Any:
        return step % self.every == 0
