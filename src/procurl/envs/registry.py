"""The environments by name, each loaded when it is asked for."""

from importlib.util import find_spec
from pkgutil import resolve_name
from typing import NamedTuple

from procurl.envs.array_env import ArrayEnv
from procurl.internals.checks import suggest
from procurl.tasks.pool import TaskPool


class Registered(NamedTuple):
    """An environment that the command line and Gymnasium know."""

    gym_id: str
    array_env: str  # module:class of what the JAX engine compiles, made without arguments
    pool: str  # module:function of kind, size and seed
    host_env: str | None = None  # what steps on the host, where that is another class


_POINT_MASS_POOL = "procurl.envs.point_mass.pool:point_mass_pool"

ENVIRONMENTS: dict[str, Registered] = {
    "pointmass-s": Registered(
        "procurl/PointMass-s-v0",
        "procurl.envs.point_mass.dynamics:SparsePointMass",
        _POINT_MASS_POOL,
    ),
    "pointmass-d": Registered(
        "procurl/PointMass-d-v0",
        "procurl.envs.point_mass.dynamics:DensePointMass",
        _POINT_MASS_POOL,
    ),
    "basickarel": Registered(
        "procurl/BasicKarel-v0",
        "procurl.envs.karel.dynamics:Karel",
        "procurl.envs.karel.pool:karel_pool",
    ),
    "ballcatching": Registered(
        "procurl/BallCatching-v0",
        "procurl.envs.ball_catching.mjx:MjxBallCatching",
        "procurl.envs.ball_catching.pool:ball_catching_pool",
        "procurl.envs.ball_catching.host:HostBallCatching",
    ),
    "antgoal": Registered(
        "procurl/AntGoal-v0",
        "procurl.envs.ant_goal.mjx:MjxAntGoal",
        "procurl.envs.ant_goal.pool:ant_goal_pool",
        "procurl.envs.ant_goal.host:HostAntGoal",
    ),
}


def environment_names() -> tuple[str, ...]:
    """The names that `make_array_env`, `make_host_env` and `make_pool` know."""
    return tuple(ENVIRONMENTS)


def make_array_env(name: str) -> ArrayEnv:
    """The dynamics of that name, as the JAX engine compiles them.

    >>> make_array_env("pointmass-s").context_names
    ('gate_position', 'gate_width', 'friction')
    """
    made = resolve_name(_registered(name).array_env)()
    assert isinstance(made, ArrayEnv)
    return made


def make_host_env(name: str) -> ArrayEnv:
    """The dynamics of that name, as the Gymnasium forms step them.

    >>> make_host_env("antgoal").context_names
    ('goal_x', 'goal_y')
    """
    registered = _registered(name)
    made = resolve_name(registered.host_env or registered.array_env)()
    assert isinstance(made, ArrayEnv)
    return made


def make_pool(
    name: str, kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """A pool of that environment's tasks.

    Args:
        name: of the environment.
        kind: `uniform`, `test` or, where there is one, `hard` and, of Karel, `hard-test`.
        size: number of tasks; by default as in the paper.
        seed: of the draw; by default the one that the project's results were made with.
    """
    pool = resolve_name(_registered(name).pool)(kind, size=size, seed=seed)
    assert isinstance(pool, TaskPool)
    return pool


def register_with_gymnasium() -> None:
    """Make the ids known to `gymnasium.make` and `make_vec`; nothing where it is not installed.

    No time limit is set: the horizon is part of the environments and terminates episodes.
    """
    if find_spec("gymnasium") is None:
        return
    import gymnasium

    for name, registered in ENVIRONMENTS.items():
        if registered.gym_id not in gymnasium.registry:
            gymnasium.register(
                registered.gym_id,
                entry_point="procurl.envs.adapters.gym_env:GymEnv",
                vector_entry_point="procurl.envs.adapters.vector_env:GymVectorEnv",
                kwargs={"env": name},
            )


def _registered(name: str) -> Registered:
    if name not in ENVIRONMENTS:
        raise ValueError(
            f"environment {name!r} is not known.{suggest(name, ENVIRONMENTS)} "
            f"Known environments: {', '.join(ENVIRONMENTS)}"
        )
    return ENVIRONMENTS[name]
