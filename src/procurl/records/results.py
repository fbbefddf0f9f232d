"""What came of an experiment, as tables, figures and reports read it: nothing here knows of files.

Every engine measures a run in the same way, so a user's own Stable-Baselines3 run and a run of the
JAX engine give the same report.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.tasks.pool import TaskPool

Ids = NDArray[np.int64]

SHOWN_TASKS = 500  # of a larger pool, as many are followed through training
EVALUATED_SEED, SHOWN_SEED = 0, 1


def evaluated_tasks(n: int, most: int | None) -> Ids:
    """The tasks of a pool of n that evaluations play: all, or `most` of them, always the same."""
    return _some(np.arange(n), n if most is None else most, EVALUATED_SEED)


def shown_tasks(evaluated: Ids) -> Ids:
    """Those of the evaluated tasks that snapshots show, always the same."""
    return _some(evaluated, SHOWN_TASKS, SHOWN_SEED)


def _some(tasks: Ids, most: int, seed: int) -> Ids:
    if len(tasks) <= most:
        return tasks
    return np.sort(tasks[np.random.default_rng(seed).permutation(len(tasks))[:most]])


class RunId(NamedTuple):
    """A run within an experiment."""

    strategy: str
    setting: str  # as written behind the colon of `procurl-val:beta=10`, empty for the preset's
    seed: int

    @property
    def label(self) -> str:
        """The strategy with its setting, as it was written."""
        return f"{self.strategy}:{self.setting}" if self.setting else self.strategy


class Snapshot(NamedTuple):
    """What teacher and student made of the tasks at one evaluation."""

    tasks: Ids  # [m] ids that the fields below stand for: all, or SHOWN_TASKS of them
    probabilities: NDArray[np.float32]  # [m] of being picked next
    success: NDArray[np.float32] | None  # [m] as the teacher estimates it, None where it does not
    achieved: NDArray[np.float32]  # [m] return of this evaluation's episode on the task


class Measured(NamedTuple):
    """One evaluation of one run."""

    step: int  # the training steps that it stands for
    train_steps: int  # those really taken, a whole number of updates
    env_steps: int  # training and teacher
    performance: float  # mean return over the pool
    test_performance: float | None  # over the test pool
    seconds: float  # of training so far, evaluations not counted
    entropy: float  # of the distribution over tasks
    mean_success: float | None  # as the teacher estimates it
    picks: Ids  # [e] tasks of the episodes that ended since the last evaluation
    snapshot: Snapshot | None  # None where it was not kept


@dataclass(frozen=True)
class Results:
    """All runs of one experiment.

    Args:
        env: name of the environment.
        engine: `jax` or `sb3`.
        steps: training steps per run that were asked for.
        n_envs: environments per run.
        pool: the training pool, with its feature columns.
        runs: every run, by strategy in the order in which they were asked for, then by seed.
        evaluations: of each run by step, without picks and snapshots (`picks` is empty there).
        stopped: runs that a value that was not finite stopped, and the step at which it did.
        facts: what a reader wants to know: `command`, `machine`, `versions`, `pool_hash`, …
        detail: reads the evaluations of a run with picks and snapshots.
    """

    env: str
    engine: str
    steps: int
    n_envs: int
    pool: TaskPool
    runs: Sequence[RunId]
    evaluations: Mapping[RunId, Sequence[Measured]]
    stopped: Mapping[RunId, int]
    facts: Mapping[str, Any]
    detail: Callable[[RunId], Sequence[Measured]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The strategies with their settings, in order."""
        return tuple(dict.fromkeys(run.label for run in self.runs))
