"""Evidence about the student: its critic's values and its rollouts on the pool."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from procurl.envs.adapters.episode_outcomes import EpisodeOutcomes
from procurl.evidence import ReturnRange, RolloutMeans, average_rollouts, measured_outcomes
from procurl.evidence.episodes import require_success
from procurl.internals.arrays import Ids
from procurl.sb3.critic import ValueFunction, Values, values_of
from procurl.sb3.envs.episodes import play_tasks
from procurl.sb3.envs.observations import (
    Observations,
    first_observations,
    put_rows,
    require_differences,
    rows,
    view_of,
)
from procurl.sb3.envs.workers import Workers
from procurl.success import RolloutPlan


@dataclass
class PoolValues:
    """The critic's values of the first observations of all n tasks.

    Args:
        value_fn: maps m observations, as the policy sees them, to m values.
        n: tasks in the pool.
        reset_samples: k, initial observations per task over which the value is averaged.
        tasks_per_refresh: number of tasks valued per refresh after the first, in rotation; None
            values all.
    """

    value_fn: ValueFunction
    n: int
    reset_samples: int
    tasks_per_refresh: int | None
    values: Values | None = None  # [n] the latest, None before the first refresh
    next_task: int = 0  # where the next slice begins
    starts: Observations | None = field(default=None, repr=False)  # [n·k], task by task
    kept_in: Path | None = None  # the folder to which `starts` were saved

    def look(self, env: VecEnv, must_differ: bool) -> None:
        """Record the first observation of every task in `env`; ends its current episodes."""
        if must_differ:
            require_differences(env, self.n)
        tasks = np.repeat(np.arange(self.n), self.reset_samples)
        self.starts = first_observations(env, tasks)

    def look_again(self, env: VecEnv, tasks: Ids) -> None:
        """Record the first observations in `env` of `tasks` [m], which are new under their ids."""
        k = self.reset_samples
        new = first_observations(env, np.repeat(tasks, k))
        rows_of = (tasks[:, None] * k + np.arange(k)).reshape(-1)
        self.starts = put_rows(self.observations, rows_of, new)

    @property
    def observations(self) -> Observations:
        """[n·k] the first observations of the tasks, task by task."""
        if self.starts is None:
            raise RuntimeError("the first observations have not been recorded: call look first")
        return self.starts

    def refresh(self, env: VecEnv) -> Values:
        """[n] the values of the tasks, seen through the wrappers of `env` as they are now."""
        start, stop = 0, self.n
        if self.values is None:
            self.values = np.zeros(self.n)
        elif self.tasks_per_refresh is not None:
            start = self.next_task
            stop = min(start + self.tasks_per_refresh, self.n)
            self.next_task = stop % self.n
        k = self.reset_samples
        seen = view_of(env)(rows(self.observations, slice(start * k, stop * k)))
        values = self.values.copy()
        values[start:stop] = values_of(self.value_fn, seen).reshape(-1, k).mean(axis=1)
        self.values = values
        return values


def roll_out(
    model: BaseAlgorithm, workers: Workers, plan: RolloutPlan, tasks: Ids, seed: int
) -> EpisodeOutcomes:
    """Episodes of the stochastic policy, `plan.episodes` on each of `tasks` [m] in turn.

    Raises if the plan measures success and it is missing.
    """
    each = np.repeat(tasks, plan.episodes)
    episodes = play_tasks(model, workers, each, deterministic=False, seed=seed)
    if plan.measure == "success":
        require_success(episodes.success, "eval_env")
    return episodes


def average_outcomes(
    episodes: EpisodeOutcomes, plan: RolloutPlan, seen: ReturnRange, tasks: Ids, n: int
) -> RolloutMeans:
    """What the teacher's rollouts on `tasks` [m] say about the n tasks of the pool."""
    measured = measured_outcomes(seen, plan.measure, episodes.returns, episodes.success)
    part = tasks if len(tasks) < n else None
    return average_rollouts(measured.reshape(-1, plan.episodes), plan.top_fraction, part, n)
