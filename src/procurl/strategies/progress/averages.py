"""Learning progress of single tasks: how far two averages of a task's success are apart."""

from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace

TINY = 1e-30


class FastSlow(NamedTuple):
    """A fast and a slow average of every task's success."""

    fast: Array  # [n] average of the success rate
    slow: Array  # [n] average of the fast average


class Change(NamedTuple):
    """The latest success rate of every task, and how much it changed between visits."""

    latest: Array  # [n]
    change: Array  # [n] average of |latest − the one before|


def no_averages(n: int) -> FastSlow:
    """The averages before the first visit."""
    return FastSlow(np.zeros(n), np.zeros(n))


def no_change(n: int) -> Change:
    """The changes before the first visit."""
    return Change(np.zeros(n), np.zeros(n))


def follow_averages(
    averages: FastSlow, visits: Array, episodes: Array, rate: Array, alpha: Array
) -> FastSlow:
    """The averages after k `episodes` with mean outcome r (`rate`), each with weight α.

    fast ← (1 − α)·fast + α·r and then slow ← (1 − α)·slow + α·fast, k times. In closed form, with
    q = 1 − α:

        fast − r ← q^k · (fast − r)
        slow − r ← q^k · (slow − r + k·α·(fast − r)).

    The first visit sets both averages to r, so that what the agent could do before is not progress.
    With 0 episodes both stay as they are.

    Args:
        averages: so far.
        visits: [n] how often each task was visited before.
        episodes: [n] k, 0 for tasks that were not played.
        rate: [n] r.
        alpha: α.
    """
    xp = namespace(averages.fast, rate, alpha)
    # q^k by exp, which is faster than a power; with α = 1 nothing is kept.
    kept = xp.exp(episodes * xp.log(xp.maximum(1.0 - alpha, TINY)))
    kept = xp.where(visits == 0, 0.0, kept)
    lag = averages.fast - rate
    fast = rate + kept * lag
    slow = rate + kept * (averages.slow - rate + (alpha * episodes) * lag)
    played = episodes > 0
    dtype = averages.fast.dtype
    return FastSlow(
        xp.asarray(xp.where(played, fast, averages.fast), dtype=dtype),
        xp.asarray(xp.where(played, slow, averages.slow), dtype=dtype),
    )


def follow_change(
    change: Change, visits: Array, episodes: Array, rate: Array, alpha: Array
) -> Change:
    """The changes after a visit to the tasks with `episodes`; arguments as in `follow_averages`.

    change ← (1 − α)·change + α·|r − latest|. The second visit sets it, the first has none.
    """
    xp = namespace(change.latest, rate, alpha)
    played = episodes > 0
    new = xp.abs(rate - change.latest)
    averaged = xp.where(visits == 1, new, change.change + alpha * (new - change.change))
    dtype = change.latest.dtype
    return Change(
        xp.where(played, rate, change.latest).astype(dtype),
        xp.where(played & (visits > 0), averaged, change.change).astype(dtype),
    )


def reweight(rates: Array, theta: Array) -> Array:
    """f(p) = (1 − θ)·p / (p + θ·(1 − 2p)), which stretches small rates; θ = 0.5 changes nothing."""
    return (1.0 - theta) * rates / (rates + theta * (1.0 - 2.0 * rates))
