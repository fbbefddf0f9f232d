"""The environments that play tasks of a pool: push the next tasks, collect the outcomes."""

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

from procurl.envs.adapters.task_env import EpisodeStatistics, TaskEnv, common_pool
from procurl.internals.arrays import Ids
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import pool_difference
from procurl.tasks.space import TaskSpace

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
        self.space = _space_of(env, argument)  # None if the pool is fixed

    @property
    def tasks(self) -> Ids:
        """[b] at most: the ids of the tasks being played; none before the first reset."""
        playing = [task for task in self.env.get_attr("task") if task is not None]
        return np.asarray(playing, dtype=np.int64)

    def change_candidates(self, pool: TaskPool, replaced: Ids) -> None:
        """Play other candidates of the space, of which those at `replaced` [k] are new."""
        self.env.env_method("change_candidates", pool, replaced)
        self.pool = pool

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

    def require_pool(self, pool: TaskPool, argument: str, space: TaskSpace | None = None) -> None:
        """Raise if these environments play a different pool, or tasks of a different `space`.

        If they play tasks of the same space, they play those of `pool` from then on.
        """
        if space is not None or self.space is not None:
            _require_space(self.space, space, argument)
            self.change_candidates(pool, np.arange(len(pool)))
            return
        if self.pool.fingerprint != pool.fingerprint:
            raise ValueError(
                f"{argument} must play the pool {pool}, but the pool it plays "
                f"{pool_difference(self.pool, pool)}: task ids would not match"
            )


def _space_of(env: VecEnv, argument: str) -> TaskSpace | None:
    """The space that the environments draw their tasks from, None if they have a fixed pool."""
    in_processes = isinstance(env.unwrapped, SubprocVecEnv)
    if in_processes and not all(env.get_attr("space_is_picklable")):
        raise ValueError(
            f"{argument} is in subprocesses, and the sample function of its TaskSpace cannot be "
            "sent between them: define it at the top level of a module, or use DummyVecEnv"
        )
    space: TaskSpace | None = env.get_attr("space", indices=0)[0]
    return space


def _require_space(own: TaskSpace | None, space: TaskSpace | None, argument: str) -> None:
    if own is None or space is None or own.describe() != space.describe():
        raise ValueError(
            f"{argument} must draw its tasks from {space or 'a fixed pool'}, got "
            f"{own or 'a fixed pool'}: task ids would not match"
        )
