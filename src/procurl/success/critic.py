"""Success by the critic's values."""

from dataclasses import dataclass

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array
from procurl.internals.checks import require_bounds, require_interval
from procurl.success.estimate import EstimateState, Success
from procurl.success.normalize import keep_finite, normalize


@dataclass(frozen=True)
class CriticSuccess(Success):
    """The critic's value of every task's initial observation, normalized (ProCuRL-val).

    With rewards of 0 and 1 the value itself is the probability of success. Other rewards need
    `v_min` and `v_max`, or None for both to take the range over the pool at that moment.
    """

    v_min: float | None = 0.0
    v_max: float | None = 1.0
    refresh_every: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("values",)

    def init(self, n: int) -> EstimateState:
        return EstimateState(np.zeros(n))

    def update(self, state: EstimateState, evidence: Evidence) -> EstimateState:
        with np.errstate(invalid="ignore", over="ignore"):
            new = normalize(evidence.values, self.v_min, self.v_max)
        return EstimateState(keep_finite(new, state.estimate))

    def estimate(self, state: EstimateState) -> Array:
        return state.estimate

    def check(self) -> None:
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
