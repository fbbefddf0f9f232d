"""An environment of a user: walk down a corridor that is as long as the task says."""

import gymnasium
import numpy as np
from gymnasium import spaces

from procurl import TaskPool

LIMIT = 8


class Corridor(gymnasium.Env):
    observation_space = spaces.Box(0.0, 10.0, (2,), dtype=np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length = float(options["context"][0])
        self.place = self.steps = 0
        return self.seen(), {}

    def step(self, action):
        self.place += int(action)
        self.steps += 1
        won = self.place >= self.length
        info = {"is_success": won} if won or self.steps == LIMIT else {}
        return self.seen(), float(won), won, self.steps == LIMIT, info

    def seen(self):
        return np.array([self.length, self.place], dtype=np.float32)


class SavedCorridor(Corridor):
    """Can be saved in the middle of an episode."""

    def state_dict(self):
        return {"rng": self.np_random.bit_generator.state, "state": {"seen": self._state()}}

    def load_state_dict(self, saved):
        self.np_random.bit_generator.state = saved["rng"]
        self.length, self.place, self.steps = saved["state"]["seen"].tolist()
        self.place, self.steps = int(self.place), int(self.steps)

    def _state(self):
        return np.array([self.length, self.place, self.steps])


def lengths():
    return TaskPool([[1.0], [3.0], [6.0]], names=["length"])
