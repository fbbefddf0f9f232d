"""What was seen of returns: the range that counts an episode as won, lost or in between."""

from typing import Any, NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace, segment_max

WINDOW = 512  # episodes whose returns give the quantiles
TAIL = 0.02  # share of the window beyond either end of the range: outliers
MEMORY = 20_000.0  # episodes after which a range that is no longer seen has mostly been forgotten


class Scale(NamedTuple):
    """How outcomes are measured, and whether the critic's values are probabilities already."""

    low: Array  # []  the outcome that counts as a loss
    high: Array  # []  the outcome that counts as a win
    unit: Array  # []  bool, the critic's values need no calibration: all returns were 0 or 1


class ReturnRange(NamedTuple):
    """The returns of the latest episodes, and the range over all of them."""

    latest: Array  # [WINDOW] a ring buffer
    count: Array  # []  episodes so far
    low: Array  # []  robust minimum of the returns so far
    high: Array  # []  robust maximum of the returns so far
    unit: Array  # []  bool, every return so far was 0 or 1
    reported: Array  # []  bool, every episode so far has reported whether it was a success


def no_returns(xp: Any = np) -> ReturnRange:
    """The range before the first episode."""
    nothing = xp.zeros(())
    yes = xp.asarray(True)
    return ReturnRange(xp.zeros(WINDOW), nothing, nothing, nothing, yes, yes)


def add_returns(
    seen: ReturnRange, returns: Array, success: Array, ended: Array | None = None
) -> ReturnRange:
    """Add m episodes in the order in which they ended.

    The range reaches from the 2% quantile of the latest episodes to the 98% quantile, and from the
    lowest of the former to the highest of the latter so far, which are forgotten slowly: what the
    agent could not do at first still counts as a loss later, and single outliers do not count.

    Args:
        seen: so far.
        returns: [m] undiscounted.
        success: [m] 1 or 0, NaN if the environment does not report it.
        ended: [m] bool, which entries are episodes; None counts all.
    """
    xp = namespace(seen.latest, returns)
    if returns.shape[0] == 0:
        return seen
    known = xp.isfinite(returns) if ended is None else ended & xp.isfinite(returns)
    unit = xp.all(~known | (returns == 0.0) | (returns == 1.0))
    reported = xp.all(~known | xp.isfinite(success))
    added = xp.sum(known)
    if xp is np and ended is None and added > WINDOW:  # from all of them, not only the last
        evenly = np.linspace(0, added - 1, WINDOW).round().astype(np.int32)
        returns, known = returns[known][evenly], np.ones(WINDOW, dtype=bool)
    widened = _add_to_window(seen, returns, known, added)
    return widened._replace(unit=seen.unit & unit, reported=seen.reported & reported)


def _add_to_window(seen: ReturnRange, returns: Array, ended: Array, added: Array) -> ReturnRange:
    """Put the returns of episodes that `ended` into the window and widen the range.

    `added` is the number of new episodes, of which these may be a part.
    """
    xp = namespace(seen.latest, returns)
    returns = returns.astype(seen.latest.dtype)
    order = xp.cumsum(ended.astype("int32"))  # 1, 2, … at the episodes
    place = (seen.count.astype("int32") + order - 1) % WINDOW
    # The last of the new episodes at each place, as a position among the entries.
    newest = segment_max(xp.where(ended, xp.arange(1, returns.shape[0] + 1), 0), place, WINDOW)
    latest = xp.where(newest > 0, returns[xp.maximum(newest - 1, 0)], seen.latest)
    count = seen.count + added
    low, high = _quantiles(latest, xp.minimum(count, WINDOW))
    fresh = xp.minimum(added / MEMORY, 1.0)  # share of the memory that is replaced
    some = added > 0
    first = seen.count == 0
    widest_low = xp.where(first, low, xp.minimum(low, seen.low + fresh * (low - seen.low)))
    widest_high = xp.where(first, high, xp.maximum(high, seen.high + fresh * (high - seen.high)))
    return seen._replace(
        latest=latest,
        count=count,
        low=xp.where(some, widest_low, seen.low),
        high=xp.where(some, widest_high, seen.high),
    )


def _quantiles(latest: Array, count: Array) -> tuple[Array, Array]:
    """The lower and the upper quantile of the first `count` entries."""
    xp = namespace(latest)
    ordered = xp.sort(xp.where(xp.arange(WINDOW) < count, latest, xp.inf))
    skipped = xp.floor(TAIL * count).astype("int32")
    last = xp.maximum(count.astype("int32") - 1, 0)
    low = xp.take(ordered, xp.minimum(skipped, last))
    return low, xp.take(ordered, xp.maximum(last - skipped, 0))


def measured_outcomes(seen: ReturnRange, measure: str, returns: Array, success: Array) -> Array:
    """[m] what each episode is judged by: its return or its success, 1 or 0.

    Args:
        seen: of the episodes so far, these included.
        measure: `return`, `success`, or `auto` for success if every episode has reported it.
        returns: [m] undiscounted.
        success: [m] 1 or 0, NaN if the environment does not report it.
    """
    if measure == "return":
        return returns
    if measure == "success":
        return success
    return namespace(returns, success).where(seen.reported, success, returns)


def scale_of(seen: ReturnRange, measure: str) -> Scale:
    """The scale of what `measured_outcomes` returns."""
    xp = namespace(seen.low)
    zero_one = seen.unit
    if measure == "success":
        zero_one = xp.asarray(True)
    elif measure == "auto":
        zero_one = seen.unit | seen.reported
    low, high = xp.where(zero_one, 0.0, seen.low), xp.where(zero_one, 1.0, seen.high)
    return Scale(low, high, seen.unit)
