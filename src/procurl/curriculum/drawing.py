"""Draw tasks from a distribution, with or without replacement.

Annotations name the generator as text: NumPy loads `numpy.random` only when it is used.
"""

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats, Ids

BLOCK = 2**12  # tasks that are summed up together; those within it only once it is drawn from
ROUNDS = 16  # of draws in which repeated tasks are skipped, before all tasks are compared


class Lottery:
    """A distribution over n tasks, ready to draw from.

    The sums over a large pool take longer than anything else of a draw. Until a task near them is
    drawn, only those of whole blocks are computed.

    Args:
        probabilities: [n] that sum to about 1. They must not change afterwards.
    """

    def __init__(self, probabilities: NDArray[np.floating]) -> None:
        self.probabilities = probabilities
        starts = np.arange(0, len(probabilities), BLOCK)
        blocks = np.add.reduceat(probabilities, starts, dtype=np.float64)
        self._ends: Floats = np.cumsum(blocks)
        self._within: dict[int, Floats] = {}  # by block, the sums up to each of its tasks

    def draw(self, k: int, rng: "np.random.Generator") -> Ids:
        """[k] task ids, drawn independently of each other."""
        total = self._ends[-1]
        points = np.minimum(rng.random(k) * total, np.nextafter(total, 0.0))
        blocks = np.searchsorted(self._ends, points, side="right")
        order = np.argsort(blocks, kind="stable")
        ids = np.empty(k, dtype=np.int64)
        for same in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1):
            ids[same] = self._inside(int(blocks[same[0]]), points[same])
        return ids

    def draw_distinct(self, k: int, rng: "np.random.Generator") -> Ids:
        """[k] different task ids in the order drawn: each in proportion to the tasks that are left.

        Independent draws whose repetitions are skipped follow this law, at a cost that does not
        depend on the pool. If a few tasks hold most of the probability, skipping takes long. The
        tasks that are missing then come from one comparison over the pool: the largest log p plus
        Gumbel noise. Tasks of probability 0 come last, evenly.

        Args:
            k: from 1 to n.
            rng: of the draws.
        """
        chosen: dict[int, None] = {}  # a set in order
        for _ in range(ROUNDS):
            chosen |= dict.fromkeys(self.draw(k - len(chosen), rng).tolist())
            if len(chosen) == k:
                return np.fromiter(chosen, dtype=np.int64)
        first = np.fromiter(chosen, dtype=np.int64)
        rest = _largest_first(self.probabilities.astype(float), first, k - len(first), rng)
        return np.concatenate([first, rest])

    def _inside(self, block: int, points: Floats) -> Ids:
        """[m] the tasks of a block that `points` [m] of the whole distribution fall on."""
        start = block * BLOCK
        if block not in self._within:
            own = self.probabilities[start : start + BLOCK]
            self._within[block] = np.cumsum(own, dtype=np.float64)
        sums = self._within[block]
        inside = points - (self._ends[block - 1] if block else 0.0)
        # The sums of blocks are rounded in another order: a point must not fall behind the last
        # task, nor on one of probability 0.
        inside = np.minimum(inside, np.nextafter(sums[-1], 0.0))
        ids: Ids = start + np.searchsorted(sums, inside, side="right")
        return ids


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
