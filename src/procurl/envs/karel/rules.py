"""The rules of Karel as a table: what an action tests and flips, for an avatar in a given pose.

A pose is 4 · cell + direction. With grids written as bits, every action is a bit that must look a
certain way, else the episode ends, and bits that flip.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.task import (
    ACTIONS,
    CELLS,
    DIRECTIONS,
    MOVE,
    PICK_MARKER,
    PUT_MARKER,
    SIDE,
    TURN_LEFT,
    TURN_RIGHT,
)

# Where the parts of an observation begin that an action can change.
CELL_AT, DIRECTION_AT, MARKERS_AT = 16, 32, 36

POSES = CELLS * len(DIRECTIONS)
POSE_BITS = 6
STEPS_AHEAD = ((-1, 0), (0, -1), (1, 0), (0, 1))  # (row, column) by direction


class Rule(NamedTuple):
    """What one action does in one pose."""

    tested: int = 0  # of the bits walls | markers << 16, the episode ends unless these …
    wanted: int = 0  # … look like this
    flipped: int = 0  # bits of the observation
    flipped_marker: int = 0  # mask of the cell whose marker is picked or put
    next_pose: int = 0


def rule(cell: int, direction: int, action: int) -> Rule:
    """The rule for `action` of an avatar on `cell` that faces `direction`."""
    pose, here = 4 * cell + direction, 1 << cell
    if action == MOVE:
        ahead = cell_ahead(cell, direction)
        if ahead is None:
            return _end(cell, direction)
        flipped = (here | 1 << ahead) << CELL_AT
        return Rule(tested=1 << ahead, flipped=flipped, next_pose=4 * ahead + direction)
    if action in (TURN_LEFT, TURN_RIGHT):
        turned = (direction + (1 if action == TURN_LEFT else 3)) % 4
        flipped = (1 << direction | 1 << turned) << DIRECTION_AT
        return Rule(flipped=flipped, next_pose=4 * cell + turned)
    if action in (PICK_MARKER, PUT_MARKER):
        wanted = here << 16 if action == PICK_MARKER else 0
        return Rule(here << 16, wanted, here << MARKERS_AT, flipped_marker=here, next_pose=pose)
    return _end(cell, direction)


def _end(cell: int, direction: int) -> Rule:
    """The rule that always ends the episode: it wants a wall where the avatar stands."""
    here = 1 << cell
    return Rule(tested=here, wanted=here, next_pose=4 * cell + direction)


def cell_ahead(cell: int, direction: int) -> int | None:
    """The cell in front of an avatar, None where that is off the grid."""
    row, column = (
        place + step for place, step in zip(divmod(cell, SIDE), STEPS_AHEAD[direction], strict=True)
    )
    return SIDE * row + column if 0 <= row < SIDE and 0 <= column < SIDE else None


def signed_words(bits: int, count: int) -> list[int]:
    """The lowest `count` words of 32 bits, the lowest first, as the signed integers of int32."""
    words = np.array([bits >> 32 * word & 0xFFFFFFFF for word in range(count)], dtype=np.uint32)
    return [int(word) for word in words.view(np.int32)]


def first_row(pose: Any) -> Any:
    """Where the rules of a pose begin in `rule_tables`, one row per action."""
    return len(ACTIONS) * pose + 1


def rule_tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What every action tests [1 + 64 · 6, 2] and flips [1 + 64 · 6, 6], at 6 · pose + action + 1.

    Tests are the tested bits and how they must look. Flips apply to the words of `KarelState`.
    Row 0 is for actions that end the episode: they change nothing.
    """
    tests, flips = [[0, 0]], [[0] * 6]
    for pose in range(POSES):
        for action in range(len(ACTIONS)):
            found = rule(*divmod(pose, len(DIRECTIONS)), action)
            tests.append(signed_words(found.tested, 1) + signed_words(found.wanted, 1))
            flips.append(
                [
                    *signed_words(found.flipped, 3),
                    *signed_words(found.flipped_marker << 16, 1),
                    first_row(pose) ^ first_row(found.next_pose),
                    (pose ^ found.next_pose) | found.flipped_marker << POSE_BITS,
                ]
            )
    return np.array(tests, dtype=np.int32), np.array(flips, dtype=np.int32)
