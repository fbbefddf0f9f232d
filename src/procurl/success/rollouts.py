"""Success by the teacher's own rollouts."""

from dataclasses import dataclass

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array
from procurl.internals.checks import (
    require_bounds,
    require_choice,
    require_integer,
    require_interval,
    require_number,
)
from procurl.success.estimate import EstimateState, RolloutPlan, Success
from procurl.success.normalize import keep_finite, normalize, value_range


@dataclass(frozen=True)
class RolloutSuccess(Success):
    """Success rate or normalized mean return of `c_rollouts` episodes per task (ProCuRL-env).

    The rollouts cost environment steps, which the engine counts as the teacher's. `budget` x
    stretches the interval between refreshes, so that training and teacher together take about x
    times the training steps (ProCuRL-env^x). A refresh is paid off after it was made, so the total
    exceeds that by one refresh at most. `measure` says what is averaged: the `return`, which
    is the success if rewards are 0 and 1, or whether the episode was a `success`.
    """

    c_rollouts: int = 20
    refresh_every: int | None = 5120
    v_min: float | None = 0.0
    v_max: float | None = 1.0
    measure: str = "return"
    budget: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("rollout_success",)

    def init(self, n: int) -> EstimateState:
        return EstimateState(np.zeros(n))

    def update(self, state: EstimateState, evidence: Evidence) -> EstimateState:
        with np.errstate(invalid="ignore", over="ignore"):
            new = self.normalize(evidence.rollout_success, evidence)
        return EstimateState(keep_finite(new, state.estimate))

    def estimate(self, state: EstimateState) -> Array:
        return state.estimate

    def check(self) -> None:
        require_integer("c_rollouts", self.c_rollouts, at_least=1)
        require_choice("measure", self.measure, ("return", "success"))
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
        if self.budget is not None:
            require_number("budget", self.budget, above=1.0)

    def normalize(self, returns: Array, evidence: Evidence) -> Array:
        low, high = self.v_min, self.v_max
        if low is None or high is None:
            low, high = value_range(evidence.rollout_success)
        return normalize(returns, low, high)

    def rollout_plan(self) -> RolloutPlan:
        return RolloutPlan(self.c_rollouts, self.measure, budget=self.budget)
