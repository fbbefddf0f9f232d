"""The strategies that follow the probability of success, but for their potential and sampler."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence, Scale
from procurl.internals.arrays import Array, namespace, pool_array
from procurl.internals.checks import require_number
from procurl.strategies.potentials import Potential
from procurl.strategies.samplers import Sampler
from procurl.strategies.strategy import Strategy
from procurl.success import EARLY, RolloutPlan, Success, keep_finite
from procurl.tasks.pool import TaskPool


class SuccessState(NamedTuple):
    """State of a `SuccessStrategy`."""

    step: Array  # []  training steps at the latest evidence
    success: Any  # state of the success estimate
    potential: Any  # state of the potential, None if it has none
    noise: Array | None  # [n] the latest draws, in [-1, 1]; None without noise


class SuccessStrategy(Strategy):
    """P(s) = sampler(potential(PoS(s))): an estimate, a potential and a sampler, wired together.

    Subclass it as a frozen dataclass whose fields are the settings: `success` in any case, and
    those of its `potential` and `sampler`. With a field `epsilon`, the paper's robustness
    ablation adds noise from U(−ε, ε) to the estimate of every task, after normalization and before
    clipping. The draws come with the evidence (`Evidence.noise`).

    Before the first evidence PoS is 0 everywhere, and so the distribution is uniform.
    """

    success: Success
    epsilon: float | None = None  # None: no noise

    @property
    @abstractmethod
    def potential(self) -> Potential:
        """What a task is worth, given its probability of success."""

    @property
    @abstractmethod
    def sampler(self) -> Sampler:
        """The distribution, given the potential."""

    @property
    def refresh_every(self) -> int | None:  # type: ignore[override]  # the success estimate decides
        return self.success.refresh_every

    @property
    def tasks_per_refresh(self) -> int | None:  # type: ignore[override]  # as does the interval
        return self.success.tasks_per_refresh

    @property
    def ends_evenly(self) -> bool:  # type: ignore[override]  # a budget that is spent early decides
        plan = self.rollout_plan()
        return plan is not None and plan.spending == EARLY

    @property
    def needs(self) -> tuple[str, ...]:
        noise = () if self.epsilon is None else ("noise",)
        return (*self.success.needs, *noise, *self.potential.needs)

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.needs, *self.success.uses)))

    def init(self, n: int) -> SuccessState:
        noise = None if self.epsilon is None else pool_array(n)
        return SuccessState(np.zeros(()), self.success.init(n), self.potential.init(n), noise)

    def update(self, state: SuccessState, evidence: Evidence) -> SuccessState:
        step = namespace(evidence.step, state.step).asarray(evidence.step, dtype=state.step.dtype)
        noise = state.noise
        return SuccessState(
            step,
            self.success.update(state.success, evidence),
            self.potential.update(state.potential, self.success, evidence),
            noise if noise is None else keep_finite(evidence.noise, noise),
        )

    def trust_prior(self, state: SuccessState) -> SuccessState:
        return state._replace(success=self.success.trust_prior(state.success))

    def task_potential(self, state: SuccessState) -> Array:
        """[n] the potential of every task."""
        return self.potential(self.estimated_success(state), state.potential)

    def probabilities(self, state: SuccessState) -> Array:
        return self.sampler(self.task_potential(state), state.step)

    def estimated_success(self, state: SuccessState) -> Array:
        if state.noise is None:
            return self.success.probability(state.success)
        return self.success.probability(state.success, self.epsilon * state.noise)

    def check(self) -> None:
        if not isinstance(self.success, Success):
            raise TypeError(f"success must be a success estimate, got {self.success!r}")
        self.success.check()
        if self.epsilon is not None:
            require_number("epsilon", self.epsilon, at_least=0.0)
        self.sampler.check()
        self.potential.check(self.success)

    def bind(self, pool: TaskPool) -> Self:
        settings = self.potential.settings_for(pool)
        return replace(self, success=self.success.bind(pool), **settings)  # type: ignore[type-var]

    def for_training(self, steps: int) -> Self:
        return replace(self, success=self.success.for_training(steps))  # type: ignore[type-var]

    @property
    def outcome_measure(self) -> str:
        return self.success.outcome_measure

    def outcomes(self, measured: Array, scale: Scale) -> tuple[Array, Array]:
        return self.success.outcomes(measured, scale)

    def rollout_plan(self) -> RolloutPlan | None:
        return self.potential.rollout_plan(self.success.rollout_plan())

    def rollout_weights(self, state: SuccessState) -> Array | None:
        return self.success.rollout_weights(state.success)
