"""Karel tasks: seven integers that describe a current and a target grid of 4 × 4 cells.

Cells are numbered row by row from the upper left corner, 0 to 15. A set of cells is a mask of 16
bits, the lowest bit for cell 0. A left turn adds 1 to the direction: north, west, south,
east.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SIDE = 4
CELLS = SIDE * SIDE
ALL_CELLS = (1 << CELLS) - 1
WEST_EDGE = 0x1111
EAST_EDGE = 0x8888
DIRECTIONS = ("north", "west", "south", "east")
ACTIONS = ("move", "turnLeft", "turnRight", "pickMarker", "putMarker", "finish")
MOVE, TURN_LEFT, TURN_RIGHT, PICK_MARKER, PUT_MARKER, FINISH = range(len(ACTIONS))
LETTERS = "MLRPUF"  # one letter per action, for solutions as text: P picks a marker, U puts one
CONTEXT_NAMES = (
    "walls",
    "cell",
    "direction",
    "markers",
    "goal_cell",
    "goal_direction",
    "goal_markers",
)
SIZES = (1 << CELLS, CELLS, len(DIRECTIONS), 1 << CELLS, CELLS, len(DIRECTIONS), 1 << CELLS)

Contexts = NDArray[np.int32]  # [n, 7], the columns of CONTEXT_NAMES


class Fault(NamedTuple):
    """An invalid entry of a task."""

    task: int
    entry: str  # of CONTEXT_NAMES
    reason: str


def karel_task(context: Any, solution: str | None = None) -> dict[str, Any]:
    """The task as a pool holds it: its seven integers by name, and its solution if known.

    A dict, because a pool treats rows of numbers as points in a space in which neighbors are
    similar. That does not hold for bit masks, so these tasks are opaque.
    """
    named: dict[str, Any] = {
        name: int(value) for name, value in zip(CONTEXT_NAMES, context, strict=True)
    }
    return named if solution is None else {**named, "solution": solution}


def karel_context(task: Any) -> NDArray[np.float64]:
    """The context [7] of a task: a dict of seven named numbers, or the numbers themselves."""
    if isinstance(task, Mapping):
        missing = [name for name in CONTEXT_NAMES if name not in task]
        if missing:
            raise ValueError(
                f"a Karel task needs the entries {', '.join(CONTEXT_NAMES)}; "
                f"{', '.join(missing)} is missing in {dict(task)!r}"
            )
        task = [task[name] for name in CONTEXT_NAMES]
    try:
        context = np.asarray(task, dtype=np.float64)
    except (TypeError, ValueError):
        context = np.empty(0)
    if context.shape != (len(CONTEXT_NAMES),):
        raise ValueError(f"a Karel task must be 7 numbers or a dict of them, got {task!r}")
    return context


def first_fault(contexts: NDArray[Any]) -> Fault | None:
    """The first fault in contexts [n, 7], or None if all are valid.

    Valid means: integers within their ranges, no avatar or marker on a wall, and a reachable
    target. Ranges are checked first, in all tasks.
    """
    return _first(_range_checks(contexts)) or _first(_placement_checks(contexts.astype(np.int32)))


def reachable(walls: NDArray[np.int32], cell: NDArray[np.int32]) -> NDArray[np.int32]:
    """[n] masks of the cells that can be reached from `cell` [n] with `walls` [n]."""
    free = ~walls & ALL_CELLS
    reached: NDArray[np.int32] = np.left_shift(1, cell, dtype=np.int32) & free
    while True:
        across = (reached & ~EAST_EDGE) << 1 | (reached & ~WEST_EDGE) >> 1
        wider = (reached | across | reached << SIDE | reached >> SIDE) & free
        if np.array_equal(wider, reached):
            return reached
        reached = wider


def task_keys(contexts: Contexts) -> NDArray[np.uint64]:
    """[n] a unique 60-bit number per task."""
    walls, cell, direction, markers, goal_cell, goal_direction, goal_markers = contexts.T.astype(
        np.uint64
    )
    pose = cell | direction << 4 | goal_cell << 6 | goal_direction << 10
    keys: NDArray[np.uint64] = walls | markers << 16 | goal_markers << 32 | pose << 48
    return keys


# Checks of n tasks: an entry, whether it is invalid [n] bool, and the reason for a given task.
_Checks = list[tuple[str, NDArray[np.bool_], Callable[[int], str]]]


def _first(checks: _Checks) -> Fault | None:
    faulty = np.any([at_fault for _, at_fault, _ in checks], axis=0)
    if not faulty.any():
        return None
    task = int(np.argmax(faulty))
    entry, _, reason = next(check for check in checks if check[1][task])
    return Fault(task, entry, reason(task))


def _range_checks(contexts: NDArray[Any]) -> _Checks:
    return [
        (name, ~_is_integer_below(size, column), _not_integer_below(size, column))
        for name, size, column in zip(CONTEXT_NAMES, SIZES, contexts.T, strict=True)
    ]


def _placement_checks(contexts: Contexts) -> _Checks:
    walls, cell, _, markers, goal_cell, _, goal_markers = contexts.T
    reached = reachable(walls, cell)
    cut_off = (markers ^ goal_markers) & ~reached
    return [
        ("cell", walls >> cell & 1 != 0, _on_a_wall(cell)),
        ("goal_cell", walls >> goal_cell & 1 != 0, _on_a_wall(goal_cell)),
        ("markers", walls & markers != 0, _marked_walls(walls & markers)),
        ("goal_markers", walls & goal_markers != 0, _marked_walls(walls & goal_markers)),
        (
            "goal_cell",
            reached >> goal_cell & 1 == 0,
            lambda i: f"is cut off from the avatar by walls (cell {goal_cell[i]}): no solution",
        ),
        (
            "goal_markers",
            cut_off != 0,
            lambda i: f"differs where walls cut the avatar off ({_cells(cut_off[i])}): no solution",
        ),
    ]


def _is_integer_below(size: int, column: NDArray[Any]) -> NDArray[np.bool_]:
    sound: NDArray[np.bool_] = (column >= 0) & (column < size) & (column == np.floor(column))
    return sound  # False for NaN


def _not_integer_below(size: int, column: NDArray[Any]) -> Callable[[int], str]:
    return lambda i: f"must be an integer from 0 to {size - 1}, got {column[i]:g}"


def _on_a_wall(cell: NDArray[np.int32]) -> Callable[[int], str]:
    return lambda i: f"is a wall (cell {cell[i]}): the avatar cannot be there"


def _marked_walls(marked: NDArray[np.int32]) -> Callable[[int], str]:
    return lambda i: f"has markers on walls ({_cells(marked[i])}): move them to free cells"


def _cells(mask: int) -> str:
    return "cell " + ", ".join(str(cell) for cell in range(CELLS) if mask >> cell & 1)
