"""Success rates of the tasks just played, and the range of outcomes that they are measured on."""

from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace


class OutcomeRange(NamedTuple):
    """The range of outcomes that rates are measured on. It may widen during training."""

    low: Array  # []  the outcome that counts as a loss
    high: Array  # []  the outcome that counts as a win


def unit_range() -> OutcomeRange:
    """The range before any evidence: outcomes from 0 to 1."""
    return OutcomeRange(np.zeros(()), np.ones(()))


def range_of(evidence: Evidence, previous: OutcomeRange) -> OutcomeRange:
    """The range that the wins and losses of `evidence` are measured on."""
    if evidence.scale is None:
        return previous
    xp = namespace(previous.low, evidence.scale.low)
    dtype = previous.low.dtype
    return OutcomeRange(
        xp.asarray(evidence.scale.low, dtype=dtype), xp.asarray(evidence.scale.high, dtype=dtype)
    )


def rescale_rates(rates: Array, old: OutcomeRange, new: OutcomeRange) -> Array:
    """`rates` measured on `old`, as rates on `new`; a wider range must not look like progress."""
    xp = namespace(rates, old.low, new.low)
    span = xp.where(new.high > new.low, new.high - new.low, 1.0)
    with np.errstate(over="ignore"):  # a range of almost nothing
        moved = xp.clip((old.low + rates * (old.high - old.low) - new.low) / span, 0.0, 1.0)
    same = (old.low == new.low) & (old.high == new.high)
    return xp.where(same, rates, moved).astype(rates.dtype)


def rescale_changes(changes: Array, old: OutcomeRange, new: OutcomeRange) -> Array:
    """Differences of rates measured on `old`, as differences on `new`."""
    xp = namespace(changes, old.low, new.low)
    span = xp.where(new.high > new.low, new.high - new.low, 1.0)
    with np.errstate(over="ignore"):  # the quotient may, so the product comes first: 0 · ∞ is NaN
        return xp.clip(changes * (old.high - old.low) / span, 0.0, 1.0).astype(changes.dtype)


def rates_of(evidence: Evidence, dtype: object) -> tuple[Array, Array]:
    """[n] (episodes, success rate) of every task since the previous evidence.

    A task that was not played, or whose counts are not finite, has 0 episodes and rate 0.
    """
    wins: Array = evidence.wins
    losses: Array = evidence.losses
    xp = namespace(wins, losses)
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        total = wins + losses
    played = xp.isfinite(total) & (total > 0)
    episodes = xp.where(played, total, 0.0)
    rate = xp.where(played, wins, 0.0) / xp.where(played, total, 1.0)
    return xp.asarray(episodes, dtype=dtype), xp.asarray(rate, dtype=dtype)
