"""The softmax family: a potential per task, sharpened by β, and its argmax form."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, softmax
from procurl.internals.checks import require_number
from procurl.strategies.schedules import Scheduled, check_scheduled, value_at
from procurl.strategies.strategy import Strategy
from procurl.success import RolloutPlan, Success, success_probability
from procurl.tasks.pool import TaskPool


class Potential(Strategy):
    """A strategy that gives every task a potential; what it is worth to play the task next."""

    @abstractmethod
    def potential(self, state: Any) -> Array:
        """[n] the higher, the more likely the task."""


class SuccessState(NamedTuple):
    """State of the strategies that go by the probability of success."""

    step: Array  # []  training steps at the latest evidence
    success: Any  # state of the success estimate
    p_star: Array | None = None  # [n] best success seen so far, None where PoS* is given


class SuccessSoftmax(Potential):
    """P(s) ∝ exp(β · potential(PoS(s))): all but the potential itself.

    Before the first evidence PoS is 0 everywhere, and so the distribution is uniform.
    """

    success: Success
    beta: Scheduled
    floor: float

    @property
    def refresh_every(self) -> int | None:  # type: ignore[override]  # the success estimate decides
        return self.success.refresh_every

    @property
    def needs(self) -> tuple[str, ...]:
        return self.success.needs

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.needs, *self.success.uses)))

    def init(self, n: int) -> SuccessState:
        return SuccessState(np.zeros(()), self.success.init(n))

    def update(self, state: SuccessState, evidence: Evidence) -> SuccessState:
        step = namespace(evidence.step, state.step).asarray(evidence.step, dtype=state.step.dtype)
        return state._replace(step=step, success=self.success.update(state.success, evidence))

    def probabilities(self, state: SuccessState) -> Array:
        return softmax(value_at(self.beta, state.step) * self.potential(state), self.floor)

    def estimated_success(self, state: SuccessState) -> Array:
        return success_probability(self.success, state.success)

    def check(self) -> None:
        if not isinstance(self.success, Success):
            raise TypeError(f"success must be a success estimate, got {self.success!r}")
        self.success.check()
        check_scheduled("beta", self.beta, low=0.0)
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)

    def bind(self, pool: TaskPool) -> Self:
        return replace(self, success=self.success.bind(pool))  # type: ignore[type-var]

    def outcomes(self, returns: Array, values: Array | None = None) -> tuple[Array, Array]:
        return self.success.outcomes(returns, values)

    def rollout_plan(self) -> RolloutPlan | None:
        return self.success.rollout_plan()

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        return self.success.due(step, refreshed_at, teacher_steps)


@dataclass(frozen=True)
class Argmax(Strategy):
    """All mass on the tasks of the highest potential, ties shared: Eq. 1 of the paper for ProCuRL.

    Potentials that differ by rounding alone, as those of PoS 0.3 and 0.7 do, count as ties.
    """

    strategy: Potential

    @property
    def refresh_every(self) -> int | None:  # type: ignore[override]  # the strategy inside decides
        return self.strategy.refresh_every

    @property
    def needs(self) -> tuple[str, ...]:
        return self.strategy.needs

    @property
    def uses(self) -> tuple[str, ...]:
        return self.strategy.uses

    def init(self, n: int) -> Any:
        return self.strategy.init(n)

    def update(self, state: Any, evidence: Evidence) -> Any:
        return self.strategy.update(state, evidence)

    def probabilities(self, state: Any) -> Array:
        potential = self.strategy.potential(state)
        xp = namespace(potential)
        highest = xp.max(potential)
        rounding = 4.0 * xp.finfo(potential.dtype).eps * xp.abs(highest)
        best = (potential >= highest - rounding).astype(potential.dtype)
        return best / xp.sum(best)

    def estimated_success(self, state: Any) -> Array | None:
        return self.strategy.estimated_success(state)

    def check(self) -> None:
        if not isinstance(self.strategy, Potential):
            raise TypeError(f"strategy must give tasks a potential, got {self.strategy!r}")
        self.strategy.check()

    def bind(self, pool: TaskPool) -> Self:
        return replace(self, strategy=self.strategy.bind(pool))

    def outcomes(self, returns: Array, values: Array | None = None) -> tuple[Array, Array]:
        return self.strategy.outcomes(returns, values)

    def rollout_plan(self) -> RolloutPlan | None:
        return self.strategy.rollout_plan()

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        return self.strategy.due(step, refreshed_at, teacher_steps)
