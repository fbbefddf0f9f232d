"""The environments that play tasks of a pool: push the next tasks, collect the outcomes."""

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

from procurl.envs.adapters.task_env import EpisodeStatistics, TaskEnv, common_pool
from procurl.internals.arrays import Ids
from procurl.tasks.pool import TaskPool

HOW = "env = TaskEnv(MyEnv(), pool), or make_vec_env(lambda: TaskEnv(MyEnv(), pool), n_envs=4)"


class Workers:
    """The b environments of a vector environment, each a `TaskEnv` over the same pool.

    Args:
        env: a Stable-Baselines3 vector environment, in this process or in subprocesses.
        argument: its name in error messages.
    """

    def __init__(self, env: VecEnv, argument: str = "env") -> None:
        if not all(env.env_is_wrapped(TaskEnv)):
            raise ValueError(
                f"{argument} takes no tasks: wrap every environment in procurl.TaskEnv, as in {HOW}"
            )
        if isinstance(env.unwrapped, SubprocVecEnv):
            env.env_method("ignore_interrupts")  # this process decides what Ctrl-C does
        self.env = env
        self.n_envs = env.num_envs
        self.pool = common_pool(env.get_attr("pool"), argument)

    def push(self, ids: Ids) -> None:
        """Make environment i play row i of `ids` [b, k], starting with its next reset."""
        for i, queue in enumerate(ids.tolist()):
            self.env.env_method("push_tasks", queue, indices=i)

    def deal(self, ids: Ids) -> NDArray[np.int64]:
        """Deal `ids` [m] to the environments in turn; returns [b] how many each received."""
        for i in range(self.n_envs):
            self.env.env_method("push_tasks", ids[i :: self.n_envs].tolist(), indices=i)
        return np.bincount(np.arange(len(ids)) % self.n_envs, minlength=self.n_envs)

    def collect(self) -> list[EpisodeStatistics]:
        """[b] the episodes that ended in each environment since the last call."""
        return self.env.env_method("collect")

    def require_pool(self, pool: TaskPool, argument: str) -> None:
        """Raise if these environments play a different pool."""
        if self.pool.fingerprint != pool.fingerprint:
            raise ValueError(
                f"{argument} must play the pool {pool}, got {self.pool}: task ids would not match"
            )
