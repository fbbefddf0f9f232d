"""How alike the episodes on one task are, seen in groups of them."""

from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace
from procurl.success.played import Played

WINDOW = 256.0  # groups that count
CAUTION = 1.0  # weight of the first guess, one half: as much variance as four even groups have
SMALLEST, LARGEST = 0.05, 0.95  # of the share of the variance that is within groups
NEW = 1.0  # episodes that may be known of a task whose group counts


class GroupVariance(NamedTuple):
    """The variance of outcomes in groups on tasks that were new, over the latest groups."""

    within: Array  # []  Σ of the variance within each group
    total: Array  # []  Σ of the mean squared distance from the rate that was expected


def no_groups() -> GroupVariance:
    """Before the first group."""
    return GroupVariance(np.zeros(()), np.zeros(()))


def add_groups(
    variance: GroupVariance, expected: Array, known: Array, played: Played
) -> GroupVariance:
    """The variance after new episodes; two or more on a task are a group.

    Args:
        variance: of the groups before.
        expected: [m] the rate of wins of each task, by what was known without its own episodes.
        known: [m] episodes that were known of it.
        played: the new episodes on m tasks.
    """
    _, wins, losses, partial = played
    xp = namespace(expected, known, wins)
    counts = (wins + losses >= 2.0) & (known < NEW)
    size = xp.where(counts, wins + losses, 2.0)
    squares = wins - xp.minimum(partial, wins)  # Σ w²
    within = xp.maximum(squares - wins**2 / size, 0.0) / (size - 1.0)
    total = xp.maximum((squares - 2.0 * expected * wins) / size + expected**2, 0.0)
    faded = (1.0 - 1.0 / WINDOW) ** xp.sum(counts)
    dtype = variance.within.dtype

    def after(before: Array, new: Array) -> Array:
        return (before * faded + xp.sum(xp.where(counts, new, 0.0))).astype(dtype)

    return GroupVariance(after(variance.within, within), after(variance.total, total))


def episodes_worth(variance: GroupVariance) -> Array:
    """[] a: how many episodes on a task the rate around it is worth.

    If the rates of single tasks are spread around the expected one by a Beta distribution of
    weight a, the share of the variance that is within groups is a / (a + 1).
    """
    xp = namespace(variance.within)
    share = (variance.within + 0.5 * CAUTION) / (variance.total + CAUTION)
    share = xp.clip(share, SMALLEST, LARGEST)
    return share / (1.0 - share)
