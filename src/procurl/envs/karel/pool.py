"""Pools of Karel tasks by kind, and the features and solutions of their tasks."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.generator import DIFFICULTIES, generate_karel_tasks
from procurl.envs.karel.search import Solutions, shortest_solutions
from procurl.envs.karel.task import PICK_MARKER, PUT_MARKER, Contexts, karel_context, karel_task
from procurl.internals.checks import require_choice, require_integer
from procurl.tasks.pool import TaskPool

TRAINING_SIZE = 24_000
TEST_SIZE = 2_400
TEST = "test"
HARD_TEST = "hard-test"
KINDS = {"uniform": "uniform", TEST: "uniform", "hard": "hard", HARD_TEST: "hard"}


def karel_pool(kind: str = "uniform", size: int | None = None, seed: int | None = None) -> TaskPool:
    """A pool of opaque tasks, generated in under a second and cached.

    A training and a test pool never share a task, see `generate_karel_tasks`.

    Args:
        kind: "uniform" (the paper's difficulty) or "hard" (solutions of any length) for training;
            "test" and "hard-test" for testing.
        size: number of tasks; by default 24,000, or 2,400 for a test kind.
        seed: of the generator, 0 by default.
    """
    require_choice("kind", kind, KINDS)
    if size is None:
        size = TEST_SIZE if kind in (TEST, HARD_TEST) else TRAINING_SIZE
    seed = 0 if seed is None else seed
    require_integer("size", size, at_least=1)
    require_integer("seed", seed, at_least=0)
    return _generate(kind, int(size), int(seed))


def karel_solutions(pool: TaskPool) -> list[str]:
    """The shortest solution of every task, in the letters of `task.LETTERS`.

    Pools from `karel_pool` and `read_karel_pool` contain them; for others they are searched.
    """
    tasks = [pool[task] for task in range(len(pool))]
    if all(isinstance(task, Mapping) and "solution" in task for task in tasks):
        return [task["solution"] for task in tasks]
    contexts = np.stack([karel_context(task) for task in tasks])
    return shortest_solutions(contexts.astype(np.int32)).text()


def pool_of(
    contexts: Contexts, solutions: Solutions, labels: Sequence[str] | None = None
) -> TaskPool:
    """A pool of the tasks [n, 7] with their solutions and features."""
    tasks = [
        karel_task(context, solution)
        for context, solution in zip(contexts.tolist(), solutions.text(), strict=True)
    ]
    return TaskPool(tasks, features=karel_features(contexts, solutions), labels=labels)


def karel_features(contexts: Contexts, solutions: Solutions) -> dict[str, NDArray[np.int64]]:
    """Features of the tasks for plots, each [n].

    `solution_length` counts the final `finish`; `marker_action` is 1 if the solution picks or
    puts a marker, else 0; `distractor_markers` is the smaller of the two grids' marker counts;
    `walls` is the number of walls.
    """
    markers, goal_markers = (np.bitwise_count(contexts[:, column]) for column in (3, 6))
    marker_action = np.isin(solutions.actions, (PICK_MARKER, PUT_MARKER)).any(axis=1)
    columns = {
        "solution_length": solutions.lengths,
        "marker_action": marker_action,
        "distractor_markers": np.minimum(markers, goal_markers),
        "walls": np.bitwise_count(contexts[:, 0]),
    }
    return {name: np.asarray(column, dtype=np.int64) for name, column in columns.items()}


@lru_cache(maxsize=8)
def _generate(kind: str, size: int, seed: int) -> TaskPool:
    test = kind in (TEST, HARD_TEST)
    tasks = generate_karel_tasks(DIFFICULTIES[KINDS[kind]], size, seed=seed, test=test)
    return pool_of(tasks.contexts, tasks.solutions)
