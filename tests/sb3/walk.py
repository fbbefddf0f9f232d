"""A walk of a few steps to the right; how many is the task."""

import gymnasium
import numpy as np
from gymnasium import spaces

from procurl import TaskEnv, TaskPool

LENGTHS = TaskPool([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], names=["length"])
LIMIT = 8


class Walk(gymnasium.Env):
    """Shows (position, length, noise). Reaching `length` is worth 1; there are LIMIT steps.

    Args:
        guarded: once a step was taken, a reset in the midst of an episode is an error, as is a
            step after its end.
        noise: of the third number, drawn at every reset.
    """

    observation_space = spaces.Box(-9.0, 9.0, (3,), dtype=np.float32)

    def __init__(self, guarded=False, noise=0.0, continuous=False):
        self.guarded = guarded
        self.noise = noise
        self.action_space = (
            spaces.Box(-1.0, 1.0, (1,), dtype=np.float32) if continuous else spaces.Discrete(2)
        )
        self.stepped = False  # ever
        self.over = True

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.guarded and self.stepped and not self.over:
            raise AssertionError("a training episode was broken off")
        self.length = float(options["context"][0])
        self.position, self.steps, self.over = 0.0, 0, False
        self.drawn = self.noise * self.np_random.standard_normal()
        return self.seen(), {}

    def step(self, action):
        if self.over:
            raise AssertionError("stepped after the end of an episode")
        self.stepped = True
        right = float(np.asarray(action).reshape(-1)[0]) > 0
        self.position = max(0.0, self.position + (1.0 if right else -1.0))
        self.steps += 1
        won = self.position >= self.length
        self.over = won or self.steps == LIMIT
        return self.seen(), float(won), self.over, False, {"is_success": won}

    def seen(self):
        return np.array([self.position, self.length, self.drawn], dtype=np.float32)


gymnasium.register("tests/Walk-v0", entry_point="tests.sb3.walk:Walk")


def walk_env(**settings):
    return TaskEnv(Walk(**settings), LENGTHS)
