"""When and how runs are evaluated. Needs NumPy alone, so that every engine can use it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.checks import require_integer
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import TaskSpace, require_fixed_pool


@dataclass(frozen=True)
class EvaluationPlan:
    """When and how runs are evaluated.

    Args:
        every: training steps between evaluations.
        tasks: ids of the tasks that evaluations play; None plays all.
        episodes: episodes per task.
        stochastic: whether to sample actions instead of acting deterministically.
        whole_at: steps at which evaluations of `Runs` play all tasks regardless of `tasks`; those
            of a `HostRun` always play `tasks`.
        snapshot_tasks: ids of the tasks that snapshots show, of `tasks`; None shows all of them.
        test_pool: further tasks to evaluate on, if any.
        pool: the tasks that evaluations play if training draws from a space; None plays
            `space.pool()`. Ids above are of these tasks.
        steps: training steps of the whole run, at whose end it is evaluated as well; None if they
            are unknown.
    """

    every: int = 25_000
    tasks: Sequence[int] | NDArray[Any] | None = None
    episodes: int = 1
    stochastic: bool = False
    whole_at: Sequence[int] = ()
    snapshot_tasks: Sequence[int] | NDArray[Any] | None = None
    test_pool: TaskPool | None = None
    pool: TaskPool | None = None
    steps: int | None = None

    def check(self) -> None:
        """Raise on a number out of range, and on what is not a pool or a list of steps."""
        require_integer("evaluation.every", self.every, at_least=1)
        require_integer("evaluation.episodes", self.episodes, at_least=1)
        if not hasattr(self.whole_at, "__len__"):
            raise TypeError(
                f"evaluation.whole_at must be a list of training steps, got {self.whole_at!r:.80}"
            )
        for step in self.whole_at:
            require_integer("every step of evaluation.whole_at", step, at_least=0)
        for argument in ("test_pool", "pool"):
            if getattr(self, argument) is not None:
                require_fixed_pool(f"evaluation.{argument} must be", getattr(self, argument))
        if self.steps is not None:
            require_integer("evaluation.steps", self.steps, at_least=1)

    def pools_for(self, trained: TaskPool | Sequence[TaskPool] | TaskSpace) -> Sequence[TaskPool]:
        """The pools that evaluations play if training is on `trained`: one, or one per run."""
        if isinstance(trained, TaskSpace):
            return [trained.pool() if self.pool is None else self.pool]
        if self.pool is not None:
            raise ValueError(
                f"evaluation.pool is for training on a TaskSpace, got {self.pool}: evaluations of "
                "a fixed pool play the pool itself. Pass further tasks as evaluation.test_pool"
            )
        return [trained] if isinstance(trained, TaskPool) else trained

    def tasks_of(self, pool: TaskPool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(ids [m] of the tasks to play, ids [k] of those to show in snapshots)."""
        everything = np.arange(len(pool))
        played = everything
        if self.tasks is not None:
            played = _ids("evaluation.tasks", self.tasks, len(pool))
        if played.size == 0:
            raise ValueError("evaluation.tasks is empty: leave it out to play all tasks")
        if self.snapshot_tasks is None:
            return played, played
        return played, _ids("evaluation.snapshot_tasks", self.snapshot_tasks, len(pool))

    def due_step(self, before: int, after: int) -> int | None:
        """The nominal step of the evaluation that is due between two steps, None if none is.

        It is `steps` if training has reached them, otherwise the multiple of `every` that was
        passed. An update may pass both: its evaluation is that of the whole run.
        """
        if self.steps is not None and before < self.steps <= after:
            return int(self.steps)  # an integer of NumPy could not be stored
        every = int(self.every)
        reached = after // every
        return reached * every if before // every < reached else None


def _ids(argument: str, given: Sequence[int] | NDArray[Any], n: int) -> NDArray[np.int64]:
    """[m] `given` as task ids of a pool of n tasks; raises if it is something else."""
    ids = np.asarray(given)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise TypeError(
            f"{argument} must be a list of task ids, integers from 0 to {n - 1}, got {given!r:.80}"
        )
    wrong = ids[(ids < 0) | (ids >= n)]
    if wrong.size:
        raise ValueError(f"{argument} must be ids from 0 to {n - 1}, got {wrong[0]}")
    return ids.astype(np.int64)


def positions(tasks: NDArray[Any], eval_tasks: NDArray[Any]) -> NDArray[Any]:
    """[m] where each of `tasks` [m] is in `eval_tasks`; ValueError if one is not."""
    place = {int(task): at for at, task in enumerate(eval_tasks)}
    missing = [int(task) for task in tasks if int(task) not in place]
    if missing:
        raise ValueError(
            f"evaluation.snapshot_tasks must be tasks that are evaluated, got task {missing[0]}, "
            "which is not in evaluation.tasks"
        )
    return np.asarray([place[int(task)] for task in tasks], dtype=np.int64)
