"""Recent wins and losses of every task, which fade as the agent plays on."""

from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, power
from procurl.success.normalize import keep_finite

DECAY = 0.7  # of wins and losses, per pass over the pool
VISITS = 16.0  # episodes on a task after which those before mostly no longer count
LARGEST_RATIO = 1e15  # of an old range to a new one; its square fits single precision
RECENT = 64.0  # episodes that the critic is calibrated against


class OutcomeCounts(NamedTuple):
    """Faded wins and losses, and the range of outcomes that they are measured on."""

    wins: Array  # [n]
    losses: Array  # [n]
    low: Array  # []  the outcome that counts as a loss
    high: Array  # []  the outcome that counts as a win
    partial: Array | None = None  # [n] faded sum of w·(1 − w), see `Evidence.partial`


def no_counts(n: int, partial: bool = False) -> OutcomeCounts:
    """The counts before the first episode, with or without those of partial wins."""
    kept = np.zeros(n) if partial else None
    return OutcomeCounts(np.zeros(n), np.zeros(n), np.zeros(()), np.ones(()), kept)


def fading(evidence: Evidence, decay: Array) -> Array:
    """[n] the factor by which older episodes fade while those of `evidence` are played.

    Those of all tasks fade by `decay` per pass over the pool, by the share of its tasks that were
    played, and those of a task that was played fade as new ones replace them.
    """
    played = _episodes(evidence)
    xp = namespace(played, decay)
    share = xp.mean((played > 0.0).astype(played.dtype))
    return decay**share * power(1.0 - 1.0 / VISITS, played)


def fast_fading(evidence: Evidence) -> Array:
    """[] the factor by which `RECENT` episodes fade while those of `evidence` are played."""
    played = _episodes(evidence)
    return (1.0 - 1.0 / RECENT) ** namespace(played).sum(played)


def _episodes(evidence: Evidence) -> Array:
    """[n] how many episodes each task was played, 0 where that is not finite."""
    wins: Array = evidence.wins
    played = wins + evidence.losses
    xp = namespace(played)
    return xp.where(xp.isfinite(played), played, 0.0)


def add_outcomes(counts: OutcomeCounts, evidence: Evidence, faded: Array) -> OutcomeCounts:
    """The counts after the episodes of `evidence`; older ones are multiplied by `faded`.

    If the range of returns has changed since, older episodes are measured anew.
    """
    xp = namespace(counts.wins, evidence.wins, faded)
    counts = _rescale(counts, evidence)
    nothing = xp.zeros_like(counts.wins)
    wins, losses = keep_finite(evidence.wins, nothing), keep_finite(evidence.losses, nothing)
    dtype = counts.wins.dtype
    partial = counts.partial
    if partial is not None:
        new = nothing if evidence.partial is None else keep_finite(evidence.partial, nothing)
        new = xp.minimum(new, _whole(wins, losses))
        partial = (partial * faded + new).astype(dtype, copy=False)
    return counts._replace(
        wins=(counts.wins * faded + wins).astype(dtype, copy=False),
        losses=(counts.losses * faded + losses).astype(dtype, copy=False),
        partial=partial,
    )


def _rescale(counts: OutcomeCounts, evidence: Evidence) -> OutcomeCounts:
    """The counts on the range of `evidence.scale`, with as many episodes as before.

    A task with S wins and F losses on [l, h] has a total return of S·h + F·l.
    """
    if evidence.scale is None:
        return counts
    xp = namespace(counts.wins, evidence.scale.low)
    dtype = counts.low.dtype
    low = xp.asarray(evidence.scale.low, dtype=dtype)
    high = xp.asarray(evidence.scale.high, dtype=dtype)
    same = (low == counts.low) & (high == counts.high)
    if xp is np and same:  # nothing to compute on a large pool
        return counts
    played = counts.wins + counts.losses
    total = counts.wins * counts.high + counts.losses * counts.low
    span = xp.where(high > low, high - low, 1.0)
    with np.errstate(over="ignore"):  # a range of almost nothing
        wins = xp.clip((total - low * played) / span, 0.0, played)
    partial = counts.partial
    if partial is not None:
        with np.errstate(over="ignore"):
            ratio = xp.minimum((counts.high - counts.low) / span, LARGEST_RATIO)
        spread = _spread(counts.wins, counts.losses, partial) * ratio**2
        partial = xp.where(same, partial, _partial(wins, played - wins, spread)).astype(dtype)
    return OutcomeCounts(
        wins=xp.where(same, counts.wins, wins).astype(counts.wins.dtype, copy=False),
        losses=xp.where(same, counts.losses, played - wins).astype(counts.wins.dtype, copy=False),
        low=low,
        high=high,
        partial=partial,
    )


def _spread(wins: Array, losses: Array, partial: Array) -> Array:
    """[n] the sum of squared deviations of single outcomes from their mean."""
    return namespace(wins, partial).maximum(_whole(wins, losses) - partial, 0.0)


def _whole(wins: Array, losses: Array) -> Array:
    """[n] the largest that `partial` can be: if all outcomes are equal."""
    played = wins + losses
    return wins * (losses / namespace(played).where(played > 0.0, played, 1.0))


def _partial(wins: Array, losses: Array, spread: Array) -> Array:
    """[n] the inverse of `_spread`."""
    return _spread(wins, losses, spread)
