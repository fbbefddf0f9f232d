"""The environments by name. Each is imported when it is first made."""

from importlib.util import find_spec
from pkgutil import resolve_name
from typing import NamedTuple

from procurl.envs.array_env import ArrayEnv
from procurl.internals.checks import require_known
from procurl.tasks.pool import TaskPool


class EnvSpec(NamedTuple):
    """Where to find an environment that the command line and Gymnasium know."""

    gym_id: str
    array_env: str  # module:class that the JAX engine compiles, called without arguments
    pool: str  # module:function of kind, size and seed
    host_env: str | None = None  # module:class that steps on the host, if it is another one


_POINT_MASS_POOL = "procurl.envs.point_mass.pool:point_mass_pool"

ENVIRONMENTS: dict[str, EnvSpec] = {
    "pointmass-s": EnvSpec(
        "procurl/PointMass-s-v0",
        "procurl.envs.point_mass.dynamics:SparsePointMass",
        _POINT_MASS_POOL,
    ),
    "pointmass-d": EnvSpec(
        "procurl/PointMass-d-v0",
        "procurl.envs.point_mass.dynamics:DensePointMass",
        _POINT_MASS_POOL,
    ),
    "basickarel": EnvSpec(
        "procurl/BasicKarel-v0",
        "procurl.envs.karel.dynamics:Karel",
        "procurl.envs.karel.pool:karel_pool",
    ),
    "ballcatching": EnvSpec(
        "procurl/BallCatching-v0",
        "procurl.envs.ball_catching.mjx:MjxBallCatching",
        "procurl.envs.ball_catching.pool:ball_catching_pool",
        "procurl.envs.ball_catching.host:HostBallCatching",
    ),
    "antgoal": EnvSpec(
        "procurl/AntGoal-v0",
        "procurl.envs.ant_goal.mjx:MjxAntGoal",
        "procurl.envs.ant_goal.pool:ant_goal_pool",
        "procurl.envs.ant_goal.host:HostAntGoal",
    ),
    "sgr": EnvSpec(
        "procurl/SparseGoal-v0",
        "procurl.envs.sparse_goal.dynamics:SparseGoal",
        "procurl.envs.sparse_goal.pool:sparse_goal_pool",
    ),
}


def environment_names() -> tuple[str, ...]:
    """The names that `make_array_env`, `make_host_env` and `make_pool` accept."""
    return tuple(ENVIRONMENTS)


def make_array_env(name: str) -> ArrayEnv:
    """Make the array environment `name` as the JAX engine compiles it.

    >>> make_array_env("pointmass-s").context_names
    ('gate_position', 'gate_width', 'friction')
    """
    env = resolve_name(_spec(name).array_env)()
    assert isinstance(env, ArrayEnv)
    return env


def make_host_env(name: str) -> ArrayEnv:
    """Make the array environment `name` as it steps on the host, with NumPy or MuJoCo's C library.

    >>> make_host_env("antgoal").context_names
    ('goal_x', 'goal_y')
    """
    spec = _spec(name)
    env = resolve_name(spec.host_env or spec.array_env)()
    assert isinstance(env, ArrayEnv)
    return env


def make_pool(
    name: str, kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Draw a pool of tasks for the environment `name`.

    Args:
        name: of the environment.
        kind: `uniform` or `test`; PointMass and Karel also have `hard`, Karel has `hard-test`,
            SparseGoal has `target`, PointMass `target-one-mode`, `target-two-modes` and
            `target-task`.
        size: number of tasks; by default as in the paper.
        seed: of the draw; by default the one behind the published results.
    """
    pool = resolve_name(_spec(name).pool)(kind, size=size, seed=seed)
    assert isinstance(pool, TaskPool)
    return pool


def register_with_gymnasium() -> None:
    """Register the ids with `gymnasium.make` and `make_vec`, if Gymnasium is installed.

    No time limit is set: the horizon is part of each environment and terminates its episodes.
    """
    if find_spec("gymnasium") is None:
        return
    import gymnasium

    for name, spec in ENVIRONMENTS.items():
        if spec.gym_id not in gymnasium.registry:
            gymnasium.register(
                spec.gym_id,
                entry_point="procurl.envs.adapters.gym_env:GymEnv",
                vector_entry_point="procurl.envs.adapters.vector_env:GymVectorEnv",
                kwargs={"env": name},
            )


def _spec(name: str) -> EnvSpec:
    require_known("environment", name, ENVIRONMENTS, "environments")
    return ENVIRONMENTS[name]
