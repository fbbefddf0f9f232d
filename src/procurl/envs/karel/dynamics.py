"""BasicKarel: an avatar turns one grid of walls and markers into another, with six actions."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv, Transition
from procurl.envs.karel.file import read_karel_pool, write_karel_pool
from procurl.envs.karel.pool import karel_pool
from procurl.envs.karel.state import KarelState, apply_actions, current_contexts, initial_state
from procurl.envs.karel.task import ACTIONS, CONTEXT_NAMES, first_fault, karel_context
from procurl.internals.arrays import Array
from procurl.tasks.pool import TaskPool

HORIZON = 100
OBSERVATION_BITS = 88
# [256, 8] the bits of every byte, the lowest first.
_BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.float32)


@dataclass(frozen=True)
class Karel(ArrayEnv):
    """Reward 1 for a `finish` on a grid that equals the target in cell, direction and markers.

    Moving into a wall or off the grid, picking where there is no marker and putting where there is
    one are crashes. A crash changes nothing and ends the episode with reward 0. So do any other
    `finish` and the horizon of 100 actions.
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
        return initial_state(contexts)

    def observe(self, state: KarelState) -> Array:
        """[b, 88] bits: walls, cell, direction and markers, then the same of the target but walls.

        NumPy is fastest with a table of bytes. XLA would not fuse that lookup, so for JAX each
        column selects one bit of one word.
        """
        words = state.words
        if isinstance(words, np.ndarray):
            row_bytes = words.astype("<i4", copy=False).view(np.uint8)[:, : OBSERVATION_BITS // 8]
            return _BITS.take(row_bytes, axis=0).reshape(-1, OBSERVATION_BITS)
        columns = np.arange(OBSERVATION_BITS)
        bit = np.left_shift(1, columns % 32, dtype=np.int32)
        first, second, third = (
            words[:, word, None] & np.where(columns // 32 == word, bit, 0) for word in range(3)
        )
        return (first | second | third != 0).astype("float32")

    def step(self, state: KarelState, actions: Array, noise: Array) -> Transition:
        after, ended, solved = apply_actions(state, actions)
        return Transition(after, solved.astype("float32"), ended | (after.steps >= HORIZON), solved)

    def check_context(self, context: Array) -> None:
        if fault := first_fault(karel_context(context)[None]):
            raise ValueError(f"context entry {fault.entry!r} {fault.reason}")

    def default_pool(self) -> TaskPool:
        return karel_pool("uniform")

    def read_pool(self, path: str | PathLike[str]) -> TaskPool:
        """Read a CSV file with seven integers per task, see `read_karel_pool`."""
        return read_karel_pool(path)

    def write_pool(self, pool: TaskPool, path: str | PathLike[str]) -> None:
        """Write a CSV file that `read_pool` reads back."""
        write_karel_pool(pool, path)

    def contexts_of(self, pool: TaskPool) -> NDArray[np.float64]:
        pool = self.fit_pool(pool)
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

        return karel_picture(current_contexts(states[-1])[0])
