"""Shortest solutions of Karel tasks, exact, for many tasks at once.

A shortest solution has no marker action on a cell that is the same in both grids, and exactly one
on every cell that differs. Picking and putting both flip the marker of a cell, and markers never
block the way. So if all marker actions of a solution but the first on each differing cell are
removed, the rest is still a solution, because that first action is legal on the unchanged cell. The
search therefore only tracks which differing cells are still to be changed: with k of them there are
16 · 4 · 2^k states instead of 16 · 4 · 2^16.

It runs backward from the solved grid, level by level. A level is a mask of 16 cells for each
direction and each set of cells still to be changed, so one bit operation moves a whole level.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.rules import cell_ahead
from procurl.envs.karel.task import (
    ALL_CELLS,
    CELLS,
    EAST_EDGE,
    FINISH,
    LETTERS,
    MOVE,
    PICK_MARKER,
    PUT_MARKER,
    SIDE,
    TURN_LEFT,
    TURN_RIGHT,
    WEST_EDGE,
    Contexts,
    reachable,
)

NO_ACTION = -1
_LEVEL_ENTRIES = 1 << 16  # of the tasks searched together, so that a level fits in the cache

Levels = NDArray[np.uint16]  # [levels, b, 2^k, 4] masks of the cells at that distance
_NORTH, _WEST, _SOUTH, _EAST = range(4)
_BIT = np.left_shift(1, np.arange(CELLS)).astype(np.uint16)


class Solutions(NamedTuple):
    """The shortest solution of each of n tasks; among equals, the first in the actions' order."""

    actions: NDArray[np.int8]  # [n, longest], padded with NO_ACTION
    lengths: NDArray[np.int32]  # [n], including the final `finish`; 0 if there is no solution

    def text(self) -> list[str]:
        """Each solution as letters, one per action, such as 'MMLPF'."""
        letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)[self.actions]
        return [
            row[:length].tobytes().decode()
            for row, length in zip(letters, self.lengths.tolist(), strict=True)
        ]


class _Tasks(NamedTuple):
    """b tasks with the same number k of differing cells."""

    free: NDArray[np.uint16]  # [b, 1] cells without a wall
    cell: NDArray[np.int32]  # [b] numbers, not masks
    direction: NDArray[np.int32]  # [b]
    goal_cell: NDArray[np.int32]  # [b]
    goal_direction: NDArray[np.int32]  # [b]
    markers: NDArray[np.int32]  # [b]
    differing: NDArray[np.uint16]  # [b, k] the bit of one cell each, in increasing order


def shortest_solutions(contexts: Contexts) -> Solutions:
    """The shortest solutions of tasks [n, 7] without avatars or markers on walls."""
    lengths = np.zeros(len(contexts), dtype=np.int32)
    walks = []
    for rows in _batches(contexts):
        tasks = _tasks(contexts[rows])
        levels, distance = _distances(tasks)
        lengths[rows] = distance + 1
        walks.append((rows, _walk(tasks, levels, distance)))
    actions = np.full((len(contexts), lengths.max(initial=0)), NO_ACTION, dtype=np.int8)
    for rows, walk in walks:
        actions[rows, : walk.shape[1]] = walk
    return Solutions(actions, lengths)


def solution_lengths(contexts: Contexts) -> NDArray[np.int32]:
    """Only the `lengths` of `shortest_solutions`, in half the time."""
    lengths = np.zeros(len(contexts), dtype=np.int32)
    for rows in _batches(contexts):
        lengths[rows] = _distances(_tasks(contexts[rows]))[1] + 1
    return lengths


def _batches(contexts: Contexts) -> Iterator[NDArray[np.intp]]:
    """Rows of solvable tasks with equal numbers of differing cells, as many as fit a level."""
    walls, cell, _, markers, goal_cell, _, goal_markers = contexts.T
    differing = markers ^ goal_markers
    needed = _BIT[goal_cell] | differing
    solvable = (needed & ~reachable(walls, cell)) == 0
    counts = np.bitwise_count(differing)
    for k in np.unique(counts[solvable]).tolist():
        rows = np.flatnonzero(solvable & (counts == k))
        at_once = max(1, _LEVEL_ENTRIES >> (k + 2))
        for start in range(0, len(rows), at_once):
            yield rows[start : start + at_once]


def _tasks(contexts: Contexts) -> _Tasks:
    walls, cell, direction, markers, goal_cell, goal_direction, goal_markers = contexts.T
    differs = (markers ^ goal_markers)[:, None] >> np.arange(CELLS, dtype=np.int32) & 1
    _, columns = np.nonzero(differs)
    return _Tasks(
        free=(~walls & ALL_CELLS).astype(np.uint16)[:, None],
        cell=cell,
        direction=direction,
        goal_cell=goal_cell,
        goal_direction=goal_direction,
        markers=markers,
        differing=_BIT[columns].reshape(len(contexts), -1),
    )


def _distances(tasks: _Tasks) -> tuple[Levels, NDArray[np.int32]]:
    """Levels outward from the solved grid, and the level [b] of each task's start."""
    b, k = tasks.differing.shape
    every = np.arange(b)
    start = _BIT[tasks.cell]
    level = np.zeros((b, 1 << k, 4), dtype=np.uint16)
    level[every, 0, tasks.goal_direction] = _BIT[tasks.goal_cell]
    seen = level.copy()
    levels = [level]
    distance = np.full(b, -1, dtype=np.int32)
    while True:
        reached = level[every, -1, tasks.direction] & start != 0
        distance[reached] = len(levels) - 1
        if (distance >= 0).all():
            return np.stack(levels), distance
        level = _one_action_before(level, tasks) & ~seen
        seen |= level
        levels.append(level)


def _one_action_before(level: NDArray[np.uint16], tasks: _Tasks) -> NDArray[np.uint16]:
    """The states [b, 2^k, 4] from which one action leads into `level`."""
    before = np.empty_like(level)
    before[..., _NORTH] = level[..., _NORTH] << SIDE  # moving north means coming from the south
    before[..., _SOUTH] = level[..., _SOUTH] >> SIDE
    before[..., _WEST] = (level[..., _WEST] & ~np.uint16(EAST_EDGE)) << 1
    before[..., _EAST] = (level[..., _EAST] & ~np.uint16(WEST_EDGE)) >> 1
    before &= tasks.free[:, :, None]
    before |= level[..., [1, 2, 3, 0]]
    before |= level[..., [3, 0, 1, 2]]
    b, k = tasks.differing.shape
    for j in range(k):
        halves = (b, -1, 2, 1 << j, 4)  # the third axis: differing cell j is done, or still to do
        bit = tasks.differing[:, j, None, None, None]
        before.reshape(halves)[:, :, 1] |= level.reshape(halves)[:, :, 0] & bit
    return before


def _walk(tasks: _Tasks, levels: Levels, distance: NDArray[np.int32]) -> NDArray[np.int8]:
    """Actions [b, longest] down the levels, each the first that leads one level lower."""
    b, k = tasks.differing.shape
    every = np.arange(b)
    cell, direction, to_do = tasks.cell, tasks.direction, np.full(b, (1 << k) - 1)
    actions = np.full((b, int(distance.max()) + 1), NO_ACTION, dtype=np.int8)
    for moment in range(actions.shape[1] - 1):
        here = _BIT[cell][:, None]
        changed = to_do & ~((tasks.differing == here) @ (1 << np.arange(k)))
        marker_action = np.where(tasks.markers >> cell & 1, PICK_MARKER, PUT_MARKER)
        ahead = _AHEAD[cell, direction]
        target = distance - moment - 1
        undecided = target >= 0
        for action, after in (
            (MOVE, (ahead, direction, to_do)),
            (TURN_LEFT, (cell, (direction + 1) % 4, to_do)),
            (TURN_RIGHT, (cell, (direction - 1) % 4, to_do)),
            (marker_action, (cell, direction, changed)),
        ):
            masks = levels[np.maximum(target, 0), every, after[2], after[1]]
            lower = undecided & (masks >> after[0] & 1 != 0)
            actions[:, moment] = np.where(lower, action, actions[:, moment])
            cell, direction, to_do = (
                np.where(lower, new, old)
                for new, old in zip(after, (cell, direction, to_do), strict=True)
            )
            undecided = undecided & ~lower
    actions[every, distance] = FINISH
    return actions


def _cells_ahead() -> NDArray[np.int32]:
    """[16, 4] the cell in front by cell and direction; at the edge the cell itself."""
    ahead = [[cell_ahead(cell, direction) for direction in range(4)] for cell in range(CELLS)]
    return np.array(
        [[cell if there is None else there for there in row] for cell, row in enumerate(ahead)],
        dtype=np.int32,
    )


_AHEAD = _cells_ahead()
