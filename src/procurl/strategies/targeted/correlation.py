"""A potential for targets: tasks that can be learned, near targets that can be learned."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_flag, require_integer, require_number
from procurl.strategies.potentials import Potential
from procurl.success import Success
from procurl.tasks.pool import TaskPool
from procurl.tasks.targets import target_ids

BLOCK = 2**15  # distances at a time on NumPy, few enough to stay in the cache
FARTHEST = 1e18  # that a context may be from 0: squares of distances fit single precision
HIGHEST = 1.0 / 16.0  # largest potential that is possible: PoS · (1 − PoS) is at most 1/4


class Places(NamedTuple):
    """Where the tasks of a pool are, and which are targets."""

    contexts: Array  # [n, d] float32, relative to their mean
    targets: Array  # [m] int32, ids


@dataclass(frozen=True)
class Correlation(Potential):
    """u(s) · max over targets c of u(c) · exp(−‖s − c‖ / h), with u = PoS · (1 − PoS).

    Args:
        bandwidth: h, the distance between contexts over which success carries over.
        relative: whether to divide by the largest potential of the pool and multiply by 1/16, the
            largest possible. Then only ratios count; while u is 0 on all targets, all of them
            count alike.
        targets: the feature that marks the targets.
        samples: largest number of targets to compare with.
        places: of the pool, None before `settings_for`.
    """

    bandwidth: float
    relative: bool
    targets: str
    samples: int
    places: Places | None = None

    def init(self, n: int) -> None:
        self._known()

    def __call__(self, probability: Array, state: None) -> Array:
        places = self._known()
        xp = namespace(probability, places.contexts)
        room = probability * (1.0 - probability)
        of_targets = room[places.targets]
        if not self.relative:
            return room * self._nearest(of_targets)
        of_targets = xp.where(xp.max(of_targets) > 0.0, of_targets, 1.0)
        worth = room * self._nearest(of_targets)
        highest = xp.max(worth)
        return worth * (HIGHEST / xp.where(highest > 0.0, highest, 1.0))

    def _nearest(self, weights: Array) -> Array:
        """[n] the largest of weight(c) · exp(−‖s − c‖ / h) over the targets.

        Args:
            weights: [m] of the targets.
        """
        places = self._known()
        xp = namespace(weights, places.contexts)
        single = weights.astype(np.float32)
        some = single > 0.0
        logs = xp.where(some, xp.log(xp.where(some, single, 1.0)), -xp.inf)
        centers = places.contexts[places.targets].T  # [d, m]
        if xp is np:
            best = self._nearest_by_blocks(places.contexts, centers, logs)
        else:
            best = _largest(xp, places.contexts, centers, logs, self.bandwidth)
        return xp.exp(best.astype(weights.dtype))

    def _nearest_by_blocks(self, contexts: Array, centers: Array, logs: Array) -> Array:
        """[n] as `_largest`, without arrays of n · m numbers."""
        size = max(1, BLOCK // len(logs))
        return np.concatenate(
            [
                _largest(np, contexts[start : start + size], centers, logs, self.bandwidth)
                for start in range(0, len(contexts), size)
            ]
        )

    def _known(self) -> Places:
        if self.places is None:
            raise ValueError(
                "targets are tasks of a pool: call strategy.bind(pool) first, as Curriculum and "
                "the engines do"
            )
        return self.places

    def check(self, success: Success) -> None:
        require_number("bandwidth", self.bandwidth, above=0.0)
        require_flag("relative", self.relative)
        require_integer("samples", self.samples, at_least=1)

    def settings_for(self, pool: TaskPool) -> dict[str, Any]:
        if pool.contexts is None:
            raise ValueError(
                "procurl-target needs a pool with contexts, numbers that say how tasks differ; "
                f"this pool of {len(pool)} tasks has none. Pass TaskPool an array with a row per "
                "task, or a CSV file with a column per number, or use target, which needs none"
            )
        marked = target_ids(pool, self.targets)
        if len(marked) > self.samples:  # spread evenly over all of them
            marked = marked[np.arange(self.samples) * len(marked) // self.samples]
        _require_measurable(pool.names, pool.contexts)
        contexts = (pool.contexts - pool.contexts.mean(axis=0)).astype(np.float32)
        return {"places": Places(contexts, marked.astype(np.int32))}


def _require_measurable(names: tuple[str, ...], contexts: Array) -> None:
    """Raise unless the squares of distances between `contexts` [n, d] fit single precision."""
    for name, column in zip(names, contexts.T, strict=True):
        farthest = np.abs(column).max()
        if farthest > FARTHEST:
            raise ValueError(
                f"procurl-target needs contexts of at most {FARTHEST:g} in size, because it "
                f"measures the distances between them, got {farthest:g} in {name!r}: use another "
                "unit for this column"
            )


def _largest(xp: Any, contexts: Array, centers: Array, logs: Array, bandwidth: Array) -> Array:
    """[b] the largest of log weight(c) − ‖s − c‖ / h over m targets.

    Args:
        xp: the array namespace.
        contexts: [b, d].
        centers: [d, m] contexts of the targets.
        logs: [m] logarithms of their weights.
        bandwidth: h.
    """
    columns = zip(contexts.T, centers, strict=True)
    squares = sum((column[:, None] - center) ** 2 for column, center in columns)
    return xp.max(logs - xp.sqrt(squares) * (1.0 / bandwidth), axis=1)
