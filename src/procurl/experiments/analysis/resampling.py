"""Bootstrap resamples as counts at ascending levels.

Counts replace the drawn values, so that no resample has to be sorted.
"""

from collections.abc import Sequence

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


def draw_counts_over_pools(
    rng: np.random.Generator, samples: Sequence[Floats], levels: Floats, count: int
) -> Floats:
    """[count, k] the counts of resamples that draw pools, and then runs of each pool drawn.

    Args:
        rng: random numbers.
        samples: the values of each of n pools; a resample has n pools, drawn with replacement.
        levels: [k] ascending.
        count: number of resamples.
    """
    n = len(samples)
    times = rng.multinomial(n, np.full(n, 1 / n), size=count)  # each pool was drawn
    counts = np.zeros((count, len(levels)))
    for sample, drawn in zip(samples, times.T, strict=True):
        # A pool that is drawn twice has its runs drawn twice as often.
        runs = rng.multinomial(drawn * len(sample), np.full(len(sample), 1 / len(sample)))
        np.add.at(counts.T, np.searchsorted(levels, sample), runs.T)
    return counts


def draw_chances_over_pools(
    rng: np.random.Generator, pairs: Sequence[tuple[Floats, Floats]], count: int
) -> Floats:
    """[count] mean over pools of the share of pairs that the first side wins, in resamples.

    Args:
        rng: random numbers.
        pairs: the values of both sides on each of n pools; a resample has n pools, drawn with
            replacement, and runs of both sides on each.
        count: number of resamples.
    """
    n = len(pairs)
    times = rng.multinomial(n, np.full(n, 1 / n), size=count)
    total = np.zeros(count)
    for (mine, other), drawn in zip(pairs, times.T, strict=True):
        levels = np.unique(np.concatenate([mine, other]))
        resample = np.repeat(np.arange(count), drawn)
        found = [
            share_of_wins(
                draw_counts(rng, mine, levels, size), draw_counts(rng, other, levels, size)
            )
            for size in portions(len(resample), len(levels))
        ]
        total += np.bincount(resample, np.concatenate([*found, np.zeros(0)]), minlength=count)
    return total / n


def portions(resamples: int, width: int) -> list[int]:
    """The number of resamples in portions that fit into memory."""
    most = max(1, AT_ONCE // width)
    return [min(most, resamples - done) for done in range(0, resamples, most)]
