"""The environments of the paper, and what makes tasks of any Gymnasium environment's.

Importing this registers `procurl/PointMass-s-v0`, `procurl/PointMass-d-v0`,
`procurl/BasicKarel-v0`, `procurl/BallCatching-v0` and `procurl/AntGoal-v0` with Gymnasium, where
that is installed. PointMass and Karel need NumPy alone, or JAX; the other two MuJoCo.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from procurl.envs.registry import (
    environment_names,
    make_array_env,
    make_host_env,
    make_pool,
    register_with_gymnasium,
)

if TYPE_CHECKING:
    from procurl.envs.adapters.gym_env import GymEnv
    from procurl.envs.adapters.task_env import TaskEnv
    from procurl.envs.adapters.vector_env import GymVectorEnv

__all__ = [
    "GymEnv",
    "GymVectorEnv",
    "TaskEnv",
    "environment_names",
    "make_array_env",
    "make_host_env",
    "make_pool",
]

_NEED_GYMNASIUM = {
    "GymEnv": "gym_env",
    "GymVectorEnv": "vector_env",
    "TaskEnv": "task_env",
}

register_with_gymnasium()


def __getattr__(name: str) -> Any:
    if name in _NEED_GYMNASIUM:
        return getattr(import_module(f"procurl.envs.adapters.{_NEED_GYMNASIUM[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
