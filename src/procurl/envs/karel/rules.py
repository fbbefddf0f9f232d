"""The rules of Karel as tables: the bits that each action tests and flips, by pose of the avatar.

A pose is 4 · cell + direction. With grids as bits, an action is a bit that must have a certain
value, else the episode ends, and bits to flip.
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

# Offsets of the parts of an observation that actions can change.
CELL_AT, DIRECTION_AT, MARKERS_AT = 16, 32, 36

POSES = CELLS * len(DIRECTIONS)
POSE_BITS = 6
STEPS_AHEAD = ((-1, 0), (0, -1), (1, 0), (0, 1))  # (row, column) by direction


class Rule(NamedTuple):
    """What one action does in one pose."""

    tested: int = 0  # bits of walls | markers << 16; the episode ends unless they …
    wanted: int = 0  # … equal these
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
    """The rule that always ends the episode: it requires a wall in the avatar's own cell."""
    here = 1 << cell
    return Rule(tested=here, wanted=here, next_pose=4 * cell + direction)


def cell_ahead(cell: int, direction: int) -> int | None:
    """The cell in front of an avatar, None if that is off the grid."""
    row, column = (
        place + step for place, step in zip(divmod(cell, SIDE), STEPS_AHEAD[direction], strict=True)
    )
    return SIDE * row + column if 0 <= row < SIDE and 0 <= column < SIDE else None


def signed_words(bits: int, count: int) -> list[int]:
    """The lowest `count` words of 32 bits, the lowest first, as the signed integers of int32."""
    words = np.array([bits >> 32 * word & 0xFFFFFFFF for word in range(count)], dtype=np.uint32)
    return [int(word) for word in words.view(np.int32)]


def first_row(pose: Any) -> Any:
    """The first row of a pose in `rule_tables`, which have one row per action."""
    return len(ACTIONS) * pose + 1


def rule_tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(tests [1 + 64 · 6, 2], flips [1 + 64 · 6, 6]) of all actions, at row 6 · pose + action + 1.

    A test is the tested bits and their required values. Flips apply to the words of `KarelState`.
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
