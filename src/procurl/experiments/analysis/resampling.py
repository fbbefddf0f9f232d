"""Bootstrap resamples as counts at ascending levels.

Counts replace the drawn values, so that no resample has to be sorted.
"""

import numpy as np

from procurl.internals.arrays import Floats

AT_ONCE = 4_000_000  # numbers held in memory


def share_of_wins(mine: Floats, other: Floats) -> Floats:
    """[b] share of pairs that `mine` wins, ties counting half, from counts [b, k] at each level."""
    below = np.cumsum(other, axis=1) - 0.5 * other
    pairs = mine.sum(axis=1) * other.sum(axis=1)
    return np.asarray((mine * below).sum(axis=1) / pairs, dtype=np.float64)


def counts_at(sample: Floats, levels: Floats) -> Floats:
    """[1, k] number of sample values at each level."""
    found = np.bincount(np.searchsorted(levels, sample), minlength=len(levels))
    return found[None].astype(np.float64)


def draw_counts(rng: np.random.Generator, sample: Floats, levels: Floats, count: int) -> Floats:
    """[count, k] the counts of resamples of equal size, drawn with replacement."""
    n, k = len(sample), len(levels)
    drawn = np.searchsorted(levels, sample)[rng.integers(n, size=(count, n))]
    flat = (drawn + k * np.arange(count)[:, None]).ravel()
    return np.bincount(flat, minlength=count * k).reshape(count, k).astype(np.float64)


def portions(resamples: int, width: int) -> list[int]:
    """The number of resamples in portions that fit into memory."""
    most = max(1, AT_ONCE // width)
    return [min(most, resamples - done) for done in range(0, resamples, most)]
