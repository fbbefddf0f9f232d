"""Potentials: what a task is worth to play next, given its probability of success."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from procurl.evidence import Evidence, measured_only
from procurl.internals.arrays import Array, by_blocks, namespace, pool_array
from procurl.internals.checks import require_number
from procurl.success import RolloutPlan, Success, keep_finite
from procurl.tasks.pool import TaskPool


class Potential(ABC):
    """A function of PoS, the probability of success, with a state of its own if it needs one."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields of `Evidence` that `update` requires."""
        return ()

    def init(self, n: int) -> Any:
        """The state before any evidence, None for a potential without state."""
        return None

    def update(self, state: Any, success: Success, evidence: Evidence) -> Any:
        """The state after `evidence`, on the scale of the estimate `success`."""
        return state

    @abstractmethod
    def __call__(self, probability: Array, state: Any) -> Array:
        """[n] the higher, the more likely the task.

        Args:
            probability: [n] PoS.
            state: of this potential.
        """

    def rollout_plan(self, plan: RolloutPlan | None) -> RolloutPlan | None:
        """The rollout plan of the success estimate, with what this potential needs in addition."""
        return plan

    def check(self, success: Success) -> None:
        """Raise on a bad setting, or if the estimate `success` does not provide what it needs."""

    def settings_for(self, pool: TaskPool) -> dict[str, Any]:
        """Settings of the strategy to replace for `pool`; raises if they do not fit it."""
        return {}


@dataclass(frozen=True)
class Ease(Potential):
    """PoS(s): prefer what the agent can do already."""

    def __call__(self, probability: Array, state: None) -> Array:
        return probability


@dataclass(frozen=True)
class Hardness(Potential):
    """1 − PoS(s): prefer what the agent cannot do yet."""

    def __call__(self, probability: Array, state: None) -> Array:
        return 1.0 - probability


@dataclass(frozen=True)
class TopRollouts:
    """PoS* estimated as the best that the agent has shown on the task so far.

    The paper's footnote on unknown PoS*: the mean of the top `fraction` of the teacher's rollouts
    from a task, at its highest over training (`Evidence.rollout_top`), on the scale that the
    success estimate has now.
    """

    fraction: float = 0.2


class ProximalState(NamedTuple):
    """State of `Proximal` if PoS* is estimated."""

    best: Array  # [n] best return or success so far, not normalized; −∞ before one
    p_star: Array  # [n] the same on the scale of the estimate, 0 before one


@dataclass(frozen=True)
class Proximal(Potential):
    """PoS(s) · (γ1 · PoS*(s) − γ2 · PoS(s)): prefer tasks neither too easy nor too hard.

    Args:
        gamma1, gamma2: weights of the two terms; 1 and 1 except in the paper's ablation.
        p_star: PoS*, the success of the best policy: a number, one per task `[n]`, or estimated by
            `TopRollouts`.
    """

    gamma1: float = 1.0
    gamma2: float = 1.0
    p_star: Array | TopRollouts = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("rollout_top",) if isinstance(self.p_star, TopRollouts) else ()

    def init(self, n: int) -> ProximalState | None:
        if not isinstance(self.p_star, TopRollouts):
            return None
        return ProximalState(pool_array(n, -np.inf), pool_array(n))

    def update(
        self, state: ProximalState | None, success: Success, evidence: Evidence
    ) -> ProximalState | None:
        if state is None:
            return None
        top = measured_only(evidence.rollout_top, evidence.rollouts)
        best = keep_finite(top, state.best)
        xp = namespace(best, state.best)
        best = xp.maximum(best, state.best)
        with np.errstate(invalid="ignore", over="ignore"):  # before there is one
            p_star = success.normalize(best, evidence)
        known = xp.where(xp.isfinite(best), xp.clip(p_star, 0.0, 1.0), state.p_star)
        return ProximalState(best, keep_finite(known, state.p_star))

    def __call__(self, probability: Array, state: ProximalState | None) -> Array:
        given = self.p_star if state is None else state.p_star
        p_star = namespace(probability, given).asarray(given, dtype=probability.dtype)

        def worth(p: Array, best: Array) -> Array:
            return p * (self.gamma1 * best - self.gamma2 * p)

        if p_star.ndim == 0:
            return by_blocks(lambda p: worth(p, p_star), probability)
        return by_blocks(worth, probability, p_star)

    def rollout_plan(self, plan: RolloutPlan | None) -> RolloutPlan | None:
        if plan is None or not isinstance(self.p_star, TopRollouts):
            return plan
        return plan._replace(top_fraction=self.p_star.fraction)

    def check(self, success: Success) -> None:
        require_number("gamma1", self.gamma1, at_least=0.0)
        require_number("gamma2", self.gamma2, at_least=0.0)
        if isinstance(self.p_star, TopRollouts):
            plan = success.rollout_plan()
            if plan is None or plan.optional:
                raise ValueError(
                    "p_star=TopRollouts() needs rollouts at every refresh: use a success estimate "
                    f"that plays them, such as RolloutSuccess(), not {_rollouts_of(success)}"
                )
            require_number("p_star.fraction", self.p_star.fraction, above=0.0, at_most=1.0)
        elif not isinstance(self.p_star, list | tuple) and np.ndim(self.p_star) == 0:
            require_number("p_star", self.p_star, at_least=0.0, at_most=1.0)
        elif not _are_probabilities(self.p_star):
            raise ValueError(
                "p_star must be a number from 0 to 1, one such number per task, or "
                f"TopRollouts(), got {self.p_star!r}"
            )

    def settings_for(self, pool: TaskPool) -> dict[str, Any]:
        if isinstance(self.p_star, TopRollouts) or np.ndim(self.p_star) == 0:
            return {}
        if len(self.p_star) != len(pool):
            raise ValueError(
                f"p_star must hold one number per task, got {len(self.p_star)} for a pool of "
                f"{len(pool)}"
            )
        return {"p_star": np.asarray(self.p_star, dtype=float)}


@dataclass(frozen=True)
class Gain(Potential):
    """PoS(s)² · (1 − PoS(s))³: how fast playing a task lowers its squared shortfall.

    In a logistic model of success, PoS = σ(θ), one step of policy gradient on the task moves θ by
    PoS · (1 − PoS), and ½(1 − PoS)² by the potential.
    """

    def __call__(self, probability: Array, state: None) -> Array:
        def worth(p: Array) -> Array:
            room = 1.0 - p
            return (p * room) ** 2 * room

        return by_blocks(worth, probability)


class LearnabilityState(NamedTuple):
    """State of `Learnability`."""

    measured: Array  # [n] bool, whether the latest evidence measured the task


@dataclass(frozen=True)
class Learnability(Potential):
    """PoS(s) · (1 − PoS(s)) of the tasks that the latest evidence measured.

    Every other task comes below them, at −1: its estimate is old, or missing.
    """

    def init(self, n: int) -> LearnabilityState:
        return LearnabilityState(np.zeros(n, dtype=bool))

    def update(
        self, state: LearnabilityState, success: Success, evidence: Evidence
    ) -> LearnabilityState:
        xp = namespace(state.measured, evidence.rollouts)
        if evidence.rollouts is None or "rollout_success" not in success.needs:
            return LearnabilityState(xp.ones_like(state.measured))
        return LearnabilityState(xp.asarray(evidence.rollouts) > 0)

    def __call__(self, probability: Array, state: LearnabilityState) -> Array:
        xp = namespace(probability, state.measured)
        return xp.where(state.measured, probability * (1.0 - probability), -1.0)


def _rollouts_of(success: Success) -> str:
    """The estimate with the setting that makes its rollouts optional, if it has one."""
    spending = getattr(success, "spending", None)
    return f"{type(success).__name__}({'' if spending is None else f'spending={spending!r}'})"


def _are_probabilities(given: Array) -> bool:
    """Whether `given` is a list of numbers from 0 to 1."""
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and bool(((array >= 0.0) & (array <= 1.0)).all())
