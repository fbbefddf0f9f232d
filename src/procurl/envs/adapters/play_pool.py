"""Any Gymnasium environment with the tasks of a pool, whether it is a `TaskEnv` already or not."""

from collections.abc import Callable
from typing import Any

import gymnasium

from procurl.envs.adapters.task_env import TaskEnv
from procurl.tasks.pool import TaskPool


def play_pool(
    env: gymnasium.Env[Any, Any],
    pool: TaskPool,
    set_task: Callable[[Any, Any], None] | None = None,
) -> gymnasium.Env[Any, Any]:
    """`env` so that its resets play the tasks of `pool`.

    It is wrapped in `TaskEnv`. A `TaskEnv` that it already holds, possibly inside other wrappers,
    is replaced if its pool is another one.

    Args:
        env: the environment.
        pool: its tasks.
        set_task: as for `TaskEnv`; None keeps that of the `TaskEnv` it holds.
    """
    inside = task_env_of(env)
    if inside is None:
        return TaskEnv(env, pool, set_task)
    if set_task is None and inside.pool.fingerprint == pool.fingerprint:
        return env
    replaced = TaskEnv(inside.env, pool, set_task or inside.task_setter)
    if inside is env:
        return replaced
    outside: Any = env
    while outside.env is not inside:
        outside = outside.env
    outside.env = replaced
    return env


def task_env_of(env: gymnasium.Env[Any, Any]) -> TaskEnv | None:
    """The `TaskEnv` that `env` is or holds inside other wrappers; None if there is none."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TaskEnv):
            return env
        env = env.env
    return None
