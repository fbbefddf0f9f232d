"""Whole episodes of a policy on chosen tasks, played side by side in a vector environment."""

import inspect
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from procurl.envs.adapters.episode_outcomes import EpisodeOutcomes
from procurl.envs.adapters.task_env import EpisodeStatistics
from procurl.envs.adapters.task_errors import LONGEST_EPISODE, endless_error
from procurl.internals.arrays import Ids
from procurl.sb3.envs.workers import Workers

COLLECT_EVERY = 10_000  # steps, before an environment drops its oldest episodes


def play_tasks(
    model: Any, workers: Workers, tasks: Ids, *, deterministic: bool, seed: int
) -> EpisodeOutcomes:
    """Play one episode of the model's policy on each of `tasks` [m], which may repeat.

    Args:
        model: has `predict`, as in Stable-Baselines3.
        workers: play the episodes; an environment that has finished its share keeps stepping, and
            those steps are ignored.
        tasks: ids of the pool.
        deterministic: whether the policy acts deterministically.
        seed: seed of the environments.
    """
    env = workers.env
    share = workers.deal(tasks)
    env.seed(seed)
    observations: Any = env.reset()
    workers.collect()
    act = _Actor(model, env, deterministic)
    ended = np.zeros(workers.n_envs, dtype=np.int64)
    began = np.zeros(workers.n_envs, dtype=np.int64)  # steps before the current episodes
    collected: list[list[EpisodeStatistics]] = []
    for step in count(1):
        observations, _, dones, _ = env.step(act(observations))
        act.episode_starts = dones
        ended += dones
        began[dones] = step
        finished = bool((ended >= share).all())
        if finished or step % COLLECT_EVERY == 0:
            collected.append(workers.collect())
            _require_ends(workers, (step - began >= LONGEST_EPISODE) & (ended < share))
        if finished:
            break
    return _in_order(collected, share, len(tasks))


def _require_ends(workers: Workers, endless: NDArray[np.bool_]) -> None:
    """Raise if an episode that is waited for is `endless` [b]."""
    for i in np.flatnonzero(endless):
        [task] = workers.env.get_attr("task", indices=int(i))
        raise endless_error(workers.pool, task, LONGEST_EPISODE)


def _in_order(
    collected: list[list[EpisodeStatistics]], share: NDArray[np.int64], m: int
) -> EpisodeOutcomes:
    """The requested episodes, in the order of the tasks."""
    returns, success, steps = np.zeros(m), np.full(m, np.nan), 0
    for i, (own, parts) in enumerate(zip(share, zip(*collected, strict=True), strict=True)):
        returns[i :: len(share)] = np.concatenate([part.returns for part in parts])[:own]
        success[i :: len(share)] = np.concatenate([part.success for part in parts])[:own]
        steps += int(np.concatenate([part.lengths for part in parts])[:own].sum())
    return EpisodeOutcomes(returns, success, steps)


class _Actor:
    """A model's policy with its recurrent state and action masks, if it has them."""

    def __init__(self, model: Any, env: VecEnv, deterministic: bool) -> None:
        self._model = model
        self._env = env
        self._deterministic = deterministic
        self._state: Any = None
        self.episode_starts: NDArray[np.bool_] = np.ones(env.num_envs, dtype=bool)
        takes_masks = "action_masks" in inspect.signature(model.predict).parameters
        self._masked = takes_masks and env.has_attr("action_masks")

    def __call__(self, observations: Any) -> NDArray[Any]:
        masks: dict[str, Any] = {}
        if self._masked:
            masks["action_masks"] = np.stack(self._env.env_method("action_masks"))
        actions, self._state = self._model.predict(
            observations,
            state=self._state,
            episode_start=self.episode_starts,
            deterministic=self._deterministic,
            **masks,
        )
        chosen: NDArray[Any] = actions
        return chosen
