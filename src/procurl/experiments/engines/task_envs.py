"""The environments of a run, one of ours or any other, each with the tasks of a pool."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from procurl.envs import EnvSource, TaskEnv, make_host_env
from procurl.envs.adapters.closing import close_env
from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.adapters.looks import same_observation
from procurl.experiments.batches import Job
from procurl.tasks.pool import TaskPool

START_SAMPLES = 16  # initial observations per task whose values are averaged, if resets are random
MOST_RESETS = 2_000  # of an environment that is not ours, for these samples
PROBED_TASKS = 3
PROBE_SEEDS = (1, 2)

MakeEnv = Callable[[], gymnasium.Env[Any, Any]]


def task_env_maker(job: Job, pool: TaskPool) -> MakeEnv:
    """A function that makes an environment with the tasks of `pool`; ours share their dynamics."""
    source = job.source
    if source is not None:
        return lambda: source.make_task_env(pool)
    dynamics = make_host_env(job.experiment.env)
    return lambda: TaskEnv(GymEnv(dynamics, pool), pool)


def reset_samples(job: Job, pool: TaskPool) -> int:
    """The number of resets per task of `pool` over which the critic's value is averaged.

    1 unless resets of the same task differ.
    """
    if job.source is None:
        dynamics = make_host_env(job.experiment.env)
        return START_SAMPLES if np.prod(dynamics.start_noise_shape) else 1
    if not resets_are_random(job.source, pool):
        return 1
    return max(1, min(START_SAMPLES, MOST_RESETS // len(pool)))


def require_reset(source: EnvSource, pool: TaskPool) -> None:
    """Raise if the environment cannot be reset to the first task."""
    env = source.make_task_env(pool)
    try:
        env.reset(seed=PROBE_SEEDS[0], options={"task": 0})
    finally:
        close_env(env)


def resets_are_random(source: EnvSource, pool: TaskPool) -> bool:
    """Whether two resets of one of the first tasks, with different seeds, look different."""
    env = source.make_task_env(pool)
    try:
        for task in range(min(PROBED_TASKS, len(pool))):
            one, other = (env.reset(seed=s, options={"task": task})[0] for s in PROBE_SEEDS)
            if not same_observation(one, other):
                return True
        return False
    finally:
        close_env(env)
