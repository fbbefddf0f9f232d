"""The state of Karel's grids, and what an action does to it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.rules import POSE_BITS, first_row, rule_tables
from procurl.envs.karel.task import ACTIONS, ALL_CELLS, FINISH
from procurl.internals.arrays import Array, namespace

OBSTACLES, RULES, OFF_TARGET = 3, 4, 5  # columns of `KarelState.words` after the observation
_TESTS, _FLIPS = rule_tables()


class KarelState(NamedTuple):
    """State of b pairs of grids, in six words each.

    Three words hold the 88 bits of the observation, the lowest bit first. The other three are what
    the rules need: the obstacles, walls | markers << 16; the row of the rule tables at which the
    pose's rules begin; and the difference from the target, pose XOR target pose and, above these
    6 bits, the markers that differ.
    """

    words: Array  # [b, 6] int32
    steps: Array  # [b] int32, actions taken in this episode


def initial_state(contexts: Array) -> KarelState:
    """State of b fresh episodes.

    Args:
        contexts: [b, 7].
    """
    xp = namespace(contexts)
    walls, cell, direction, markers, goal_cell, goal_direction, goal_markers = contexts.astype(
        "int32"
    ).T
    pose, goal_pose = 4 * cell + direction, 4 * goal_cell + goal_direction
    goal_bit = 1 << goal_cell  # straddles the second and third word
    words = (
        walls | 1 << 16 + cell,
        1 << direction | markers << 4 | goal_bit << 20,
        goal_bit >> 12 | 1 << 4 + goal_direction | goal_markers << 8,
        walls | markers << 16,
        first_row(pose),
        (pose ^ goal_pose) | (markers ^ goal_markers) << POSE_BITS,
    )
    return KarelState(xp.stack(words, axis=1), steps=xp.zeros_like(walls))


def apply_actions(state: KarelState, actions: Array) -> tuple[KarelState, Array, Array]:
    """(state after one action each, ended [b], solved [b]), without a horizon.

    A crash and a `finish` end the episode and leave the grids unchanged. A `finish` on a grid that
    equals the target solves the task.

    Args:
        state: of b episodes.
        actions: [b] int.
    """
    words = state.words
    row = words[:, RULES] + actions
    tests = _rows(_TESTS, row)  # [b, 2]
    goes_on = ((words[:, OBSTACLES] ^ tests[:, 1]) & tests[:, 0]) == 0  # no crash, no `finish`
    flips = _rows(_FLIPS, row * goes_on)  # [b, 6], all 0 in row 0
    solved = (actions == FINISH) & (words[:, OFF_TARGET] == 0)
    return KarelState(words ^ flips, state.steps + 1), ~goes_on, solved


def current_contexts(state: KarelState) -> Array:
    """[b, 7] the grids as they are now, as contexts; undoes `initial_state`."""
    xp = namespace(state.words)
    _, _, third, obstacles, rules, off_target = state.words.T
    pose = rules // len(ACTIONS)  # the rows of a pose begin at 6 · pose + 1
    goal_pose = pose ^ off_target & (1 << POSE_BITS) - 1
    columns = (
        obstacles & ALL_CELLS,
        pose >> 2,
        pose & 3,
        obstacles >> 16 & ALL_CELLS,
        goal_pose >> 2,
        goal_pose & 3,
        third >> 8 & ALL_CELLS,
    )
    return xp.stack(columns, axis=1)


def _rows(table: NDArray[np.int32], which: Array) -> Array:
    if isinstance(which, np.ndarray):
        return table.take(which, axis=0)  # twice as fast as `np.take`
    return namespace(which).take(table, which, axis=0)
