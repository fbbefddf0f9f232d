"""BasicKarel: an avatar turns one grid of walls and markers into another, by six plain actions."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv, Transition
from procurl.envs.karel.rules import POSE_BITS, first_row, rule_tables
from procurl.envs.karel.task import (
    ACTIONS,
    ALL_CELLS,
    CONTEXT_NAMES,
    FINISH,
    first_fault,
    karel_context,
)
from procurl.internals.arrays import Array, namespace
from procurl.tasks.pool import TaskPool

HORIZON = 100
OBSERVATION_BITS = 88
OBSTACLES, RULES, OFF_TARGET = 3, 4, 5  # columns of `KarelState.words` behind the observation
_TESTS, _FLIPS = rule_tables()
# [256, 8] the bits of every octet, the lowest first.
_BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.float32)


class KarelState(NamedTuple):
    """State of b pairs of grids, in six words each.

    Three hold the 88 bits of the observation, the lowest first. What the rules ask for follows:
    the obstacles, walls | markers << 16; the row of the tables where the pose's rules begin; and
    what is off the target, pose XOR target pose and, above these 6 bits, the markers that differ.
    """

    words: Array  # [b, 6] int32
    steps: Array  # [b] int32, actions taken in this episode


@dataclass(frozen=True)
class Karel(ArrayEnv):
    """Reward 1 for a `finish` on a grid that equals the target in cell, direction and markers.

    Moving into a wall or off the grid, picking where no marker lies and putting where one lies are
    crashes: they change nothing and end the episode with reward 0, as does any other `finish`, and
    the horizon of 100 actions.
    """

    horizon = HORIZON
    context_names = CONTEXT_NAMES
    observation_low = np.zeros(OBSERVATION_BITS, dtype=np.float32)
    observation_high = np.ones(OBSERVATION_BITS, dtype=np.float32)
    action_low = None
    action_high = None
    n_actions = len(ACTIONS)
    noise_shape = (0,)

    def initial(self, contexts: Array) -> KarelState:
        xp = namespace(contexts)
        walls, cell, direction, markers, goal_cell, goal_direction, goal_markers = contexts.astype(
            "int32"
        ).T
        pose, goal_pose = 4 * cell + direction, 4 * goal_cell + goal_direction
        goal_bit = 1 << goal_cell  # lies across the second and third word
        words = (
            walls | 1 << 16 + cell,
            1 << direction | markers << 4 | goal_bit << 20,
            goal_bit >> 12 | 1 << 4 + goal_direction | goal_markers << 8,
            walls | markers << 16,
            first_row(pose),
            (pose ^ goal_pose) | (markers ^ goal_markers) << POSE_BITS,
        )
        return KarelState(xp.stack(words, axis=1), steps=xp.zeros_like(walls))

    def observe(self, state: KarelState) -> Array:
        """[b, 88] bits: walls, cell, direction, markers, then the target's.

        NumPy is fastest with a table of octets. For XLA, which would not fuse that, each column is
        said to show one bit of one word.
        """
        words = state.words
        if isinstance(words, np.ndarray):
            octets = words.astype("<i4", copy=False).view(np.uint8)[:, : OBSERVATION_BITS // 8]
            return _BITS.take(octets, axis=0).reshape(-1, OBSERVATION_BITS)
        columns = np.arange(OBSERVATION_BITS)
        bit = np.left_shift(1, columns % 32, dtype=np.int32)
        first, second, third = (
            words[:, word, None] & np.where(columns // 32 == word, bit, 0) for word in range(3)
        )
        return (first | second | third != 0).astype("float32")

    def step(self, state: KarelState, actions: Array, noise: Array) -> Transition:
        words = state.words
        row = words[:, RULES] + actions
        tests = _rows(_TESTS, row)  # [b, 2]
        goes_on = ((words[:, OBSTACLES] ^ tests[:, 1]) & tests[:, 0]) == 0  # no crash, no `finish`
        flips = _rows(_FLIPS, row * goes_on)  # [b, 6], none in row 0
        success = (actions == FINISH) & (words[:, OFF_TARGET] == 0)
        steps = state.steps + 1
        done = ~goes_on | (steps >= HORIZON)
        following = KarelState(words ^ flips, steps)
        return Transition(following, success.astype("float32"), done, success)

    def check_context(self, context: Array) -> None:
        if fault := first_fault(karel_context(context)[None]):
            raise ValueError(f"context entry {fault.entry!r} {fault.reason}")

    def default_pool(self) -> TaskPool:
        from procurl.envs.karel.pool import karel_pool

        return karel_pool("uniform")

    def read_pool(self, path: str | PathLike[str]) -> TaskPool:
        """The pool in a CSV file of seven integers per task, see `read_karel_pool`."""
        from procurl.envs.karel.file import read_karel_pool

        return read_karel_pool(path)

    def write_pool(self, pool: TaskPool, path: str | PathLike[str]) -> None:
        """Write the form that `read_pool` reads."""
        from procurl.envs.karel.file import write_karel_pool

        write_karel_pool(pool, path)

    def contexts_of(self, pool: TaskPool) -> NDArray[np.float64]:
        contexts = np.stack([self.context_of(pool[task]) for task in range(len(pool))])
        if fault := first_fault(contexts):
            raise ValueError(
                f"task {fault.task} of the pool cannot be played: {fault.entry!r} {fault.reason}"
            )
        return contexts

    def context_of(self, task: Any) -> NDArray[np.float64]:
        return karel_context(task)

    def draw(self, states: Sequence[Any]) -> NDArray[np.uint8]:
        from procurl.envs.karel.picture import karel_picture

        return karel_picture(context_now(states[-1])[0])


def context_now(state: KarelState) -> Array:
    """[b, 7] the grids as they are at this moment, as contexts: the inverse of `initial`."""
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
