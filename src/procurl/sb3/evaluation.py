"""The performance of a policy on every task of a pool."""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from procurl.envs.adapters.play_pool import task_env_of
from procurl.envs.adapters.task_env import TaskEnv
from procurl.internals.checks import require_integer
from procurl.sb3.envs.episodes import play_tasks
from procurl.sb3.envs.eval_env import (
    EnvLike,
    match_wrappers,
    require_same_spaces,
    share_environments,
    vec_env_of,
)
from procurl.sb3.envs.workers import Workers
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import require_same_columns
from procurl.tasks.space import TaskSpace


class PoolEvaluation(NamedTuple):
    """The results of a policy on m tasks."""

    tasks: NDArray[np.int64]  # [m] ids
    returns: NDArray[np.float64]  # [m] undiscounted, mean over the task's episodes
    success: NDArray[np.float64]  # [m] share of episodes, NaN if the environment does not report it
    steps: int  # environment steps in all episodes

    @property
    def performance(self) -> float:
        """The mean return, with equal weight for every task."""
        return float(self.returns.mean())


def evaluate_pool(
    model: BaseAlgorithm,
    env: EnvLike,
    pool: TaskPool,
    *,
    episodes: int = 1,
    deterministic: bool = True,
    tasks: Any = None,
    seed: int = 0,
) -> PoolEvaluation:
    """Play every task of `pool` with the model's policy.

    Args:
        model: a model of Stable-Baselines3 or a compatible package.
        env: an environment, a vector environment of `TaskEnv`s, or a function that makes an
            environment, which is called several times. It is wrapped in `TaskEnv` if it is not one
            already. It must not be the model's training environment.
        pool: the tasks.
        episodes: episodes per task.
        deterministic: whether the policy acts deterministically.
        tasks: ids [m] of the tasks to play; None plays all.
        seed: seed of the environments.
    """
    require_integer("episodes", episodes, at_least=1)
    require_integer("seed", seed, at_least=0)
    training = model.get_env()
    played_in = match_wrappers(with_tasks(env, pool, "env"), training)
    if share_environments(played_in, training):
        raise ValueError(
            "env must not be the model's training environment: "
            "evaluations would interrupt the training episodes"
        )
    require_same_spaces(played_in, model, "env")
    if training is not None and all(training.env_is_wrapped(TaskEnv)):
        require_same_columns("pool", pool, Workers(training).pool)
    workers = Workers(played_in)
    workers.require_pool(pool, "env")
    return evaluate(
        model, workers, episodes=episodes, deterministic=deterministic, tasks=tasks, seed=seed
    )


def evaluate(
    model: BaseAlgorithm,
    workers: Workers,
    *,
    episodes: int = 1,
    deterministic: bool = True,
    tasks: Any = None,
    seed: int = 0,
) -> PoolEvaluation:
    """`evaluate_pool` in environments that are already checked."""
    n = len(workers.pool)
    ids = np.arange(n) if tasks is None else np.asarray(tasks)
    known = ids.dtype.kind in "iu" and np.isin(ids, np.arange(n)).all()
    if ids.ndim != 1 or not ids.size or not known:
        raise ValueError(f"tasks must be ids from 0 to {n - 1}, at least one, got {tasks!r}")
    found = play_tasks(
        model, workers, np.repeat(ids, episodes), deterministic=deterministic, seed=seed
    )
    return PoolEvaluation(
        ids,
        found.returns.reshape(-1, episodes).mean(axis=1),
        found.success.reshape(-1, episodes).mean(axis=1),
        found.steps,
    )


def with_tasks(env: EnvLike, pool: TaskPool | TaskSpace, argument: str = "eval_env") -> VecEnv:
    """A vector environment that plays `pool` or tasks of a space, from what a user passed."""
    if isinstance(env, VecEnv):
        return env
    if isinstance(env, gymnasium.Env):
        return vec_env_of(_task_env(env, pool), argument)
    return vec_env_of((lambda: _task_env(env(), pool)) if callable(env) else env, argument)


def _task_env(env: gymnasium.Env[Any, Any], pool: TaskPool | TaskSpace) -> gymnasium.Env[Any, Any]:
    return TaskEnv(env, pool) if task_env_of(env) is None else env
