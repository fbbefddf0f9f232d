"""Samples drawn anew from samples, as counts at ascending levels: what a bootstrap needs.

Counts take the place of the drawn values, so that no draw has to be sorted.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

AT_ONCE = 4_000_000  # numbers that are held in memory


def share_of_wins(mine: Floats, other: Floats) -> Floats:
    """[b] share of all pairs that mine win, ties half, from counts [b, k] at ascending levels."""
    below = np.cumsum(other, axis=1) - 0.5 * other
    pairs = mine.sum(axis=1) * other.sum(axis=1)
    return np.asarray((mine * below).sum(axis=1) / pairs, dtype=np.float64)


def counts_at(sample: Floats, levels: Floats) -> Floats:
    """[1, k] how many values of a sample stand at each level."""
    found = np.bincount(np.searchsorted(levels, sample), minlength=len(levels))
    return found[None].astype(np.float64)


def draw_counts(rng: np.random.Generator, sample: Floats, levels: Floats, count: int) -> Floats:
    """[count, k] the same for samples of equal size that are drawn from this one."""
    n, k = len(sample), len(levels)
    drawn = np.searchsorted(levels, sample)[rng.integers(n, size=(count, n))]
    flat = (drawn + k * np.arange(count)[:, None]).ravel()
    return np.bincount(flat, minlength=count * k).reshape(count, k).astype(np.float64)


def portions(resamples: int, width: int) -> list[int]:
    """The resamples in portions that fit the memory."""
    most = max(1, AT_ONCE // width)
    return [min(most, resamples - done) for done in range(0, resamples, most)]
