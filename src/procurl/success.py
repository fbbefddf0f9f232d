"""Where the probability of success comes from: the critic, rollouts, or the training episodes.

Each estimate is a frozen dataclass of settings with a small state of its own. A strategy holds one
as its field `success`, nests its state, and asks for the result with `success_probability`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import (
    require_bounds,
    require_choice,
    require_interval,
    require_number,
    require_whole,
)
from procurl.tasks.neighbors import Neighbors, nearest_neighbors
from procurl.tasks.pool import TaskPool


class RolloutPlan(NamedTuple):
    """The rollouts that an engine has to make for an estimate."""

    episodes: int  # per task
    measure: str  # what `Evidence.rollout_success` is the mean of: `return` or `success`
    top_fraction: float = 1.0  # of the episodes, the best, that `Evidence.rollout_top` averages
    together: bool = True  # whether all runs of a strategy are due at the same steps


class Success(ABC):
    """An estimate of every task's probability of success, kept up to date by evidence."""

    refresh_every: int | None = (
        None  # training steps between refreshes; None: after every policy update
    )

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The fields of `Evidence` without which `update` has nothing to go by."""

    @property
    def uses(self) -> tuple[str, ...]:
        """The fields of `Evidence` that `update` looks at, needed or not."""
        return self.needs

    @abstractmethod
    def init(self, n: int) -> Any:
        """The state before the first evidence, in which every estimate is 0."""

    @abstractmethod
    def update(self, state: Any, evidence: Evidence) -> Any:
        """The state after `evidence`; a non-finite entry keeps its task's previous estimate."""

    @abstractmethod
    def estimate(self, state: Any) -> Array:
        """[n] the normalized estimate before it is clipped to [0, 1]."""

    def check(self) -> None:
        """Raise on a bad setting."""

    def bind(self, pool: TaskPool) -> Self:
        """The same estimate with what it takes from the pool; most take nothing."""
        return self

    def outcomes(self, returns: Array, values: Array | None = None) -> tuple[Array, Array]:
        """[m] (wins, losses) of single episodes from their returns, for engines to sum over tasks.

        Args:
            returns: [m] undiscounted.
            values: [n] the critic's values of the pool, where there is a critic.
        """
        return outcomes_of(returns, 0.0, 1.0)

    def normalized(self, returns: Array, evidence: Evidence) -> Array:
        """[n] returns on the scale of the estimate, not clipped."""
        return returns

    def rollout_plan(self) -> RolloutPlan | None:
        """The rollouts that the estimate asks of an engine, None if it needs none."""
        return None

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        """Whether `refresh_every` training steps have passed since the last refresh."""
        return step - refreshed_at >= (self.refresh_every or 0)


def success_probability(success: Success, state: Any) -> Array:
    """[n] PoS, the probability of success of every task: the estimate, clipped to [0, 1]."""
    estimate = success.estimate(state)
    return namespace(estimate).clip(estimate, 0.0, 1.0)


def normalize(values: Array, v_min: Array | None, v_max: Array | None) -> Array:
    """(V − Vmin) / (Vmax − Vmin), with the pool's own finite range where the bounds are None.

    A zero range gives 0 everywhere, which makes the softmax strategies uniform.
    """
    xp = namespace(values, v_min, v_max)
    if v_min is None or v_max is None:
        v_min, v_max = _range(values)
    span = v_max - v_min
    scale = xp.where(span > 0, 1.0 / xp.where(span > 0, span, 1.0), 0.0)
    return (values - v_min) * scale


def _range(values: Array) -> tuple[Array, Array]:
    """Smallest and largest finite entry, 0 and 0 where there is none."""
    xp = namespace(values)
    if values.size == 0:
        return xp.zeros(()), xp.zeros(())
    finite = xp.isfinite(values)
    some = xp.any(finite)
    low = xp.where(some, xp.min(xp.where(finite, values, xp.inf)), 0.0)
    high = xp.where(some, xp.max(xp.where(finite, values, -xp.inf)), 0.0)
    return low, high


def outcomes_of(returns: Array, v_min: Array, v_max: Array) -> tuple[Array, Array]:
    """[m] (wins, losses) of episodes that count by their normalized returns."""
    wins = namespace(returns, v_min, v_max).clip(normalize(returns, v_min, v_max), 0.0, 1.0)
    return wins, 1.0 - wins


def keep_finite(new: Array, previous: Array) -> Array:
    """`new` where it is finite, else `previous`, in the type of `previous`."""
    xp = namespace(new, previous)
    return xp.where(xp.isfinite(new), new, previous).astype(previous.dtype)


class EstimateState(NamedTuple):
    """State of the estimates that are replaced as a whole by each evidence."""

    estimate: Array  # [n] normalized, not clipped


@dataclass(frozen=True)
class CriticSuccess(Success):
    """The critic's value of every task's initial observation, normalized (ProCuRL-val).

    With rewards of 0 and 1 the value is the probability of success as it is; other rewards need
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


@dataclass(frozen=True)
class RolloutSuccess(Success):
    """Success rate or normalized mean return of `c_rollouts` episodes per task (ProCuRL-env).

    The rollouts cost environment steps, which the engine counts as the teacher's. With `budget` x
    the interval between refreshes is stretched, so that training and teacher together spend about
    x times the training steps (ProCuRL-env^x); a refresh is paid off after it was made, so the
    total is above that by one refresh at most. `measure` says what is averaged: the `return`, which
    is the success where rewards are 0 and 1, or whether the episode was a `success`.
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
            new = self.normalized(evidence.rollout_success, evidence)
        return EstimateState(keep_finite(new, state.estimate))

    def estimate(self, state: EstimateState) -> Array:
        return state.estimate

    def check(self) -> None:
        require_whole("c_rollouts", self.c_rollouts, at_least=1)
        require_choice("measure", self.measure, ("return", "success"))
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
        if self.budget is not None:
            require_number("budget", self.budget, above=1.0)

    def normalized(self, returns: Array, evidence: Evidence) -> Array:
        low, high = self.v_min, self.v_max
        if low is None or high is None:
            low, high = _range(evidence.rollout_success)
        return normalize(returns, low, high)

    def rollout_plan(self) -> RolloutPlan:
        return RolloutPlan(self.c_rollouts, self.measure, together=self.budget is None)

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        """Whether to refresh now: the interval has passed and all refreshes so far are paid off.

        Args:
            step: training steps so far.
            refreshed_at: the value of `step` at the last refresh.
            teacher_steps: environment steps that the teacher has used so far.
        """
        waited = super().due(step, refreshed_at, teacher_steps)
        if self.budget is None:
            return waited
        return waited & (teacher_steps <= (self.budget - 1.0) * step)


class OutcomeState(NamedTuple):
    """State of `OutcomeSuccess`."""

    step: Array  # []  training steps at the latest evidence
    wins: Array  # [n] decayed number of episodes won
    losses: Array  # [n] decayed number of episodes lost
    prior: Array  # [n] the critic's normalized estimate, 0.5 before there is one
    estimate: Array  # [n]


@dataclass(frozen=True)
class OutcomeSuccess(Success):
    """What the training episodes themselves say, shared among near tasks (procurl-out).

    With S and F the decayed wins and losses, K a Gaussian kernel over normalized contexts kept to
    the nearest tasks, and V the critic's estimate as a prior of weight a,

        p = (K·S + a·V) / (K·S + K·F + a).

    Rollouts give better estimates than the critic but cost environment steps; this estimate costs
    none. It is ours, not the paper's. Tasks without contexts share nothing (K is the identity), and
    without a critic the prior is 0.5.
    """

    decay: float = 0.9  # of wins and losses, per `decay_steps` training steps
    decay_steps: float = 1024.0
    bandwidth: float = 0.1  # of the kernel, in contexts scaled to [0, 1]
    neighbors: int = 8  # tasks that the kernel reaches, the task itself included
    prior_weight: float = 1.0
    v_min: float | None = 0.0
    v_max: float | None = 1.0
    refresh_every: int | None = None
    # Comes from the pool through `bind`, so it is no setting; None shares nothing.
    kernel: Neighbors | None = field(default=None, repr=False, compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "values")

    def init(self, n: int) -> OutcomeState:
        return OutcomeState(
            np.zeros(()), np.zeros(n), np.zeros(n), prior=np.full(n, 0.5), estimate=np.zeros(n)
        )

    def update(self, state: OutcomeState, evidence: Evidence) -> OutcomeState:
        xp = namespace(state.wins, evidence.wins, self.decay)
        prior = state.prior
        if evidence.values is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                new = normalize(evidence.values, self.v_min, self.v_max)
            prior = xp.clip(keep_finite(new, state.prior), 0.0, 1.0)
        step = xp.asarray(evidence.step, dtype=state.step.dtype)
        faded = self.decay ** ((step - state.step) / self.decay_steps)
        wins = (state.wins * faded + keep_finite(evidence.wins, 0 * prior)).astype(prior.dtype)
        losses = (state.losses * faded + keep_finite(evidence.losses, 0 * prior)).astype(
            prior.dtype
        )
        near_wins, near_losses = self._shared(wins), self._shared(losses)
        weight = self.prior_weight
        estimate = (near_wins + weight * prior) / (near_wins + near_losses + weight)
        return OutcomeState(step, wins, losses, prior, estimate.astype(prior.dtype))

    def estimate(self, state: OutcomeState) -> Array:
        return state.estimate

    def outcomes(self, returns: Array, values: Array | None = None) -> tuple[Array, Array]:
        """As in `Success`, by normalized returns; without `v_min` and `v_max`, in the range of
        `values` or, without a critic, of the returns themselves.
        """
        low, high = self.v_min, self.v_max
        if low is None or high is None:
            low, high = _range(returns if values is None else values)
        return outcomes_of(returns, low, high)

    def check(self) -> None:
        require_number("decay", self.decay, above=0.0, at_most=1.0)
        require_number("decay_steps", self.decay_steps, above=0.0)
        require_number("bandwidth", self.bandwidth, above=0.0)
        require_whole("neighbors", self.neighbors, at_least=1)
        require_number("prior_weight", self.prior_weight, above=0.0)
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)

    def bind(self, pool: TaskPool) -> Self:
        """The same estimate with the kernel over the pool's contexts."""
        if pool.contexts is None:
            return replace(self, kernel=None)
        kernel = nearest_neighbors(pool.contexts, self.neighbors, self.bandwidth)
        return replace(self, kernel=kernel)

    def _shared(self, counts: Array) -> Array:
        if self.kernel is None:
            return counts
        xp = namespace(counts, self.kernel.weights)
        return xp.sum(xp.take(counts, self.kernel.tasks) * self.kernel.weights, axis=1)


class NoisyState(NamedTuple):
    """State of `NoisySuccess`."""

    success: Any  # state of the estimate inside
    noise: Array  # [n] the latest draws, in [-1, 1]


@dataclass(frozen=True)
class NoisySuccess(Success):
    """Another estimate plus U(−ε, ε) per task, added after normalization and before clipping.

    The paper's robustness ablation. The draws come with the evidence (`Evidence.noise`):
    `Curriculum` and the engines supply them.
    """

    success: Success
    epsilon: float = 0.1

    @property
    def refresh_every(self) -> int | None:  # type: ignore[override]  # the estimate inside decides
        return self.success.refresh_every

    @property
    def needs(self) -> tuple[str, ...]:
        return (*self.success.needs, "noise")

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.success.uses, "noise")

    def init(self, n: int) -> NoisyState:
        return NoisyState(self.success.init(n), np.zeros(n))

    def update(self, state: NoisyState, evidence: Evidence) -> NoisyState:
        inside = self.success.update(state.success, evidence)
        return NoisyState(inside, keep_finite(evidence.noise, state.noise))

    def estimate(self, state: NoisyState) -> Array:
        return self.success.estimate(state.success) + self.epsilon * state.noise

    def check(self) -> None:
        self.success.check()
        require_number("epsilon", self.epsilon, at_least=0.0)

    def bind(self, pool: TaskPool) -> Self:
        return replace(self, success=self.success.bind(pool))

    def outcomes(self, returns: Array, values: Array | None = None) -> tuple[Array, Array]:
        return self.success.outcomes(returns, values)

    def normalized(self, returns: Array, evidence: Evidence) -> Array:
        return self.success.normalized(returns, evidence)

    def rollout_plan(self) -> RolloutPlan | None:
        return self.success.rollout_plan()

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        return self.success.due(step, refreshed_at, teacher_steps)
