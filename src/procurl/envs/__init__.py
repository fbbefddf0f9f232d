"""The environments of the two papers, their pools and pictures, and adapters to Gymnasium.

Each environment has a package: `point_mass`, `karel`, `ball_catching`, `ant_goal` and
`sparse_goal`; `ball_catching` and `ant_goal` share `mujoco`. `array_env` defines what an array
environment is, `registry` finds one by its name, `adapters` turns it into Gymnasium environments,
`sources` finds any other environment, `checking` says what a curriculum would see of it, and
`rendering` draws and animates episodes.

Importing this package registers `procurl/PointMass-s-v0`, `procurl/PointMass-d-v0`,
`procurl/BasicKarel-v0`, `procurl/BallCatching-v0`, `procurl/AntGoal-v0` and `procurl/SparseGoal-v0`
with Gymnasium, if it is installed. PointMass, Karel and SparseGoal need NumPy, or JAX; BallCatching
and AntGoal need MuJoCo.
"""

from typing import TYPE_CHECKING

from procurl.envs.array_env import ArrayEnv, Transition, require_context
from procurl.envs.registry import (
    environment_names,
    make_array_env,
    make_host_env,
    make_pool,
    register_with_gymnasium,
)
from procurl.envs.sources.pools import pool_of, read_pool
from procurl.envs.sources.resolve import register_environment, resolve_environment
from procurl.envs.sources.source import EnvSource
from procurl.internals.lazy import lazy_names

if TYPE_CHECKING:
    from procurl.envs.adapters.curriculum_env import CurriculumVectorEnv
    from procurl.envs.adapters.gym_env import GymEnv
    from procurl.envs.adapters.task_env import EpisodeStatistics, TaskEnv
    from procurl.envs.adapters.vector_env import GymVectorEnv
    from procurl.envs.ant_goal.host import HostAntGoal
    from procurl.envs.ant_goal.mjx import MjxAntGoal
    from procurl.envs.ant_goal.pool import ant_goal_pool
    from procurl.envs.ball_catching.host import HostBallCatching
    from procurl.envs.ball_catching.mjx import MjxBallCatching
    from procurl.envs.ball_catching.pool import ball_catching_pool
    from procurl.envs.checking.check import EnvironmentCheck, check_environment
    from procurl.envs.checking.finding import Finding
    from procurl.envs.karel.dynamics import Karel
    from procurl.envs.karel.file import read_karel_pool, write_karel_pool
    from procurl.envs.karel.generator import KarelDifficulty, generate_karel_tasks
    from procurl.envs.karel.picture import karel_picture
    from procurl.envs.karel.pool import karel_pool, karel_solutions
    from procurl.envs.karel.task import karel_context, karel_task
    from procurl.envs.point_mass.dynamics import DensePointMass, SparsePointMass
    from procurl.envs.point_mass.pool import point_mass_pool
    from procurl.envs.rendering.contact_sheet import contact_sheet, write_png
    from procurl.envs.rendering.playback import Episode, play, write_gif
    from procurl.envs.sparse_goal.dynamics import SparseGoal
    from procurl.envs.sparse_goal.pool import sparse_goal_pool

__all__ = [
    "ArrayEnv",
    "CurriculumVectorEnv",
    "DensePointMass",
    "EnvSource",
    "EnvironmentCheck",
    "Episode",
    "EpisodeStatistics",
    "Finding",
    "GymEnv",
    "GymVectorEnv",
    "HostAntGoal",
    "HostBallCatching",
    "Karel",
    "KarelDifficulty",
    "MjxAntGoal",
    "MjxBallCatching",
    "SparseGoal",
    "SparsePointMass",
    "TaskEnv",
    "Transition",
    "ant_goal_pool",
    "ball_catching_pool",
    "check_environment",
    "contact_sheet",
    "environment_names",
    "generate_karel_tasks",
    "karel_context",
    "karel_picture",
    "karel_pool",
    "karel_solutions",
    "karel_task",
    "make_array_env",
    "make_host_env",
    "make_pool",
    "play",
    "point_mass_pool",
    "pool_of",
    "read_karel_pool",
    "read_pool",
    "register_environment",
    "require_context",
    "resolve_environment",
    "sparse_goal_pool",
    "write_gif",
    "write_karel_pool",
    "write_png",
]

# Imported on first use, because these need Gymnasium, Pillow or MuJoCo, or take time to import.
_LAZY_NAMES = {
    "adapters.curriculum_env": ("CurriculumVectorEnv",),
    "adapters.gym_env": ("GymEnv",),
    "adapters.task_env": ("EpisodeStatistics", "TaskEnv"),
    "adapters.vector_env": ("GymVectorEnv",),
    "ant_goal.host": ("HostAntGoal",),
    "ant_goal.mjx": ("MjxAntGoal",),
    "ant_goal.pool": ("ant_goal_pool",),
    "ball_catching.host": ("HostBallCatching",),
    "ball_catching.mjx": ("MjxBallCatching",),
    "ball_catching.pool": ("ball_catching_pool",),
    "checking.check": ("EnvironmentCheck", "check_environment"),
    "checking.finding": ("Finding",),
    "karel.dynamics": ("Karel",),
    "karel.file": ("read_karel_pool", "write_karel_pool"),
    "karel.generator": ("KarelDifficulty", "generate_karel_tasks"),
    "karel.picture": ("karel_picture",),
    "karel.pool": ("karel_pool", "karel_solutions"),
    "karel.task": ("karel_context", "karel_task"),
    "point_mass.dynamics": ("DensePointMass", "SparsePointMass"),
    "point_mass.pool": ("point_mass_pool",),
    "rendering.contact_sheet": ("contact_sheet", "write_png"),
    "rendering.playback": ("Episode", "play", "write_gif"),
    "sparse_goal.dynamics": ("SparseGoal",),
    "sparse_goal.pool": ("sparse_goal_pool",),
}
_MODULES = {
    name: f"procurl.envs.{module}" for module, names in _LAZY_NAMES.items() for name in names
}

register_with_gymnasium()

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
