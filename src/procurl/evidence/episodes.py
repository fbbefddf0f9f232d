"""Sums over training episodes: how often each task was won, lost and played, and PLR's scores.

An episode may span several rollouts of the engine. Its score is therefore summed step by step, and
carried over in `EpisodeTotals` until the episode ends.
"""

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

import numpy as np

from procurl.evidence.returns import (
    ReturnRange,
    Scale,
    add_returns,
    measured_outcomes,
    no_returns,
    scale_of,
)
from procurl.internals.arrays import Array, namespace, scan, segment_max, segment_sum


class EpisodeTotals(NamedTuple):
    """What the training episodes since the last refresh have shown."""

    wins: Array  # [n]
    losses: Array  # [n]
    played: Array  # [n] episodes that ended
    score: Array  # [n] of the latest episode
    open_score: Array  # [b] sum over the episode that each environment is in
    open_length: Array  # [b] its steps so far
    returns: ReturnRange  # over all episodes of the run
    best: Array | None = None  # [n] best return on the task so far, −∞ before one; None: not needed
    partial: Array | None = None  # [n] sum of wins · losses of each episode; None: not needed


class TrainingSteps(NamedTuple):
    """The training steps of one rollout, in b environments."""

    dones: Array  # [T, b] bool, whether an episode ended
    tasks: Array  # [T, b] int, the task of each step; read only where an episode ended
    scores: Array  # [T, b] what each transition adds to the score of its episode


def no_episodes(n: int, n_envs: int, xp: Any = np, uses: Collection[str] = ()) -> EpisodeTotals:
    """The totals before the first episode.

    Args:
        n: tasks in the pool.
        n_envs: environments.
        xp: array namespace.
        uses: the fields of evidence that the strategy uses; decides what is kept.
    """
    zeros, open_ = xp.zeros(n), xp.zeros(n_envs)
    best = xp.full(n, -xp.inf) if "best_return" in uses else None
    partial = zeros if "partial" in uses else None
    return EpisodeTotals(zeros, zeros, zeros, zeros, open_, open_, no_returns(xp), best, partial)


def without_counts(totals: EpisodeTotals) -> EpisodeTotals:
    """`totals` after a refresh: counts start again; everything else stays."""
    nothing = namespace(totals.wins).zeros_like(totals.wins)
    partial = None if totals.partial is None else nothing
    return totals._replace(wins=nothing, losses=nothing, played=nothing, partial=partial)


def without_open_episodes(totals: EpisodeTotals) -> EpisodeTotals:
    """`totals` if the episodes that had not ended are lost: their scores start again."""
    nothing = namespace(totals.open_score).zeros_like(totals.open_score)
    return totals._replace(open_score=nothing, open_length=nothing)


def forget_tasks(totals: EpisodeTotals, tasks: Array) -> EpisodeTotals:
    """`totals` in which nothing is known of `tasks` [k], whose ids were given to others."""

    def without(counts: Any, nothing: float = 0.0) -> Any:
        if counts is None:
            return None
        counts = np.array(counts)
        counts[tasks] = nothing
        return counts

    return totals._replace(
        wins=without(totals.wins),
        losses=without(totals.losses),
        played=without(totals.played),
        score=without(totals.score),
        best=without(totals.best, -np.inf),
        partial=without(totals.partial),
    )


class OutcomeRule(Protocol):
    """How episodes are judged; every strategy is one."""

    @property
    def uses(self) -> tuple[str, ...]: ...

    @property
    def outcome_measure(self) -> str: ...

    def outcomes(self, measured: Array, scale: Scale) -> tuple[Array, Array]: ...


def note_returns(
    totals: EpisodeTotals,
    rule: OutcomeRule,
    returns: Array,
    success: Array,
    ended: Array | None = None,
) -> EpisodeTotals:
    """Widen the range of returns by m episodes, if `rule` uses it; see `add_returns`."""
    if "scale" not in rule.uses:
        return totals
    return totals._replace(returns=add_returns(totals.returns, returns, success, ended))


def note_best(
    totals: EpisodeTotals, tasks: Array, returns: Array, ended: Array | None = None
) -> EpisodeTotals:
    """Raise the best return of each task to that of m episodes, if best returns are kept.

    Args:
        totals: so far.
        tasks: [m] the task of each episode.
        returns: [m] undiscounted; entries that are not finite are ignored.
        ended: [m] bool, which entries are episodes; None counts all.
    """
    if totals.best is None:
        return totals
    xp = namespace(totals.best, returns)
    known = xp.isfinite(returns) if ended is None else ended & xp.isfinite(returns)
    reached = xp.where(known, returns, -xp.inf).astype(totals.best.dtype)
    best = segment_max(reached, tasks, totals.best.shape[0], lowest=-np.inf)
    return totals._replace(best=xp.maximum(totals.best, best))


def require_success(success: Array, argument: str = "env") -> None:
    """Raise if one of the episodes [m] has not reported whether it was a success."""
    if np.isnan(success).any():
        raise ValueError(
            f"{argument}: info['is_success'] is missing at the end of an episode. The strategy "
            "judges episodes by it (measure='success'): report it, or use measure='return'"
        )


def add_episodes(
    totals: EpisodeTotals,
    rule: OutcomeRule,
    tasks: Array,
    returns: Array,
    success: Array,
    ended: Array | None = None,
) -> EpisodeTotals:
    """Add m training episodes to the range of returns and to the counts.

    Args:
        totals: so far.
        rule: the strategy.
        tasks: [m] the task of each episode.
        returns: [m] undiscounted.
        success: [m] 1 or 0, NaN if the environment does not report it.
        ended: [m] bool, which entries are episodes; None counts all.
    """
    measure = rule.outcome_measure
    if measure == "success" and namespace(success) is np:
        require_success(success if ended is None else success[ended])
    totals = note_returns(totals, rule, returns, success, ended)
    totals = note_best(totals, tasks, returns, ended)
    seen = totals.returns
    measured = measured_outcomes(seen, measure, returns, success)
    return add_counts(totals, tasks, rule.outcomes(measured, scale_of(seen, measure)), ended)


def add_counts(
    totals: EpisodeTotals, tasks: Array, outcomes: tuple[Array, Array], ended: Array | None = None
) -> EpisodeTotals:
    """Add m episodes to the counts of wins, losses and episodes played.

    Args:
        totals: so far.
        tasks: [m] the task of each episode.
        outcomes: ([m] wins, [m] losses), as of `Strategy.outcomes`.
        ended: [m] bool, which entries are episodes; None counts all.
    """
    wins, losses = outcomes
    n = totals.wins.shape[0]
    xp = namespace(totals.wins, wins)

    def total(weights: Array) -> Array:
        counted = weights if ended is None else xp.where(ended, weights, 0.0)
        return segment_sum(counted, tasks, n)

    return totals._replace(
        wins=totals.wins + total(wins),
        losses=totals.losses + total(losses),
        played=totals.played + total(xp.ones_like(wins)),
        partial=None if totals.partial is None else totals.partial + total(wins * losses),
    )


def add_scores(totals: EpisodeTotals, steps: TrainingSteps) -> EpisodeTotals:
    """Replace the score of every task on which an episode ended, and carry the open episodes on.

    The score is the mean over the episode's transitions. Among episodes of one task that ended in
    the same rollout the latest counts, and among those of one step the last environment's.
    """
    xp = namespace(totals.score, steps.scores)

    def step(
        open_: tuple[Array, Array], now: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        score, done = now
        total, length = open_[0] + score, open_[1] + 1.0
        return (xp.where(done, 0.0, total), xp.where(done, 0.0, length)), total / length

    start = (totals.open_score, totals.open_length)
    (open_score, open_length), means = scan(xp, step, start, (steps.scores, steps.dones))
    ended, tasks = steps.dones.reshape(-1), steps.tasks.reshape(-1)
    order = xp.where(ended, xp.arange(1, ended.size + 1), 0)
    latest = segment_max(order, tasks, totals.score.shape[0])
    score = means.reshape(-1)[xp.maximum(latest - 1, 0)]
    return totals._replace(
        score=xp.where(latest > 0, score, totals.score),
        open_score=open_score,
        open_length=open_length,
    )
