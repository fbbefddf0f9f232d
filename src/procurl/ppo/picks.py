"""The tasks that were played, in the order in which their episodes ended.

They are logged on the device, so that training never waits, and fetched at evaluations and
checkpoints.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from procurl.internals.arrays import Array, Ids

MIN_FETCH_COLUMNS = 4096  # columns, so that only a few sizes are compiled


class PickBuffer(NamedTuple):
    """The log on the device."""

    tasks: Array  # [w, c] int32
    count: Array  # [w] int32, number of valid entries


class PickLog:
    """The picks of w runs since the last call of `take`.

    Args:
        runs: w.
        steps: training steps per update, an upper limit of the episodes that end in one.
        updates: number of updates that fit on the device; it is emptied when full.
    """

    def __init__(self, runs: int, steps: int, updates: int) -> None:
        self._updates = updates
        self._since_fetched = 0
        self._buffer = PickBuffer(
            jnp.zeros((runs, steps * updates), dtype=jnp.int32), jnp.zeros(runs, dtype=jnp.int32)
        )
        self._fetched: list[Ids] = [np.zeros(0, dtype=np.int64)] * runs

    def note(self, dones: Array, tasks: Array, alive: Array) -> None:
        """Add the episodes that ended in one update.

        Args:
            dones: [w, T, b] bool.
            tasks: [w, T, b] int32.
            alive: [w] bool; the picks of other runs are ignored.
        """
        if self._since_fetched == self._updates:
            self._fetch()
        self._buffer = _note(self._buffer, dones, tasks, alive)
        self._since_fetched += 1

    def peek(self) -> list[Ids]:
        """[w] the picks of each run so far; they stay in the log."""
        self._fetch()
        return self._fetched

    def take(self) -> list[Ids]:
        """[w] the picks of each run so far; they are removed from the log."""
        held = self.peek()
        self._fetched = [ids[:0] for ids in held]
        return held

    def put_back(self, picks: Sequence[Ids]) -> None:
        """Restore `picks`, as returned by `peek`."""
        self._buffer = self._buffer._replace(count=jnp.zeros_like(self._buffer.count))
        self._since_fetched = 0
        self._fetched = [np.asarray(ids, dtype=np.int64) for ids in picks]

    def _fetch(self) -> None:
        if self._since_fetched == 0:
            return
        counts = np.asarray(self._buffer.count)
        columns = max(MIN_FETCH_COLUMNS, 1 << int(counts.max(initial=1)).bit_length())
        tasks = np.asarray(self._buffer.tasks[:, :columns])
        new = [row[:count].astype(np.int64) for row, count in zip(tasks, counts, strict=True)]
        both = zip(self._fetched, new, strict=True)
        self.put_back([np.concatenate(pair) for pair in both])


@partial(jax.jit, donate_argnames="buffer")
def _note(buffer: PickBuffer, dones: Array, tasks: Array, alive: Array) -> PickBuffer:
    def one(held: Array, count: Array, dones: Array, tasks: Array, alive: Array) -> Any:
        ended = dones.reshape(-1) & alive
        place = jnp.where(ended, count + jnp.cumsum(ended) - 1, held.size)  # past the end: dropped
        after = held.at[place].set(tasks.reshape(-1), mode="drop")
        return after, count + jnp.sum(ended, dtype=jnp.int32)

    return PickBuffer(*jax.vmap(one)(*buffer, dones, tasks, alive))
