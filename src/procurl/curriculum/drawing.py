"""Draw tasks from a distribution, with or without replacement.

Annotations name the generator as text: NumPy loads `numpy.random` only when it is used.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats, Ids

ROUNDS = 16  # of draws in which repeated tasks are skipped, before all tasks are compared


def cumulative_of(probabilities: NDArray[np.floating]) -> Floats:
    """[n] sums of the probabilities up to each task; the last is 1 but for rounding."""
    cumulative: Floats = np.cumsum(probabilities, dtype=np.float64)
    return cumulative


def draw(cumulative: Floats, k: int, rng: "np.random.Generator") -> Ids:
    """[k] task ids, drawn independently of each other."""
    total = cumulative[-1]
    points = np.minimum(rng.random(k) * total, np.nextafter(total, 0.0))
    ids: Ids = np.searchsorted(cumulative, points, side="right")
    return ids


def draw_distinct(
    cumulative: Floats,
    k: int,
    rng: "np.random.Generator",
    probabilities: Callable[[], Floats],
) -> Ids:
    """[k] different task ids in the order drawn: each in proportion to the tasks that are left.

    Independent draws whose repetitions are skipped follow this law, at a cost that does not depend
    on the pool. If a few tasks hold most of the probability, skipping takes long. The tasks that
    are missing then come from one comparison over the pool: the largest log p plus Gumbel noise.
    Tasks of probability 0 come last, evenly.

    Args:
        cumulative: [n] from `cumulative_of`.
        k: from 1 to n.
        rng: of the draws.
        probabilities: [n] computes them, if they are needed.
    """
    chosen: dict[int, None] = {}  # a set in order
    for _ in range(ROUNDS):
        chosen |= dict.fromkeys(draw(cumulative, k - len(chosen), rng).tolist())
        if len(chosen) == k:
            return np.fromiter(chosen, dtype=np.int64)
    first = np.fromiter(chosen, dtype=np.int64)
    rest = _largest_first(probabilities(), first, k - len(first), rng)
    return np.concatenate([first, rest])


def _largest_first(
    probabilities: Floats, without: Ids, count: int, rng: "np.random.Generator"
) -> Ids:
    """[count] different task ids, none of them in `without`, by the Gumbel top-k rule."""
    noise = rng.gumbel(size=len(probabilities))
    left = np.ones(len(probabilities), dtype=bool)
    left[without] = False
    some = np.flatnonzero(left & (probabilities > 0.0))
    keys = np.log(probabilities[some]) + noise[some]
    if count < len(some):
        top = np.argpartition(-keys, count)[:count]
        some, keys = some[top], keys[top]
    some = some[np.argsort(-keys, kind="stable")]
    impossible = np.flatnonzero(left & (probabilities <= 0.0))
    impossible = impossible[np.argsort(-noise[impossible], kind="stable")]
    return np.concatenate([some, impossible])[:count]
