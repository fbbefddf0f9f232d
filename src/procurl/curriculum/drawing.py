"""Draw tasks from a distribution, with or without replacement.

Annotations name the generator as text: NumPy loads `numpy.random` only when it is used.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats, Ids

BLOCK = 2**14  # tasks
ROUNDS = 16  # of draws in which repeated tasks are skipped, before all tasks are compared


class Lottery:
    """A distribution over n tasks, ready to draw from.

    The sums up to each task of a large pool take longer than anything else of a draw. For fewer
    tasks than there are blocks, only the sums within the blocks that are drawn are computed. Which
    task is drawn depends on the distribution, the number of tasks and the generator alone, not on
    earlier draws, so that a curriculum that was saved continues alike.

    Args:
        probabilities: [n] that sum to about 1. They must not change afterwards.
    """

    def __init__(self, probabilities: NDArray[np.floating]) -> None:
        self.probabilities = probabilities
        starts = np.arange(0, len(probabilities), BLOCK)
        self._ends = _sums(np.add.reduceat(probabilities, starts, dtype=np.float64))  # of blocks
        self._within: dict[int, Floats] = {}  # sums up to each task of a block
        self._all: Floats | None = None  # sums up to each task

    def draw(self, k: int, rng: "np.random.Generator") -> Ids:
        """[k] task ids, drawn independently of each other."""
        if k >= len(self._ends):
            if self._all is None:
                self._all = _sums(self.probabilities)
            return _find(self._all, rng.random(k) * self._all[-1])
        points = rng.random(k) * self._ends[-1]
        blocks = _find(self._ends, points)
        before = np.where(blocks > 0, self._ends[blocks - 1], 0.0)
        ids = [self._inside(*each) for each in zip(blocks, points - before, strict=True)]
        return np.array(ids, dtype=np.int64)

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

    def _inside(self, block: int, point: float) -> int:
        """The task of a block whose part of it `point` falls on."""
        start = block * BLOCK
        if block not in self._within:
            self._within[block] = _sums(self.probabilities[start : start + BLOCK])
        return start + int(_find(self._within[block], point))


def _sums(parts: NDArray[np.floating]) -> Floats:
    """[m] sums of the parts up to each."""
    sums: Floats = np.cumsum(parts, dtype=np.float64)
    return sums


def _find(sums: Floats, points: Any) -> Ids:
    """The part that each point falls on, never one that is 0.

    Points may lie at the end of the last part or, since sums are rounded, behind it.
    """
    found: Ids = np.searchsorted(sums, np.minimum(points, np.nextafter(sums[-1], 0.0)), "right")
    return found


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
