"""Recent wins and losses of every task, which fade as the agent plays on."""

from typing import NamedTuple

import numpy as np

from procurl.evidence import Scale
from procurl.internals.arrays import Array, namespace, pool_array, power
from procurl.success.played import Played

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
    kept = pool_array(n) if partial else None
    return OutcomeCounts(pool_array(n), pool_array(n), np.zeros(()), np.ones(()), kept)


class Fading(NamedTuple):
    """The factors by which older outcomes fade."""

    of_all: Array  # []  those of every task
    per_episode: Array | None = None  # []  those of a task, for each new episode on it; None: 1


def fading(n: int, played: Played, decay: Array) -> Fading:
    """How older outcomes fade on a pool of n tasks of which some were `played`.

    Those of all tasks fade by `decay` per pass over the pool, by the share of its tasks that were
    played, and those of a task that was played fade as new ones replace them.
    """
    xp = namespace(played.episodes, decay)
    share = xp.sum((played.episodes > 0.0).astype(played.episodes.dtype)) / n
    return Fading(decay**share, 1.0 - 1.0 / VISITS)


def fast_fading(played: Played) -> Fading:
    """`RECENT` episodes fade while new ones are `played`."""
    return Fading((1.0 - 1.0 / RECENT) ** namespace(played.episodes).sum(played.episodes))


def add_outcomes(
    counts: OutcomeCounts, played: Played, faded: Fading, scale: Scale | None
) -> OutcomeCounts:
    """The counts after the episodes of `played`; older ones fade.

    If the range of returns, `scale`, has changed since, older episodes are measured anew.
    """
    counts = _rescale(counts, scale)
    factor = faded.of_all
    if faded.per_episode is not None:
        factor = factor * power(faded.per_episode, played.episodes)

    def add(count: Array, new: Array) -> Array:
        there = (count[played.tasks] * factor + new).astype(count.dtype, copy=False)
        if played.tasks is ...:
            return there
        whole = count * count.dtype.type(faded.of_all)
        whole[played.tasks] = there
        return whole

    xp, partial = namespace(counts.wins, played.wins), counts.partial
    if partial is not None and (xp is not np or played.partial.any() or partial.any()):
        partial = add(partial, xp.minimum(played.partial, _whole(played.wins, played.losses)))
    return counts._replace(
        wins=add(counts.wins, played.wins),
        losses=add(counts.losses, played.losses),
        partial=partial,
    )


def _rescale(counts: OutcomeCounts, scale: Scale | None) -> OutcomeCounts:
    """The counts on the range of `scale`, with as many episodes as before.

    A task with S wins and F losses on [l, h] has a total return of S·h + F·l.
    """
    if scale is None:
        return counts
    xp = namespace(counts.wins, scale.low)
    dtype = counts.low.dtype
    low = xp.asarray(scale.low, dtype=dtype)
    high = xp.asarray(scale.high, dtype=dtype)
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
        moved = _partial(wins, played - wins, spread)
        partial = xp.where(same, partial, moved).astype(counts.wins.dtype)
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
