"""MiniGrid levels by seed."""

from typing import Any

import gymnasium
from gymnasium.wrappers import FlattenObservation
from minigrid.core.world_object import Wall
from minigrid.envs.crossing import CrossingEnv
from minigrid.wrappers import ImgObsWrapper

from procurl import TaskEnv, TaskPool

LEVELS = TaskPool.from_seeds(40)
LEVEL_STEPS = 80


class Level(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Turns and steps only, and `is_success` at the end of an episode."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(3)  # the others pick up, drop and open

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            info = info | {"is_success": float(reward) > 0}
        return observation, reward, terminated, truncated, info


def make_level() -> TaskEnv:
    """A room with a wall that has one gap, drawn by the seed; 1 − 0.9·t/T at the goal."""
    env: Any = CrossingEnv(size=7, num_crossings=1, obstacle_type=Wall, max_steps=LEVEL_STEPS)
    view: Any = ImgObsWrapper(env)  # type: ignore[no-untyped-call]
    return TaskEnv(Level(FlattenObservation(view)), LEVELS)
