"""ProCuRL: tasks that are neither too easy nor too hard for the agent as it is now."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_number
from procurl.strategies.schedules import Scheduled
from procurl.strategies.softmax import SuccessSoftmax, SuccessState
from procurl.success import CriticSuccess, RolloutPlan, Success, keep_finite
from procurl.tasks.pool import TaskPool


@dataclass(frozen=True)
class TopRollouts:
    """PoS* estimated: the best that the agent has shown on the task so far.

    The paper's footnote on unknown PoS*: the mean of the top `fraction` of the teacher's rollouts
    from a task, at its highest over training (`Evidence.rollout_top`, on the scale of the success
    estimate).
    """

    fraction: float = 0.2


@dataclass(frozen=True)
class ProCuRL(SuccessSoftmax):
    """P(s) ∝ exp(β · PoS(s) · (γ1 · PoS*(s) − γ2 · PoS(s))), Eqs. 4 to 7 of the paper.

    Args:
        success: where PoS comes from; the critic makes this ProCuRL-val, rollouts ProCuRL-env.
        beta: how sharply the best tasks are preferred, a constant or a schedule over steps.
        gamma1, gamma2: weights of the two terms; 1 and 1 but for the paper's ablation.
        p_star: PoS*, the success of the best policy: a number, one per task `[n]`, or estimated by
            `TopRollouts`. The paper takes 1.
        floor: share of the mass that is always spread evenly over the pool.
    """

    success: Success = field(default_factory=CriticSuccess)
    beta: Scheduled = 20.0
    gamma1: float = 1.0
    gamma2: float = 1.0
    p_star: Array | TopRollouts = 1.0
    floor: float = 0.0

    @property
    def needs(self) -> tuple[str, ...]:
        estimated = isinstance(self.p_star, TopRollouts)
        return (*self.success.needs, "rollout_top") if estimated else self.success.needs

    def rollout_plan(self) -> RolloutPlan | None:
        plan = super().rollout_plan()
        if plan is None or not isinstance(self.p_star, TopRollouts):
            return plan
        return plan._replace(top_fraction=self.p_star.fraction)

    def init(self, n: int) -> SuccessState:
        state = super().init(n)
        estimated = isinstance(self.p_star, TopRollouts)
        return state._replace(p_star=np.zeros(n)) if estimated else state

    def update(self, state: SuccessState, evidence: Evidence) -> SuccessState:
        state = super().update(state, evidence)
        if isinstance(self.p_star, TopRollouts) and state.p_star is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                top = self.success.normalized(evidence.rollout_top, evidence)
            xp = namespace(top, state.p_star)
            best = xp.maximum(xp.clip(keep_finite(top, state.p_star), 0.0, 1.0), state.p_star)
            state = state._replace(p_star=best)
        return state

    def potential(self, state: SuccessState) -> Array:
        success = self.estimated_success(state)
        given = self.p_star if state.p_star is None else state.p_star
        p_star = namespace(success, given).asarray(given)
        return success * (self.gamma1 * p_star - self.gamma2 * success)

    def check(self) -> None:
        super().check()
        require_number("gamma1", self.gamma1, at_least=0.0)
        require_number("gamma2", self.gamma2, at_least=0.0)
        if isinstance(self.p_star, TopRollouts):
            if self.success.rollout_plan() is None:
                raise ValueError(
                    "p_star=TopRollouts() needs rollouts: take a success estimate that makes them, "
                    f"such as RolloutSuccess, not {type(self.success).__name__}"
                )
            require_number("p_star.fraction", self.p_star.fraction, above=0.0, at_most=1.0)
        elif not isinstance(self.p_star, list | tuple) and np.ndim(self.p_star) == 0:
            require_number("p_star", self.p_star, at_least=0.0, at_most=1.0)
        elif not _are_probabilities(self.p_star):
            raise ValueError(
                "p_star must be a number from 0 to 1, one such number per task, or "
                f"TopRollouts(), got {self.p_star!r}"
            )

    def bind(self, pool: TaskPool) -> Self:
        bound = super().bind(pool)
        if isinstance(self.p_star, TopRollouts) or np.ndim(self.p_star) == 0:
            return bound
        if len(self.p_star) != len(pool):
            raise ValueError(
                f"p_star must hold one number per task, got {len(self.p_star)} for a pool of "
                f"{len(pool)}"
            )
        return replace(bound, p_star=np.asarray(self.p_star, dtype=float))


def _are_probabilities(given: Array) -> bool:
    """Whether `given` is a list of numbers from 0 to 1."""
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and bool(((array >= 0.0) & (array <= 1.0)).all())
