"""Small grids and locks: a maze with a step cost, rooms of which some have no door, a chain."""

from itertools import product
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from procurl import TaskEnv, TaskPool

MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
MAZE, MAZE_STEPS = 8, 60
ROOM, ROOM_STEPS = 5, 20
CHAIN = 20


def one_hot(digits: Any, base: int) -> NDArray[np.float32]:
    """[len(digits) · base] the digits, each as a 1 at its place."""
    places = np.asarray(digits)[:, None] == np.arange(base)
    return np.ravel(places).astype(np.float32)


class Maze(gymnasium.Env[Any, Any]):
    """Find the exit of a maze from anywhere: −1 per step, success at the exit within 60 steps.

    A context is (x, y, slip), the start and how often a move goes astray. Two walls with a gap at
    opposite ends make the way long: the farther the start, the more must be known already.
    """

    action_space = Discrete(4)
    observation_space = Box(0.0, 1.0, (2 * MAZE + 1,), np.float32)
    gaps: ClassVar = {2: 0, 5: MAZE - 1}  # the gap of each wall, by its x

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        x, y, self.slip = (options or {})["context"]
        self.place, self.steps = np.array([x, y], dtype=int), 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        slips = self.np_random.random() < self.slip
        move = self.np_random.integers(4) if slips else int(action)
        there = np.clip(self.place + MOVES[move], 0, MAZE - 1)
        if self.gaps.get(int(there[0]), there[1]) == there[1]:
            self.place = there
        self.steps += 1
        won = bool((self.place == MAZE - 1).all())
        return self._observation(), -1.0, won, self.steps == MAZE_STEPS, {"is_success": won}

    def _observation(self) -> NDArray[np.float32]:
        return np.append(one_hot(self.place, MAZE), self.slip).astype(np.float32)


def _maze_pool() -> TaskPool:
    cells = [(x, y) for x, y in product(range(MAZE), repeat=2) if x not in Maze.gaps]
    starts = [cell for cell in cells if cell != (MAZE - 1, MAZE - 1)]
    contexts = [(x, y, slip) for (x, y), slip in product(starts, (0.0, 0.2))]
    return TaskPool(np.array(contexts), names=["x", "y", "slip"])


MAZES = _maze_pool()


def make_maze() -> TaskEnv:
    """`Maze` from every cell, with and without slips."""
    return TaskEnv(Maze(), MAZES)


class Rooms(gymnasium.Env[Any, Any]):
    """Reach the goal in the next room: reward 1 at the goal within 20 steps, else 0.

    A task is {"start": cell, "goal": cell, "door": row or None}. Without a door it is impossible
    if start and goal lie in different rooms.
    """

    action_space = Discrete(4)
    observation_space = Box(0.0, 1.0, (5 * ROOM,), np.float32)
    task: dict[str, Any]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.steps = np.array(self.task["start"]), 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        there = np.clip(self.place + MOVES[int(action)], 0, ROOM - 1)
        if there[0] != ROOM // 2 or there[1] == self.task["door"]:
            self.place = there
        self.steps += 1
        won = bool((self.place == self.task["goal"]).all())
        return self._observation(), float(won), won, self.steps == ROOM_STEPS, {}

    def _observation(self) -> NDArray[np.float32]:
        door = ROOM if self.task["door"] is None else self.task["door"]  # no door: all zeros
        return one_hot([*self.place, *self.task["goal"], door], ROOM)


def _room_tasks() -> TaskPool:
    """200 tasks: 30% impossible, 30% with the goal next to the start, 40% through a door."""
    rng, tasks = np.random.default_rng(5), []
    for kind in rng.permutation(["impossible"] * 60 + ["trivial"] * 60 + ["door"] * 80):
        start = (int(rng.integers(ROOM // 2)), int(rng.integers(ROOM)))
        goal = (int(rng.integers(ROOM // 2 + 1, ROOM)), int(rng.integers(ROOM)))
        if kind == "trivial":
            goal = (start[0], start[1] + 1 if start[1] < ROOM - 1 else start[1] - 1)
        door = None if kind == "impossible" else int(rng.integers(ROOM))
        tasks.append({"start": start, "goal": goal, "door": door})
    return TaskPool.from_objects(tasks)


ROOMS = _room_tasks()


def set_room(env: gymnasium.Env[Any, Any], task: dict[str, Any]) -> None:
    """Pass a task of `Rooms` to the environment."""
    inside: Any = env.unwrapped
    inside.task = task


def make_rooms() -> TaskEnv:
    """`Rooms` over 200 opaque tasks."""
    return TaskEnv(Rooms(), ROOMS, set_room)


class Chain(gymnasium.Env[Any, Any]):
    """Enter the first k digits of a code: reward 1 for all of them, and 0 at the first mistake.

    Each task needs the digits of all shorter ones and one more.
    """

    action_space = Discrete(4)
    observation_space = Box(0.0, 1.0, (CHAIN + 1,), np.float32)
    code = np.random.default_rng(11).integers(4, size=CHAIN)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.length, self.at = int((options or {})["context"][0]), 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        right = int(action) == self.code[self.at]
        self.at = self.at + 1 if right else self.at
        won = right and self.at == self.length
        return self._observation(), float(won), won or not right, False, {}

    def _observation(self) -> NDArray[np.float32]:
        place = np.arange(CHAIN) == self.at
        return np.append(place, self.length / CHAIN).astype(np.float32)


CHAINS = TaskPool(np.arange(1.0, CHAIN + 1)[:, None], names=["digits"])


def make_chain() -> TaskEnv:
    """`Chain` with 1 to 20 digits."""
    return TaskEnv(Chain(), CHAINS)
