"""A corridor as long as its task says, with traits and faults to be found."""

from dataclasses import dataclass

import gymnasium
import numpy as np
from gymnasium import spaces

from procurl import TaskPool

LIMIT = 10
POOL = TaskPool([[float(length)] for length in range(1, 9)], names=["length"])


@dataclass
class Corridor(gymnasium.Env):
    """Walk `length` steps to the right; the reward is 1 at the end of the corridor, else 0."""

    shows: bool = True  # the task in the observation
    uses: bool = True  # the task
    noise: float = 0.0  # of the start
    seeded: bool = True
    ends: bool = True
    cost: float = 0.0  # of a step
    reports: float = 0.0  # share of the episodes at whose end success is reported
    bad_reward: float | None = None  # at step 3 of task 5
    bad_observation: bool = False
    fails: str = ""  # raise in reset or step, on task 5
    flag: object = None  # is_success, if not a boolean
    dtype: type = np.float32
    shape: tuple[int, ...] = (2,)

    def __post_init__(self):
        self.observation_space = spaces.Box(-10.0, 10.0, (2,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.length = 3.0
        self.episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.uses and options is not None:
            self.length = float(options["context"][0])
        if self.fails == "reset" and self.length == 6:
            raise KeyError("level 6")
        rng = self.np_random if self.seeded else np.random.default_rng()
        self.place = self.noise * rng.uniform()
        self.steps = 0
        self.episodes += 1
        return self.seen(), {}

    def step(self, action):
        if self.fails == "step" and self.length == 6:
            raise ZeroDivisionError("division by zero\nin physics")
        self.place += float(action)
        self.steps += 1
        won = self.place >= self.length
        reward = float(won) - self.cost
        if self.bad_reward is not None and self.length == 6 and self.steps == 3:
            reward = self.bad_reward
        cut = self.ends and self.steps >= LIMIT
        info = {}
        if (won or cut) and self.episodes % 10 < 10 * self.reports:
            info["is_success"] = bool(won) if self.flag is None else self.flag
        return self.seen(), reward, bool(won and self.ends), cut, info

    def seen(self):
        seen = np.zeros(self.shape, dtype=self.dtype)
        seen.flat[:2] = [self.length if self.shows else 0.0, self.place / 10]
        if self.bad_observation and self.steps == 2:
            seen.flat[1] = np.nan
        return seen
