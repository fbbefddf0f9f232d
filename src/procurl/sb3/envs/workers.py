"""The environments that play tasks of a pool: which tasks they play next, what came of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from procurl.envs.adapters.task_env import Played, TaskEnv
from procurl.tasks.pool import TaskPool

Ids = NDArray[np.int64]
HOW = "env = TaskEnv(MyEnv(), pool), or make_vec_env(lambda: TaskEnv(MyEnv(), pool), n_envs=4)"


class Workers:
    """The b environments of a vector environment, each a `TaskEnv` over the same pool.

    Args:
        env: of Stable-Baselines3, in this process or in others.
        argument: what to call it in errors.
    """

    def __init__(self, env: VecEnv, argument: str = "env") -> None:
        if not all(env.env_is_wrapped(TaskEnv)):
            raise ValueError(
                f"{argument} takes no tasks: every environment in it must be a procurl.TaskEnv, as "
                f"in {HOW}"
            )
        self.env = env
        self.n_envs = env.num_envs
        self.pool = _common_pool(env, argument)

    def push(self, ids: Ids) -> None:
        """Play row i of `ids` [b, k] in environment i from its next reset on."""
        for i, queue in enumerate(ids.tolist()):
            self.env.env_method("push_tasks", queue, indices=i)

    def deal(self, ids: Ids) -> NDArray[np.int64]:
        """Push `ids` [m] to the environments one after another; [b] how many each got."""
        for i in range(self.n_envs):
            self.env.env_method("push_tasks", ids[i :: self.n_envs].tolist(), indices=i)
        return np.bincount(np.arange(len(ids)) % self.n_envs, minlength=self.n_envs)

    def collect(self) -> list[Played]:
        """[b] the episodes that ended in each environment since the last call."""
        return self.env.env_method("collect")

    def require_pool(self, pool: TaskPool, argument: str) -> None:
        """Raise where these environments play another pool than `pool`."""
        if self.pool.fingerprint != pool.fingerprint:
            raise ValueError(
                f"{argument} plays another pool, {self.pool}, than {pool}: "
                "ids would mean other tasks"
            )


def _common_pool(env: VecEnv, argument: str) -> TaskPool:
    pools: list[Any] = env.get_attr("pool")
    first = pools[0]
    if not isinstance(first, TaskPool):
        raise TypeError(
            f"{argument}: a wrapper around TaskEnv hides its pool behind an attribute `pool` of "
            f"its own, {first!r}: give that another name"
        )
    for i, pool in enumerate(pools):
        if pool is not first and pool.fingerprint != first.fingerprint:
            raise ValueError(
                f"{argument}: environment {i} plays another pool, {pool}, than environment 0, "
                f"{first}: ids would mean other tasks"
            )
    return first
