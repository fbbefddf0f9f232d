"""Success by the teacher's own rollouts."""

from dataclasses import dataclass

import numpy as np

from procurl.evidence import Evidence, measured_only
from procurl.internals.arrays import Array
from procurl.internals.checks import (
    require_bounds,
    require_choice,
    require_integer,
    require_interval,
    require_number,
)
from procurl.internals.settings import AUTO
from procurl.success.bounds import Bound, are_found, complete_bounds
from procurl.success.estimate import MEASURES, EstimateState, RolloutPlan, Success
from procurl.success.normalize import keep_finite, normalize, value_range


@dataclass(frozen=True)
class RolloutSuccess(Success):
    """Success rate or normalized mean return of `c_rollouts` episodes per task (ProCuRL-env).

    The rollouts cost environment steps, which the engine counts as the teacher's. `budget` x
    stretches the interval between refreshes, so that training and teacher together take about x
    times the training steps (ProCuRL-env^x). A refresh is paid off after it was made, so the total
    exceeds that by one refresh at most. `measure` says what is averaged: the `return`, which
    is the success if rewards are 0 and 1, whether the episode was a `success`, or `auto` for
    success if the environment reports it. Returns are normalized by the bounds, or by the range of
    what was seen. With `rollout_tasks`, each refresh plays only that many tasks, drawn anew; the
    others keep their estimates.
    """

    c_rollouts: int = 20
    refresh_every: int | None = 5120
    v_min: Bound = AUTO
    v_max: Bound = AUTO
    measure: str = "auto"
    budget: float | None = None
    rollout_tasks: int | None = None

    def __post_init__(self) -> None:
        complete_bounds(self)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("rollout_success",)

    @property
    def uses(self) -> tuple[str, ...]:
        measured = (*self.needs, "rollouts")
        return (*measured, "scale") if are_found(self) else measured

    def init(self, n: int) -> EstimateState:
        return EstimateState(np.zeros(n))

    def update(self, state: EstimateState, evidence: Evidence) -> EstimateState:
        with np.errstate(invalid="ignore", over="ignore"):
            new = self.normalize(_measured(evidence), evidence)
        return EstimateState(keep_finite(new, state.estimate))

    def estimate(self, state: EstimateState) -> Array:
        return state.estimate

    def check(self) -> None:
        require_integer("c_rollouts", self.c_rollouts, at_least=1)
        require_choice("measure", self.measure, MEASURES)
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
        if self.budget is not None:
            require_number("budget", self.budget, above=1.0)
        if self.rollout_tasks is not None:
            require_integer("rollout_tasks", self.rollout_tasks, at_least=1)

    def normalize(self, returns: Array, evidence: Evidence) -> Array:
        if are_found(self):
            if evidence.scale is None:  # nothing is known of rewards: taken to be 0 and 1
                return returns
            return normalize(returns, evidence.scale.low, evidence.scale.high)
        low, high = self.v_min, self.v_max
        if low is None or high is None:
            low, high = value_range(_measured(evidence))
        return normalize(returns, low, high)

    def rollout_plan(self) -> RolloutPlan:
        return RolloutPlan(
            self.c_rollouts, self.outcome_measure, budget=self.budget, tasks=self.rollout_tasks
        )


def _measured(evidence: Evidence) -> Array:
    """[n] the success of the tasks with rollouts, NaN for the others."""
    return measured_only(evidence.rollout_success, evidence.rollouts)
