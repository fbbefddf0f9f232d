"""Conventional implementations: one Gymnasium step at a time, with small NumPy arrays.

The baselines of `envs.py`. Both follow the same rules as procurl's environments.
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

    ahead = np.array([[-1, 0], [0, -1], [1, 0], [0, 1]])  # north, west, south, east

    def __init__(self, contexts: NDArray[np.float64]) -> None:
        self.contexts = contexts.astype(np.int64)
        self.observation_space = spaces.Box(0.0, 1.0, (88,), np.float32)
        self.action_space = spaces.Discrete(6)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.task = int(self.np_random.integers(len(self.contexts)))
        walls, cell, self.direction, markers, goal, self.goal_direction, goal_markers = (
            self.contexts[self.task]
        )
        self.walls, self.markers, self.goal_markers = map(grid, (walls, markers, goal_markers))
        self.position = np.array(divmod(cell, 4))
        self.goal = np.array(divmod(goal, 4))
        self.steps = 0
        return self.observe(), {"task": self.task}

    def step(self, action: int) -> Step:
        crashed = success = False
        here = tuple(self.position)
        if action == 0:
            position = self.position + self.ahead[self.direction]
            inside = np.all((position >= 0) & (position < 4))
            if inside and not self.walls[tuple(position)]:
                self.position = position
            else:
                crashed = True
        elif action == 1:
            self.direction = (self.direction + 1) % 4
        elif action == 2:
            self.direction = (self.direction - 1) % 4
        elif action == 3:
            crashed = not self.markers[here]
            self.markers[here] = 0
        elif action == 4:
            crashed = bool(self.markers[here])
            self.markers[here] = 1
        elif action == 5:
            success = (
                np.array_equal(self.position, self.goal)
                and self.direction == self.goal_direction
                and np.array_equal(self.markers, self.goal_markers)
            )
        else:
            raise ValueError(f"unknown action {action}")
        self.steps += 1
        done = crashed or action == 5 or self.steps >= 100
        info = {"task": self.task, "is_success": bool(success)}
        return self.observe(), float(success), bool(done), False, info

    def observe(self) -> NDArray[np.float32]:
        parts = [
            self.walls.ravel(),
            one_hot(4 * self.position[0] + self.position[1], 16),
            one_hot(self.direction, 4),
            self.markers.ravel(),
            one_hot(4 * self.goal[0] + self.goal[1], 16),
            one_hot(self.goal_direction, 4),
            self.goal_markers.ravel(),
        ]
        return np.concatenate(parts).astype(np.float32)


def grid(mask: int) -> NDArray[np.int64]:
    """[4, 4] the bits of a mask of cells, the lowest for the upper left."""
    return (mask >> np.arange(16) & 1).reshape(4, 4)


def one_hot(index: int, size: int) -> NDArray[np.int64]:
    hot = np.zeros(size, dtype=np.int64)
    hot[index] = 1
    return hot
