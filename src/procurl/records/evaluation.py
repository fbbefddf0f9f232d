"""One evaluation of one run: the record that engines make, stores keep and reports read.

The fields of `Evaluation` that are annotated with `Scalar` make up the table `SCALARS`. The store's
columns, `procurl export`, compact records, checkpoints and logs all follow that table. To add a
scalar, add a field that may be None, with None as its default, and compute it in the engines.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Ids

NO_PICKS = np.zeros(0, dtype=np.int64)

SNAPSHOT_TASKS = 500  # of a larger pool, snapshots show this many tasks
EVALUATION_SEED, SNAPSHOT_SEED = 0, 1


class Scalar(NamedTuple):
    """Marks a field of `Evaluation` as a number of its own column, and says who shows it."""

    log: str | None = None  # key in TensorBoard and Weights & Biases; None for not logged
    export: bool = False  # whether it is a column of `procurl export`
    decimals: int | None = None  # in `procurl export`; None for all


class Snapshot(NamedTuple):
    """Teacher and student at one evaluation, task by task."""

    tasks: Ids  # [m] ids of the tasks that the fields below are about
    probabilities: NDArray[np.float32]  # [m] of being picked next
    success: NDArray[np.float32] | None  # [m] estimated by the teacher; None if it has no estimate
    returns: NDArray[np.float32]  # [m] mean return of this evaluation's episodes


class Evaluation(NamedTuple):
    """One evaluation of one run."""

    # The nominal training steps: a multiple of the interval, or the last step.
    step: Annotated[int, Scalar(export=True)]
    # Mean return over the pool.
    performance: Annotated[float, Scalar(log="eval/mean_reward", export=True)]
    # Mean return over the test pool; None without one.
    test_performance: Annotated[float | None, Scalar(log="eval/test_mean_reward", export=True)]
    # The training steps taken, a whole number of updates; a run that was stopped takes no more.
    train_steps: Annotated[int, Scalar(export=True)]
    # Environment steps of training and of the teacher.
    env_steps: Annotated[int, Scalar(log="time/total_env_steps", export=True)]
    # Training time so far, without evaluations.
    seconds: Annotated[float, Scalar(log="time/seconds", export=True, decimals=3)]
    # Entropy of the distribution over tasks.
    entropy: Annotated[float, Scalar(log="curriculum/entropy")]
    # Mean over tasks of the teacher's estimate; None if it has no estimate.
    mean_success: Annotated[float | None, Scalar(log="curriculum/estimated_success")]
    # Share of the groups of samples since the previous evaluation whose rewards differed; None
    # unless the student learns from groups.
    signal: Annotated[float | None, Scalar(log="curriculum/signal")] = None
    # [e] tasks of the episodes that ended since the previous evaluation, in order.
    picks: Ids = NO_PICKS
    # None if it was not kept.
    snapshot: Snapshot | None = None

    @property
    def teacher_steps(self) -> int:
        """Environment steps of the teacher."""
        return self.env_steps - self.train_steps


class ScalarField(NamedTuple):
    """A scalar of `Evaluation`, as the tables of all consumers need it."""

    name: str
    type: type[int] | type[float]
    optional: bool
    scalar: Scalar

    def plain(self, value: Any) -> int | float | None:
        """The value as a number of Python; raises ValueError on a fraction of a step."""
        if value is None:
            return None
        number = self.type(value)
        if self.type is int and number != value:
            raise ValueError(f"{self.name} of an evaluation must be an integer, got {value!r}")
        return number

    def read(self, cell: Any) -> int | float | None:
        """The value of a cell, which is a number or text; an empty one is None or NaN."""
        if cell is None or cell == "":
            return None if self.optional else math.nan
        return self.type(cell)


def scalar_fields(record: type) -> tuple[ScalarField, ...]:
    """The fields of a record that are annotated with `Scalar`, in order."""
    found = []
    for name, hint in get_type_hints(record, include_extras=True).items():
        for note in getattr(hint, "__metadata__", ()):
            if isinstance(note, Scalar):
                kinds = get_args(hint.__origin__) or (hint.__origin__,)
                optional = type(None) in kinds
                found.append(ScalarField(name, int if int in kinds else float, optional, note))
    return tuple(found)


SCALARS = scalar_fields(Evaluation)


def scalar_values(evaluation: Evaluation) -> tuple[int | float | None, ...]:
    """The scalars of an evaluation in the order of `SCALARS`, as numbers of Python."""
    return tuple(field.plain(getattr(evaluation, field.name)) for field in SCALARS)


def from_scalars(cells: Mapping[str, Any]) -> Evaluation:
    """An evaluation without picks and snapshot, from the cells of a table by column.

    Args:
        cells: numbers or text. A column that is missing takes the default of its field.
    """
    known = (field for field in SCALARS if field.name in cells)
    values: dict[str, Any] = {field.name: field.read(cells[field.name]) for field in known}
    return Evaluation(**values)


def log_values(evaluation: Evaluation) -> dict[str, float]:
    """The scalars by the keys that all engines log under; those that are None are left out."""
    keys = {field.scalar.log: getattr(evaluation, field.name) for field in SCALARS}
    keys["curriculum/teacher_steps"] = evaluation.teacher_steps
    return {key: float(value) for key, value in keys.items() if key and value is not None}


def evaluation_tasks(n: int, most: int | None) -> Ids:
    """Ids of the tasks that evaluations play: all n of a pool, or always the same `most`."""
    return _sample(np.arange(n), n if most is None else most, EVALUATION_SEED)


def snapshot_tasks(tasks: Ids) -> Ids:
    """Those of the evaluation's tasks that snapshots show, always the same."""
    return _sample(tasks, SNAPSHOT_TASKS, SNAPSHOT_SEED)


def _sample(tasks: Ids, most: int, seed: int) -> Ids:
    if len(tasks) <= most:
        return tasks
    return np.sort(tasks[np.random.default_rng(seed).permutation(len(tasks))[:most]])


def column_names(fields: Iterable[ScalarField] = SCALARS) -> tuple[str, ...]:
    """The names of the fields, which are the columns of all tables."""
    return tuple(field.name for field in fields)
