"""The environments as one usually writes them: one Gymnasium step at a time, small NumPy arrays.

They are what `envs.py` measures against. Both follow the same rules as procurl's own.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class UsualPointMass(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """PointMass-s over contexts [n, 3]."""

    def __init__(self, contexts: NDArray[np.float64]) -> None:
        self.contexts = contexts
        self.observation_space = spaces.Box(-160.0, 160.0, (7,), np.float32)
        self.action_space = spaces.Box(-10.0, 10.0, (2,), np.float32)
        self.low = np.array([-4.0, -np.inf, -4.0, -np.inf])
        self.high = np.array([4.0, np.inf, 4.0, np.inf])
        self.goal = np.array([0.0, -3.0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.context = self.contexts[self.np_random.integers(len(self.contexts))]
        self.state = np.array([0.0, 0.0, 3.0, 0.0])  # x, vx, y, vy
        self.steps = 0
        return self.observe(), {}

    def step(self, action: NDArray[np.float32]) -> Step:
        action = np.clip(action, -10.0, 10.0)
        crashed = False
        for _ in range(10):
            crashed = self.substep(action)
            if crashed:
                break
        self.steps += 1
        success = bool(np.linalg.norm(self.state[0::2] - self.goal) < 0.3)
        done = crashed or success or self.steps >= 100
        return self.observe(), float(success), done, False, {"is_success": success}

    def substep(self, action: NDArray[np.float32]) -> bool:
        gate, width, friction = self.context
        old = self.state
        change = np.empty(4)
        change[0::2] = old[1::2]
        change[1::2] = 1.5 * action - friction * old[1::2] + self.np_random.normal(0.0, 0.05, 2)
        new = np.clip(old + 0.01 * change, self.low, self.high)
        if old[2] >= 0 > new[2] or old[2] <= 0 < new[2]:
            x = old[0] + old[2] / (old[2] - new[2]) * (new[0] - old[0])
            if abs(x - gate) > 0.5 * width:
                self.state = np.array([x, 0.0, 0.0, 0.0])
                return True
        self.state = new
        return False

    def observe(self) -> NDArray[np.float32]:
        return np.concatenate([self.state, self.context]).astype(np.float32)


class UsualKarel(gymnasium.Env[NDArray[np.float32], Any]):
    """BasicKarel over contexts [n, 7]: walls, cell, direction, markers and the target's three."""

    turns = ((-1, 0), (0, -1), (1, 0), (0, 1))  # north, west, south, east

    def __init__(self, contexts: NDArray[np.float64]) -> None:
        self.contexts = contexts.astype(np.int64)
        self.observation_space = spaces.Box(0.0, 1.0, (88,), np.float32)
        self.action_space = spaces.Discrete(6)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        context = self.contexts[self.np_random.integers(len(self.contexts))]
        walls, cell, self.direction, markers, goal_cell, self.goal_direction, goal_markers = context
        bits = np.arange(16)
        self.walls = (walls >> bits & 1).reshape(4, 4)
        self.markers = (markers >> bits & 1).reshape(4, 4)
        self.goal_markers = (goal_markers >> bits & 1).reshape(4, 4)
        self.place = divmod(int(cell), 4)
        self.goal = divmod(int(goal_cell), 4)
        self.steps = 0
        return self.observe(), {}

    def step(self, action: int) -> Step:
        crashed = success = False
        if action == 0:
            row = self.place[0] + self.turns[self.direction][0]
            column = self.place[1] + self.turns[self.direction][1]
            if 0 <= row < 4 and 0 <= column < 4 and not self.walls[row, column]:
                self.place = (row, column)
            else:
                crashed = True
        elif action in (1, 2):
            self.direction = (self.direction + (1 if action == 1 else 3)) % 4
        elif action in (3, 4):
            wanted = 1 if action == 3 else 0
            crashed = bool(self.markers[self.place] != wanted)
            self.markers[self.place] = 1 - wanted
        else:
            success = (
                self.place == self.goal
                and self.direction == self.goal_direction
                and np.array_equal(self.markers, self.goal_markers)
            )
        self.steps += 1
        done = bool(crashed or action == 5 or self.steps >= 100)
        return self.observe(), float(success), done, False, {"is_success": success}

    def observe(self) -> NDArray[np.float32]:
        parts = [
            self.walls.ravel(),
            *self.pose(self.place, self.direction),
            self.markers.ravel(),
            *self.pose(self.goal, self.goal_direction),
            self.goal_markers.ravel(),
        ]
        return np.concatenate(parts).astype(np.float32)

    def pose(self, place: tuple[int, int], direction: int) -> tuple[NDArray[Any], NDArray[Any]]:
        cell, faces = np.zeros(16), np.zeros(4)
        cell[4 * place[0] + place[1]] = 1
        faces[direction] = 1
        return cell, faces
