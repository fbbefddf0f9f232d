"""Recent wins and losses of every task, which fade as the agent plays on."""

from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import BLOCK, Array, by_blocks, namespace, pool_array, power
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
    kept = pool_array(n) if partial else None
    return OutcomeCounts(pool_array(n), pool_array(n), np.zeros(()), np.ones(()), kept)


def fading(played: Array, decay: Array) -> Array:
    """[n] the factor by which older episodes fade while new ones are `played` [n].

    Those of all tasks fade by `decay` per pass over the pool, by the share of its tasks that were
    played, and those of a task that was played fade as new ones replace them.
    """
    xp = namespace(played, decay)
    share = xp.mean((played > 0.0).astype(played.dtype))
    of_all = decay**share
    return by_blocks(lambda own: of_all * power(1.0 - 1.0 / VISITS, own), played)


def fast_fading(played: Array) -> Array:
    """[] the factor by which `RECENT` episodes fade while new ones are `played` [n]."""
    return (1.0 - 1.0 / RECENT) ** namespace(played).sum(played)


def episodes_of(evidence: Evidence) -> Array:
    """[n] how many episodes each task was played, 0 where that is not finite."""

    def episodes(wins: Array, losses: Array) -> Array:
        played = wins + losses
        xp = namespace(played)
        return xp.where(xp.isfinite(played), played, 0.0)

    return by_blocks(episodes, evidence.wins, evidence.losses)


def of_played(wins: Array, losses: Array, *others: Array) -> tuple[Array, ...]:
    """All arrays [n] as they are; on NumPy and a large pool, the entries of the tasks played."""
    arrays = (wins, losses, *others)
    if namespace(*arrays) is not np or wins.shape[0] <= BLOCK:
        return arrays
    played = np.flatnonzero((wins != 0.0) | (losses != 0.0))
    return tuple(array[played] for array in arrays)


def add_outcomes(counts: OutcomeCounts, evidence: Evidence, faded: Array) -> OutcomeCounts:
    """The counts after the episodes of `evidence`; older ones are multiplied by `faded`.

    If the range of returns has changed since, older episodes are measured anew.
    """
    xp = namespace(counts.wins, evidence.wins, faded)
    counts = _rescale(counts, evidence)
    faded = xp.broadcast_to(faded, counts.wins.shape)
    partial = counts.partial
    if partial is not None:
        wins, losses, new = evidence.wins, evidence.losses, evidence.partial
        new = xp.zeros_like(wins) if new is None else new
        if xp is not np or new.any() or partial.any():  # else every outcome was 0 or 1
            partial = by_blocks(_add_partial, partial, new, wins, losses, faded)
    return counts._replace(
        wins=by_blocks(_add, counts.wins, evidence.wins, faded),
        losses=by_blocks(_add, counts.losses, evidence.losses, faded),
        partial=partial,
    )


def _add(count: Array, new: Array, faded: Array) -> Array:
    """[n] the faded `count` and what is `new`, if that is finite."""
    nothing = namespace(count, new).zeros_like(count)
    return (count * faded + keep_finite(new, nothing)).astype(count.dtype, copy=False)


def _add_partial(partial: Array, new: Array, wins: Array, losses: Array, faded: Array) -> Array:
    """[n] likewise for `partial`, of which `wins` and `losses` allow no more than `_whole`."""
    xp = namespace(partial, new, wins)
    nothing = xp.zeros_like(partial)
    most = _whole(keep_finite(wins, nothing), keep_finite(losses, nothing))
    return _add(partial, xp.minimum(keep_finite(new, nothing), most), faded)


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
