"""The engines by name, and the one that an environment is trained with."""

from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from procurl.envs.registry import ENVIRONMENTS
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.trainer import Trainer
from procurl.internals.extras import JAX, SB3

# Each makes a trainer from a job and a batch. Loaded when needed: the engines import JAX or torch.
TRAINERS = {
    "jax": "procurl.experiments.engines.jax_trainer:make_jax_trainer",
    "host": "procurl.experiments.engines.host_trainer:make_host_trainer",
    "sb3": "procurl.experiments.engines.sb3_trainer:make_sb3_trainer",
}
ENGINES = tuple(TRAINERS)


def resolve_engine(engine: str, env: str, device: str) -> str:
    """The engine that trains when a user asks for `engine`.

    On a CPU, `jax` is `host` for environments with a host form: MuJoCo itself is much faster there
    than MuJoCo's physics in JAX.

    Args:
        engine: one of `ENGINES`.
        env: name of the environment.
        device: `cpu` or `gpu`.
    """
    if engine == "jax" and device == "cpu" and has_host_form(env):
        return "host"
    return engine


def default_engine(observation_space: Any, action_space: Any) -> str:
    """The engine for an environment that is not ours.

    `host` if JAX is installed and our PPO fits: a vector of numbers to see, and one choice or a
    vector of numbers to do. Otherwise `sb3`, whose policies also see images and dicts.
    """
    from gymnasium import spaces

    numbers = isinstance(observation_space, spaces.Box) and len(observation_space.shape) == 1
    discrete = isinstance(action_space, spaces.Discrete) and action_space.start == 0
    vector = isinstance(action_space, spaces.Box) and action_space.dtype.kind == "f"
    installed = all(map(find_spec, JAX))
    return "host" if numbers and (discrete or vector) and installed else "sb3"


def engine_packages(engine: str) -> tuple[str, ...]:
    """The packages that an engine imports."""
    return SB3 if engine == "sb3" else JAX


def make_trainer(job: Job, batch: RunBatch) -> Trainer:
    """The batch at its first step, in the engine of its experiment."""
    trainer: Trainer = resolve_name(TRAINERS[job.experiment.engine])(job, batch)
    return trainer


def trainer_module(engine: str) -> str:
    """The module to import before an engine's trainers can be made."""
    return TRAINERS[engine].partition(":")[0]


def has_host_form(env: str) -> bool:
    """Whether the environment has a second implementation that steps on the host."""
    return ENVIRONMENTS[env].host_env is not None


def host_environments() -> tuple[str, ...]:
    """The environments that the engine `host` can train."""
    return tuple(filter(has_host_form, ENVIRONMENTS))
