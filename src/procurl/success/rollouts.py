"""Success by the teacher's own rollouts."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence, measured_only
from procurl.internals.arrays import Array, namespace, pool_array
from procurl.internals.checks import (
    require_bounds,
    require_choice,
    require_integer,
    require_interval,
    require_number,
)
from procurl.internals.settings import AUTO
from procurl.success.bounds import Bound, are_found, complete_bounds
from procurl.success.estimate import (
    EARLY,
    EVEN,
    MEASURES,
    SPENDING,
    RolloutPlan,
    Success,
)
from procurl.success.normalize import keep_finite, normalize, value_range


class RolloutState(NamedTuple):
    """State of `RolloutSuccess`."""

    measured: Array  # [n] the latest mean return or success, not normalized; NaN before one
    estimate: Array  # [n]


@dataclass(frozen=True)
class RolloutSuccess(Success):
    """Success rate or normalized mean return of `c_rollouts` episodes per task (ProCuRL-env).

    The rollouts cost environment steps, which the engine counts as the teacher's. With a `budget`
    x, training and teacher together take about x times the training steps (ProCuRL-env^x). `even`
    spending stretches the interval between refreshes: each is paid off before the next. `early`
    spending plays rollouts at every refresh until the budget of all `training_steps` is gone; from
    then on every estimate is 0, so that all tasks are equally likely. Engines that know the length
    of training set `training_steps`. Either way, the total exceeds the budget by one refresh at
    most.

    `measure` says what is averaged: the `return`, which is the success if rewards are 0 and 1,
    whether the episode was a `success`, or `auto` for success if the environment reports it.
    Returns are normalized by the bounds, or by the range of what was seen. With `rollout_tasks`,
    each refresh plays only that many tasks, drawn anew; the others keep what was measured, on the
    range of today.
    """

    c_rollouts: int = 20
    refresh_every: int | None = 5120
    v_min: Bound = AUTO
    v_max: Bound = AUTO
    measure: str = "auto"
    budget: float | None = None
    rollout_tasks: int | None = None
    spending: str = EVEN
    training_steps: int | None = None

    def __post_init__(self) -> None:
        complete_bounds(self)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("rollout_success",)

    @property
    def uses(self) -> tuple[str, ...]:
        measured = (*self.needs, "rollouts")
        return (*measured, "scale") if are_found(self) else measured

    def init(self, n: int) -> RolloutState:
        return RolloutState(pool_array(n, np.nan), pool_array(n))

    def update(self, state: RolloutState, evidence: Evidence) -> RolloutState:
        if evidence.rollout_success is None:  # the budget is spent
            nothing = namespace(state.estimate).zeros_like(state.estimate)
            return state._replace(estimate=nothing)
        latest = _measured(evidence)
        measured = keep_finite(latest, state.measured)
        with np.errstate(invalid="ignore", over="ignore"):
            # Without bounds the range is that of the tasks just played, and fits no others.
            new = self.normalize(measured if are_found(self) else latest, evidence)
        return RolloutState(measured, keep_finite(new, state.estimate))

    def estimate(self, state: RolloutState) -> Array:
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
        require_choice("spending", self.spending, SPENDING)
        if self.training_steps is not None:
            require_integer("training_steps", self.training_steps, at_least=1)
        if self.spending == EARLY and self.budget is None:
            raise ValueError("spending='early' needs a budget, such as budget=2.0, got None")
        if self.spending == EVEN and self.training_steps is not None:
            raise ValueError(
                f"training_steps is for spending='early', got {self.training_steps} with "
                "spending='even': set spending='early', or leave training_steps out"
            )

    def for_training(self, steps: int) -> Self:
        """The same estimate, which spends an early budget for `steps` unless they are set."""
        if self.spending == EVEN or self.training_steps is not None:
            return self
        return replace(self, training_steps=steps)

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
            self.c_rollouts,
            self.outcome_measure,
            budget=self.budget,
            spending=self.spending,
            training_steps=self.training_steps,
            tasks=self.rollout_tasks,
            optional=self.spending == EARLY,
        )


def _measured(evidence: Evidence) -> Array:
    """[n] the success of the tasks with rollouts, NaN for the others."""
    return measured_only(evidence.rollout_success, evidence.rollouts)
