"""An evaluation as it stands in the columns of a store."""

from typing import Any

import numpy as np

from procurl.records.packing import pack_array, unpack_array
from procurl.records.results import Measured, Snapshot

NO_PICKS = np.zeros(0, dtype=np.int64)


def evaluation_columns(m: Measured) -> tuple[int | float | None, ...]:
    """The columns of `evaluations` behind the run."""
    whole = (int(m.step), int(m.train_steps), int(m.env_steps))
    numbers = (m.performance, m.test_performance, m.seconds, m.entropy, m.mean_success)
    return (*whole, *(None if number is None else float(number) for number in numbers))


def detail_columns(m: Measured) -> tuple[bytes | None, ...]:
    """Picks and snapshot as they stand in the columns of `details`."""
    picks = pack_array(np.asarray(m.picks))
    if m.snapshot is None:
        return picks, None, None, None, None
    shown = m.snapshot
    tasks = pack_array(np.diff(shown.tasks, prepend=0))  # rising ids are told in few bytes
    success = None if shown.success is None else pack_array(np.asarray(shown.success))
    return picks, tasks, pack_array(shown.probabilities), success, pack_array(shown.achieved)


def with_detail(m: Measured, columns: tuple[bytes | None, ...]) -> Measured:
    picks, tasks, probabilities, success, achieved = (
        None if column is None else unpack_array(column) for column in columns
    )
    snapshot = None
    if tasks is not None and probabilities is not None and achieved is not None:
        snapshot = Snapshot(np.cumsum(tasks), probabilities, success, achieved)
    return m._replace(picks=NO_PICKS if picks is None else picks, snapshot=snapshot)


def measured_of(row: tuple[Any, ...]) -> Measured:
    """An evaluation from its columns; NaN stands there as a word."""
    step, train_steps, env_steps, *numbers = row
    performance, test, seconds, entropy, success = (
        None if number is None else float(number) for number in numbers
    )
    return Measured(
        step,
        train_steps,
        env_steps,
        performance,  # type: ignore[arg-type]
        test,
        seconds,  # type: ignore[arg-type]
        entropy,  # type: ignore[arg-type]
        success,
        NO_PICKS,
        None,
    )
