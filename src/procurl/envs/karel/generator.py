"""Random Karel tasks: grids drawn uniformly, then thinned to a given difficulty.

The sequence of tasks depends only on the settings, the seed and GENERATOR_VERSION. It is drawn from
the raw 64-bit words of PCG64, which NumPy keeps the same on every machine and in every release.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.search import Solutions, shortest_solutions, solution_lengths
from procurl.envs.karel.task import CELLS, Contexts, task_keys
from procurl.internals.checks import require_integer, require_number

Words = NDArray[np.uint64]

TEST_SHARE = 11  # one task in 11 is a test task: 2,400 for 24,000 training tasks
_DRAWN_AT_ONCE = 8192
_CHOICES = 9  # words of a draw in addition to those that order the cells
_PATIENCE = 50  # draws in a row without a new task before the generator gives up


@dataclass(frozen=True)
class KarelDifficulty:
    """The difficulty of generated tasks.

    A task has 0 to `max_walls` walls, cells whose markers differ between the grids (to pick or to
    put), distractor markers that are in both grids, and two avatars. Numbers and positions are
    drawn uniformly. Unsolvable tasks are dropped. Of the tasks whose shortest solution has l
    actions, including `finish`, the share `kept[l - 1]` is kept; longer ones than `kept` covers
    are dropped.

    Args:
        max_walls: maximum number of walls.
        max_markers: maximum number of markers in each of the two grids.
        changes: shares of the drawn tasks in which 0, 1, 2, … cells differ in their markers.
        kept: shares of the drawn tasks that are kept, by length from 1 on; None keeps all.
    """

    max_walls: int
    max_markers: int
    changes: tuple[float, ...] = (0.5, 0.5)
    kept: tuple[float, ...] | None = None

    def check(self) -> None:
        """Raise if no task can be drawn with these settings."""
        require_integer("max_walls", self.max_walls, at_least=0)
        require_integer("max_markers", self.max_markers, at_least=0)
        for name in ("changes", "kept"):
            shares = getattr(self, name)
            for i, share in enumerate(shares or ()):
                require_number(f"{name}[{i}]", share, at_least=0.0, at_most=1.0)
            if shares is not None and not any(shares):
                raise ValueError(f"{name} must hold a share above 0, got {shares}")
        most = len(self.changes) - 1
        if most > 2 * self.max_markers:
            raise ValueError(
                f"changes goes up to {most} differing cells, but two grids of at most "
                f"max_markers={self.max_markers} markers differ in {2 * self.max_markers} or fewer"
            )
        taken = self.max_walls + max(self.max_markers + most // 2, 1)
        if taken > CELLS:
            raise ValueError(
                f"max_walls={self.max_walls} and max_markers={self.max_markers} with up to {most} "
                f"differing cells can take {taken} cells, but a grid has {CELLS}"
            )


# The settings of the named pools. "uniform" is calibrated: on it, `iid` learns about as fast as on
# the paper's tasks (docs/karel.md). Any change to the sequence of tasks, such as a change of these
# settings, must increase the version.
GENERATOR_VERSION = 1
DIFFICULTIES = {
    "uniform": KarelDifficulty(
        max_walls=4,
        max_markers=2,
        kept=(0.15, 0.15, 0.2, 0.4, 1.0, 1.0),
    ),
    "hard": KarelDifficulty(max_walls=6, max_markers=3),
}


class KarelTasks(NamedTuple):
    """Generated tasks and their shortest solutions."""

    contexts: Contexts  # [n, 7]
    solutions: Solutions


def generate_karel_tasks(
    difficulty: KarelDifficulty, size: int, *, seed: int = 0, test: bool = False
) -> KarelTasks:
    """`size` distinct, solvable tasks; a smaller size gives the first tasks of a larger one.

    A hash of its seven integers makes every possible task either a training or a test task. So no
    training pool shares a task with any test pool, whatever their seeds, sizes and difficulties.

    Args:
        difficulty: settings of the draws.
        size: number of tasks.
        seed: of the draws.
        test: test tasks instead of training tasks.
    """
    difficulty.check()
    require_integer("size", size, at_least=1)
    require_integer("seed", seed, at_least=0)
    contexts = np.empty((0, 7), dtype=np.int32)
    fruitless = 0
    for drawn in _drawn(difficulty, seed, test):
        before = len(contexts)
        contexts = _without_repeats(np.concatenate([contexts, drawn]))
        fruitless = fruitless + 1 if len(contexts) == before else 0
        if len(contexts) >= size:
            break
        if fruitless == _PATIENCE:
            raise ValueError(
                f"size={size} is too large: {difficulty} seems to allow only "
                f"{before} different {'test' if test else 'training'} tasks"
            )
    return KarelTasks(contexts[:size], shortest_solutions(contexts[:size]))


def is_test_task(contexts: Contexts) -> NDArray[np.bool_]:
    """[n] whether each task is a test task, by a hash of its key."""
    key: Words = task_keys(contexts)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ key >> np.uint64(shift)) * np.uint64(factor)
    test: NDArray[np.bool_] = (key ^ key >> np.uint64(31)) % np.uint64(TEST_SHARE) == 0
    return test


def _drawn(difficulty: KarelDifficulty, seed: int, test: bool) -> Iterator[Contexts]:
    """Endless batches of solvable training or test tasks, thinned by length, with repeats."""
    source = np.random.PCG64(seed)
    while True:
        words = source.random_raw((_DRAWN_AT_ONCE, 2 * CELLS + _CHOICES))
        contexts = _grids(difficulty, words)
        wanted = is_test_task(contexts) == test
        contexts, last_word = contexts[wanted], words[wanted, -1]
        lengths = solution_lengths(contexts)
        shares = np.zeros(max(lengths.max(initial=0), len(difficulty.kept or ())) + 1)
        if difficulty.kept is None:
            shares[1:] = 1.0
        else:
            shares[1 : len(difficulty.kept) + 1] = difficulty.kept
        yield contexts[_fraction(last_word) < shares[lengths]]


def _grids(difficulty: KarelDifficulty, words: Words) -> Contexts:
    """Grids [b, 7] from words [b, 41]: two orders of the cells, then choices."""
    choices = words[:, 2 * CELLS :].T
    walls = _choice(choices[0], difficulty.max_walls + 1)
    order = np.argsort(words[:, :CELLS], axis=1, kind="stable")  # walls first, then free cells
    wall_mask = _mask_of_ranks(order, 0, walls)
    cell, goal_cell = (
        np.take_along_axis(order, (walls + _choice(word, CELLS - walls))[:, None], axis=1)[:, 0]
        for word in choices[1:3]
    )
    direction, goal_direction = _choice(choices[3], 4), _choice(choices[4], 4)

    limits = np.cumsum(difficulty.changes) / np.sum(difficulty.changes)
    changes = np.searchsorted(limits[:-1], _fraction(choices[5]), side="right")
    fewest = np.maximum(changes - difficulty.max_markers, 0)
    picks = fewest + _choice(choices[6], changes - 2 * fewest + 1)
    puts = changes - picks
    both = _choice(choices[7], difficulty.max_markers - np.maximum(picks, puts) + 1)
    is_wall = wall_mask[:, None] >> np.arange(CELLS) & 1
    free_first = np.lexsort((words[:, CELLS : 2 * CELLS], is_wall))
    distractors = _mask_of_ranks(free_first, 0, both)
    markers = distractors | _mask_of_ranks(free_first, both, picks)
    goal_markers = distractors | _mask_of_ranks(free_first, both + picks, puts)
    columns = (wall_mask, cell, direction, markers, goal_cell, goal_direction, goal_markers)
    return np.stack(columns, axis=1).astype(np.int32)


def _choice(words: Words, count: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """[b] uniform from 0 to count − 1, by the upper half of each word."""
    return (words >> 32).astype(np.int64) * count >> 32


def _fraction(words: Words) -> NDArray[np.float64]:
    """[b] uniform from 0 to below 1, by the upper 53 bits of each word."""
    return (words >> 11).astype(np.float64) * 2.0**-53


def _mask_of_ranks(
    order: NDArray[np.int64], start: int | NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[b] masks of the `count` cells from rank `start` on in the order [b, 16]."""
    rank = np.arange(CELLS) - np.reshape(start, (-1, 1))
    masks: NDArray[np.int64] = np.sum(
        (1 << order) * ((rank >= 0) & (rank < count[:, None])), axis=1
    )
    return masks


def _without_repeats(contexts: Contexts) -> Contexts:
    """The tasks without duplicates, in order of first appearance."""
    _, first = np.unique(task_keys(contexts), return_index=True)
    return contexts[np.sort(first)]
