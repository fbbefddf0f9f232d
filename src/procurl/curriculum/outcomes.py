"""Outcomes that were recorded one by one, until they become evidence on the whole pool."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.evidence import Evidence, ReturnRange, Scale, add_returns, no_returns, scale_of
from procurl.evidence.checks import LIMIT
from procurl.internals.arrays import Array, Floats, Ids, NamedArrays, segment_sum
from procurl.internals.state_arrays import restore_arrays, state_arrays
from procurl.strategies.strategy import Strategy

# See `records_per_refresh`.
TASKS_PER_RECORD = 5_000
ROOT_PER_RECORD = 16


class Outcomes(NamedTuple):
    """Outcomes of m entries; an entry may stand for several episodes with the same outcome."""

    tasks: Ids  # [m]
    outcomes: Floats  # [m] success, or a reward on a scale of its own
    episodes: Floats  # [m]


class SeenOutcomes(NamedTuple):
    """What all outcomes so far have shown, and when the strategy was last refreshed."""

    returns: ReturnRange
    within: Array  # []  bool, every outcome so far was from 0 to 1
    records: Array  # []  calls since the last refresh
    refreshed_at: Array  # []  step of the last refresh


def records_per_refresh(n: int) -> int:
    """How many records come before a refresh on a pool of `n` tasks: n / 5,000, at most √n / 16.

    A refresh takes time in proportion to the pool. The larger the pool, the less do single
    outcomes change its distribution. Up to 9,999 tasks, every record is followed by a refresh.
    """
    return max(1, min(n // TASKS_PER_RECORD, math.isqrt(n) // ROOT_PER_RECORD))


class OutcomeBuffer:
    """Collects outcomes until the next refresh."""

    def __init__(self) -> None:
        self._pending: list[Outcomes] = []
        nothing = np.zeros(())
        self._seen = SeenOutcomes(no_returns(), np.asarray(True), nothing, nothing)

    def __bool__(self) -> bool:
        """Whether there is something that the strategy has not seen."""
        return bool(self._pending)

    def add(self, new: Outcomes) -> None:
        """Collect outcomes, and widen the range that they are measured on."""
        seen, unknown = self._seen, np.full(len(new.outcomes), np.nan)
        within = np.all((new.outcomes >= 0.0) & (new.outcomes <= 1.0))
        self._seen = seen._replace(
            returns=add_returns(seen.returns, new.outcomes, unknown),
            within=seen.within & within,
            records=seen.records + 1.0,
        )
        self._pending.append(new)

    def is_due(self, strategy: Strategy, n: int, step: float) -> bool:
        """Whether to refresh the strategy now."""
        enough = self._seen.records >= records_per_refresh(n)
        return bool(enough and strategy.due(step, float(self._seen.refreshed_at), 0.0))

    def take(self, strategy: Strategy, n: int, step: float) -> Evidence:
        """The collected outcomes as evidence on n tasks; the buffer is empty afterwards."""
        every = self._joined()
        scale = self._scale()
        wins, losses = strategy.outcomes(every.outcomes, scale)
        counts = {
            "wins": wins,
            "losses": losses,
            "partial": wins * losses,
            "played": np.ones_like(wins),
        }
        fields: dict[str, Any] = {
            name: segment_sum(each * every.episodes, every.tasks, n)
            for name, each in counts.items()
            if name in strategy.uses
        }
        if "scale" in strategy.uses:
            fields["scale"] = scale
        self._pending = []
        self._seen = self._seen._replace(records=np.zeros(()), refreshed_at=np.asarray(step))
        return Evidence(np.float64(step), **fields)

    def _scale(self) -> Scale:
        """The range from loss to win: 0 to 1 unless an outcome was outside, else as of returns.

        A prior is a probability, whatever the scale of the outcomes: it needs no calibration.
        """
        if self._seen.within:
            return Scale(np.zeros(()), np.ones(()), np.asarray(True))
        return scale_of(self._seen.returns, "return")._replace(unit=np.asarray(True))

    def _joined(self) -> Outcomes:
        if not self._pending:
            return Outcomes(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        return Outcomes(*(np.concatenate(parts) for parts in zip(*self._pending, strict=True)))

    def arrays(self) -> NamedArrays:
        """Everything needed to continue identically; nothing before the first record."""
        if not (self._pending or self._seen.returns.count or self._seen.refreshed_at):
            return {}
        joined = {f"pending.{name}": array for name, array in state_arrays(self._joined()).items()}
        return joined | state_arrays(self._seen)

    @classmethod
    def from_arrays(cls, saved: NamedArrays, n: int) -> "OutcomeBuffer":
        """The buffer of `arrays` for a pool of n tasks; raises if it cannot be one."""
        buffer, rest = cls(), dict(saved)
        if not rest:
            return buffer
        pending = [np.asarray(rest.pop(f"pending.{name}")) for name in Outcomes._fields]
        buffer._seen = restore_arrays(buffer._seen, rest)
        tasks, *numbers = pending
        if not _are_outcomes(tasks, numbers, n):
            raise ValueError(f"the saved outcomes do not fit a pool of {n} tasks")
        if len(tasks) or buffer._seen.records:  # a record may have skipped all outcomes
            buffer._pending.append(Outcomes(tasks.astype(np.int64), *numbers))
        return buffer


def _are_outcomes(tasks: NDArray[Any], numbers: list[NDArray[Any]], n: int) -> bool:
    """Whether `tasks` are ids in a pool of n tasks and `numbers` belong to them."""
    if tasks.ndim != 1 or tasks.dtype.kind != "i" or not ((tasks >= 0) & (tasks < n)).all():
        return False
    return all(
        each.shape == tasks.shape and each.dtype == np.float64 and (np.abs(each) <= LIMIT).all()
        for each in numbers
    )
