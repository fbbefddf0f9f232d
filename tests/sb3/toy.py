"""A guessing game in one step, in every space that Stable-Baselines3 knows.

In the easy tasks, the first half of the pool, every guess wins. In the hard ones a coin decides
which of two guesses does, so that no policy wins more than half of them. A critic that has learned
this puts easy tasks at 1 and hard ones at 0.5, and ProCuRL plays the hard ones.
"""

import gymnasium
import numpy as np
from gymnasium import spaces

from procurl import TaskEnv, TaskPool

N = 8
HARD = np.arange(N // 2, N)
POOL = TaskPool([[float(task)] for task in range(N)], names=["number"])
SIDE = 36  # of an image, the least that the usual network takes

SPACES = {
    "box": spaces.Box(0.0, 1.0, (N,), dtype=np.float32),
    "discrete": spaces.Discrete(N),
    "multibinary": spaces.MultiBinary(N),
    "dict": spaces.Dict(
        {
            "part": spaces.Discrete(2),
            "number": spaces.Box(0.0, 1.0, (N,), dtype=np.float32),
        }
    ),
    "image": spaces.Box(0, 255, (SIDE, SIDE, 1), dtype=np.uint8),
}


class Guess(gymnasium.Env):
    """Args: `space` is one of SPACES; `continuous` guesses by the sign of a number."""

    def __init__(self, space="box", continuous=False, blind=False):
        self.space = space
        self.observation_space = SPACES[space]
        self.blind = blind  # shows every task alike
        self.action_space = (
            spaces.Box(-1.0, 1.0, (1,), dtype=np.float32) if continuous else spaces.Discrete(2)
        )
        self.resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = int(options["context"][0])
        self.resets += 1
        self.over = False
        return self.seen(), {}

    def step(self, action):
        assert not self.over, "stepped after the end of the episode"
        self.over = True
        guess = int(np.asarray(action).reshape(-1)[0] > 0)
        won = self.number < N // 2 or guess == self.np_random.integers(2)
        return self.seen(), float(won), True, False, {"is_success": bool(won)}

    def seen(self):
        number = 0 if self.blind else self.number
        one_hot = np.zeros(N, dtype=np.float32)
        one_hot[number] = 1.0
        if self.space == "discrete":
            return number
        if self.space == "multibinary":
            return one_hot.astype(np.int8)
        if self.space == "dict":
            return {"part": int(number >= N // 2), "number": one_hot}
        if self.space == "image":
            return np.full((SIDE, SIDE, 1), 30 * number, dtype=np.uint8)
        return one_hot

    def action_masks(self):
        return np.array([True, True])


def guess_env(**settings):
    return TaskEnv(Guess(**settings), POOL)
