"""PLR: replay the tasks whose latest episode scored highest, and those not played for long."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, ranks
from procurl.internals.checks import (
    require_choice,
    require_flag,
    require_interval,
    require_number,
)
from procurl.strategies.strategy import Strategy
from procurl.success import keep_finite

SCORES = ("value_l1", "gae", "positive_value_loss", "maxmc")


class PLRState(NamedTuple):
    """State of `PLR`."""

    score: Array  # [n] score of the task's latest episode
    seen: Array  # [n] bool, whether the task was ever played
    age: Array  # [n] episodes since the task was last played


@dataclass(frozen=True)
class PLR(Strategy):
    """Prioritized level replay (Jiang et al. 2021) on a fixed pool.

    A seen task is replayed with probability |seen|/n, else an unseen one is played, uniformly:

        P_replay = (1 − ρ)·P_S + ρ·P_C,   P_S ∝ (1/rank)^(1/β),   P_C ∝ episodes since last played,

    where rank 1 is the highest score, the earlier task first among equals. If every seen task was
    played since the last update, P_C is uniform over them.

    Args:
        rho: ρ, the share of replay that follows staleness.
        beta: β_PLR, how flat the preference for high scores is.
        score: what is averaged over an episode's transitions: `value_l1` |A|, `gae` A,
            `positive_value_loss` max(A, 0), or `maxmc` R_max − V, with A the GAE advantage, V the
            critic's value and R_max the best return on the task so far.
        robust: whether the agent learns from replayed tasks only (Jiang et al. 2021b).
        refresh_every: training steps between updates; None: after every policy update.
    """

    rho: float = 0.5
    beta: float = 0.1
    score: str = "value_l1"
    robust: bool = False
    refresh_every: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        by_return = ("best_return",) if self.score == "maxmc" else ()
        return ("score", "played", *by_return)

    def transition_score(self, advantages: Array, values: Array | None = None) -> Array:
        """As in `Strategy`; for `maxmc` −V, to whose mean `update` adds the best return."""
        xp = namespace(advantages)
        if self.score == "maxmc":
            if values is None:
                raise ValueError(
                    "values must hold the critic's value of every step, got None: PLR with "
                    "score='maxmc' compares them with the best return on the task"
                )
            return -values
        if self.score == "value_l1":
            return xp.abs(advantages)
        return advantages if self.score == "gae" else xp.maximum(advantages, 0.0)

    def init(self, n: int) -> PLRState:
        return PLRState(score=np.zeros(n), seen=np.zeros(n, dtype=bool), age=np.zeros(n))

    def update(self, state: PLRState, evidence: Evidence) -> PLRState:
        xp = namespace(evidence.played, state.score)
        episodes = keep_finite(evidence.played, xp.zeros_like(state.age))
        played = episodes > 0
        latest: Array = evidence.score
        if self.score == "maxmc":
            with np.errstate(invalid="ignore"):  # entries that are not finite are ignored
                latest = latest + evidence.best_return
        score = xp.where(played, keep_finite(latest, state.score), state.score)
        age = xp.where(played, 0.0, state.age + xp.sum(episodes))
        return PLRState(score, state.seen | played, age.astype(state.age.dtype))

    def probabilities(self, state: PLRState) -> Array:
        xp = namespace(state.score, self.rho, self.beta)
        n = state.score.shape[0]
        seen = state.seen.astype(state.score.dtype)
        count = xp.sum(seen)
        rank = ranks(state.score, state.seen)
        by_score = seen * xp.exp(-xp.log(rank) / self.beta)
        age = seen * state.age
        by_age = xp.where(xp.sum(age) > 0, age, seen)
        replay = (1.0 - self.rho) * _share(by_score) + self.rho * _share(by_age)
        return (count / n) * replay + (1.0 - seen) / n

    def learning_mask(self, state: PLRState) -> Array | None:
        return state.seen if self.robust else None

    def check(self) -> None:
        require_number("rho", self.rho, at_least=0.0, at_most=1.0)
        require_number("beta", self.beta, above=0.0)
        require_choice("score", self.score, SCORES)
        require_flag("robust", self.robust)
        require_interval(self.refresh_every)


def _share(weights: Array) -> Array:
    """`weights` scaled to sum to 1; all zero if they are all zero."""
    xp = namespace(weights)
    total = xp.sum(weights)
    return weights / xp.where(total > 0, total, 1.0)
