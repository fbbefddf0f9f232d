"""What a success estimate is: settings, a state, and pure functions over them."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

from procurl.evidence import Evidence, Scale
from procurl.internals.arrays import Array, namespace
from procurl.internals.settings import AUTO
from procurl.success.bounds import Bound, are_found, are_given
from procurl.success.normalize import outcomes_of
from procurl.tasks.pool import TaskPool

EVEN, EARLY = SPENDING = ("even", "early")  # when a budget is spent
MEASURES = ("auto", "return", "success")  # what an episode is judged by


class RolloutPlan(NamedTuple):
    """The rollouts that an estimate asks of an engine."""

    episodes: int  # per task
    measure: str  # what `Evidence.rollout_success` is the mean of: one of `MEASURES`
    top_fraction: float = 1.0  # share of the episodes, the best, that `rollout_top` averages
    budget: Array | None = None  # training and teacher steps per training step; None: no limit
    spending: str = EVEN  # when the budget is spent: one of `SPENDING`
    training_steps: int | None = None  # in all, for early spending
    tasks: int | None = None  # to play per refresh, drawn by the engine; None: the whole pool
    optional: bool = False  # whether refreshes continue without rollouts while none is affordable

    def tasks_of(self, n: int) -> int:
        """How many tasks of a pool of `n` are played per refresh."""
        return n if self.tasks is None else min(self.tasks, n)

    def affordable(self, step: Array, teacher_steps: Array) -> Array:
        """Whether the budget allows rollouts now.

        With even spending, it does if teacher_steps ≤ (budget − 1) · step. With early spending, it
        does if teacher_steps < (budget − 1) · training_steps.

        Args:
            step: training steps so far.
            teacher_steps: environment steps that the teacher's rollouts have taken so far.
        """
        if self.budget is None:
            return True
        if self.spending == EVEN:
            return teacher_steps <= (self.budget - 1.0) * step
        if self.training_steps is None:
            raise ValueError(
                "spending='early' needs training_steps, the length of training, which is not known "
                "here: set it, as in make_strategy('procurl-env-2', spending='early', "
                "training_steps=1_000_000)"
            )
        return teacher_steps < (self.budget - 1.0) * self.training_steps


class Success(ABC):
    """An estimate of every task's probability of success, kept up to date by evidence."""

    refresh_every: int | None = None  # training steps between refreshes; None: every policy update
    tasks_per_refresh: int | None = None  # as of `Strategy.tasks_per_refresh`
    measure: str = "auto"  # what an episode is judged by, one of `MEASURES`
    v_min: Bound = AUTO  # what counts as a failure
    v_max: Bound = AUTO  # what counts as a success

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The fields of `Evidence` that `update` requires.

        Those of rollouts are missing at refreshes without rollouts if these are optional.
        """

    @property
    def uses(self) -> tuple[str, ...]:
        """The fields of `Evidence` that `update` reads, required or not."""
        return self.needs

    @abstractmethod
    def init(self, n: int) -> Any:
        """The state before the first evidence, in which every estimate is 0."""

    @abstractmethod
    def update(self, state: Any, evidence: Evidence) -> Any:
        """The state after `evidence`; a non-finite entry keeps its task's previous estimate."""

    def trust_prior(self, state: Any) -> Any:
        """As of `Strategy.trust_prior`."""
        return state

    @abstractmethod
    def estimate(self, state: Any) -> Array:
        """[n] the normalized estimate before it is clipped to [0, 1]."""

    def probability(self, state: Any, noise: Array | None = None) -> Array:
        """[n] PoS, the probability of success: the estimate plus `noise` [n], clipped to [0, 1]."""
        estimate = self.estimate(state)
        if noise is not None:
            estimate = estimate + noise
        return namespace(estimate).clip(estimate, 0.0, 1.0)

    def check(self) -> None:
        """Raise on a bad setting."""

    def bind(self, pool: TaskPool) -> Self:
        """The same estimate with what it takes from the pool; most take nothing."""
        return self

    def for_training(self, steps: int) -> Self:
        """The same estimate with what it takes from the length of training; most take nothing."""
        return self

    @property
    def outcome_measure(self) -> str:
        """What engines judge an episode by: `measure`, or the return if it has bounds."""
        return "return" if self.measure == "auto" and not are_found(self) else self.measure

    def outcomes(self, measured: Array, scale: Scale) -> tuple[Array, Array]:
        """[m] (wins, losses) of single episodes, for engines to sum over tasks.

        Args:
            measured: [m] return or success of each episode, by `outcome_measure`.
            scale: of what was seen.
        """
        if are_given(self) and self.outcome_measure == "return":
            return outcomes_of(measured, self.v_min, self.v_max)
        return outcomes_of(measured, scale.low, scale.high)

    def normalize(self, returns: Array, evidence: Evidence) -> Array:
        """[n] returns on the scale of the estimate, not clipped."""
        return returns

    def rollout_plan(self) -> RolloutPlan | None:
        """The rollouts that the estimate asks of an engine, None if it needs none."""
        return None

    def rollout_weights(self, state: Any) -> Array | None:
        """As of `Strategy.rollout_weights`."""
        return None
