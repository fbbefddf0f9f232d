"""`CurriculumVectorEnv`: a vector environment that plays the tasks of a curriculum."""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.curriculum import Curriculum
from procurl.envs.adapters.task_env import common_pool, join_episodes
from procurl.evidence import (
    EpisodeTotals,
    Evidence,
    TrainingSteps,
    add_episodes,
    add_scores,
    build_evidence,
    forget_tasks,
    no_episodes,
    without_counts,
)
from procurl.internals.arrays import Ids
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import pool_difference
from procurl.tasks.space import different_tasks

try:
    from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
    from gymnasium.vector.utils import concatenate, create_empty_array, iterate
except ImportError as error:
    raise ImportError(
        "CurriculumVectorEnv needs gymnasium 1.1 or newer: pip install 'procurl[sb3]'"
    ) from error

QUEUE = 64  # tasks sent to a sub-environment at a time; unused ones are dropped
HOW = "SyncVectorEnv([lambda: TaskEnv(MyEnv(), pool)] * 8)"

Mask = NDArray[np.bool_]


class CurriculumVectorEnv(VectorWrapper):  # generic since Gymnasium 1.4
    """Wraps a vector environment so that every reset plays the next task of a curriculum.

    The sub-environments are `TaskEnv`s over the pool of the curriculum, in this process
    (`SyncVectorEnv`) or in others (`AsyncVectorEnv`). Both give the same results, in every
    autoreset mode. `info["task"]` holds the ids of the current tasks.

    >>> envs = SyncVectorEnv([lambda: TaskEnv(MyEnv(), pool)] * 8)  # doctest: +SKIP
    >>> envs = CurriculumVectorEnv(envs, curriculum)  # doctest: +SKIP
    >>> first = envs.first_observations(seed=0)  # doctest: +SKIP
    >>> observations, info = envs.reset(seed=0)  # doctest: +SKIP
    >>> curriculum.observe(envs.evidence(step, values=critic(first)))  # doctest: +SKIP

    Make it the outermost vector wrapper, so that `first_observations` shows what the agent sees.

    Args:
        env: a vector environment whose sub-environments are `TaskEnv`s.
        curriculum: chooses their tasks.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], curriculum: Curriculum) -> None:
        super().__init__(env)
        if not isinstance(curriculum, Curriculum):
            raise TypeError(f"curriculum must be a Curriculum, got {type(curriculum).__name__}")
        pool, b = _pool_of(env), env.num_envs
        _require_tasks(env, pool, curriculum)
        self.curriculum = curriculum
        self.episodes = join_episodes([])  # the training episodes behind the latest evidence
        self._inside: Any = env.unwrapped
        self._pool = pool  # that the sub-environments play
        self._mode = env.metadata["autoreset_mode"]
        self._drawn_at: float | None = None  # step of the curriculum that the queues come from
        self._queued: Ids = np.zeros(b, dtype=np.int64)  # length of each queue
        self._tasks: Ids | None = None  # [b] current tasks, None before the first reset
        self._done: Mask = np.zeros(b, dtype=bool)  # whether the latest step ended the episode
        self._cut: Mask = np.zeros(b, dtype=bool)  # whether `reset` was called since then
        self._totals = no_episodes(len(pool), b, uses=curriculum.strategy.uses)
        self._steps: list[_Step] = []  # since the latest evidence, if the strategy needs scores

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._refill()
        options = dict(options or {})  # a copy: Gymnasium removes the mask
        mask = np.asarray(options.get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        observations, info = self.env.reset(seed=seed, options=options or None)
        before = np.zeros(self.num_envs, dtype=np.int64) if self._tasks is None else self._tasks
        self._tasks = np.where(mask, info["task"], before)
        self._queued -= mask
        self._done, self._cut = self._done & ~mask, self._cut | mask
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if self._tasks is None:
            raise RuntimeError("the episodes have not started: call reset before step")
        self._refill()
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        done = np.logical_or(terminated, truncated)
        nothing = np.zeros_like(done)
        # In the next-step mode, the step after the end of an episode only resets.
        resets = self._done if self._mode == AutoresetMode.NEXT_STEP else nothing
        if "score" in self.curriculum.strategy.uses:
            self._steps.append(_Step(done, self._tasks, ~resets, self._cut))
        self._queued -= done if self._mode == AutoresetMode.SAME_STEP else resets
        self._done, self._cut = done, nothing
        self._tasks = np.where(info["_task"], info["task"], self._tasks)
        return observations, rewards, terminated, truncated, info

    def evidence(
        self,
        step: int,
        values: Any | None = None,
        advantages: Any | None = None,
        step_values: Any | None = None,
    ) -> Evidence:
        """What the training episodes since the last call have shown, for `Curriculum.observe`.

        It holds those fields that the strategy uses. `episodes` then has the statistics of the
        episodes behind it. Once the curriculum has observed it, resets play tasks from the new
        distribution.

        Args:
            step: training steps so far, over all sub-environments.
            values: [n] the critic's V(s0) of every task, see `first_observations`; a strategy
                that uses no critic ignores it.
            advantages: [T, b] of all steps since the last call, for strategies that score episodes,
                such as `plr`; others ignore them.
            step_values: [T, b] the critic's values of the same steps, for `plr` with
                `score="maxmc"`.
        """
        strategy = self.curriculum.strategy
        values = None if values is None else np.asarray(values, dtype=np.float64)
        totals = (
            self._score_steps(advantages, step_values) if "score" in strategy.uses else self._totals
        )
        self.episodes = join_episodes(self._inside.call("collect"))
        tasks, returns, _, success = self.episodes
        totals = add_episodes(totals, strategy, tasks, returns, success)
        self._totals, self._steps, self._drawn_at = without_counts(totals), [], None
        measure = strategy.outcome_measure
        return build_evidence(strategy.uses, step, values=values, episodes=totals, measure=measure)

    def first_observations(self, seed: int | None = None) -> Any:
        """[n, ...] the first observation of every task, for the values of a critic.

        It ends the current episodes: call `reset` afterwards.

        Args:
            seed: as in `reset`.
        """
        self._play_candidates()
        n, b = len(self.curriculum.pool), self.num_envs
        rounds = -(-n // b)
        self._push(np.resize(np.arange(n), (rounds, b)).T)
        # Copies: a SyncVectorEnv with copy=False returns the same array at every reset.
        batches = [deepcopy(self.env.reset(seed=None if i else seed)[0]) for i in range(rounds)]
        seen = [each for batch in batches for each in iterate(self.observation_space, batch)]
        self._tasks = self._drawn_at = None
        space = self.single_observation_space
        together: Any = create_empty_array(space, n)
        return concatenate(space, seen[:n], together)

    def _refill(self) -> None:
        """Draw new tasks if a queue is empty or the curriculum has observed evidence since."""
        if self._drawn_at != self.curriculum.step or not self._queued.all():
            self.curriculum.renew(() if self._tasks is None else self._tasks)
            self._play_candidates()
            ids = self.curriculum.next(self.num_envs * QUEUE)
            self._push(ids.reshape(self.num_envs, QUEUE))
            self._drawn_at = self.curriculum.step

    def _play_candidates(self) -> None:
        """Make the sub-environments play the curriculum's current candidates of a space."""
        before, pool = self._pool, self.curriculum.pool
        if self.curriculum.space is None or pool is before:
            return
        replaced = different_tasks(before, pool)
        self._inside.call("change_candidates", pool, replaced)
        self._totals = forget_tasks(self._totals, replaced)
        self._pool = pool
        self._queued[:] = 0

    def _push(self, ids: Ids) -> None:
        """Make sub-environment i play row i of `ids` [b, k], from its next reset on."""
        self._inside.set_attr("queue", ids.tolist())
        self._queued[:] = ids.shape[1]

    def _score_steps(self, advantages: Any | None, values: Any | None) -> EpisodeTotals:
        """The totals with the scores of the episodes that ended since the latest evidence."""
        expected = (len(self._steps), self.num_envs)
        shape = None if advantages is None else np.shape(advantages)
        if shape != expected:
            raise ValueError(
                f"advantages must have shape {expected}, one for each step since the last "
                f"evidence in each sub-environment, got {shape}: "
                f"{type(self.curriculum.strategy).__name__} scores episodes by them"
            )
        if values is not None and np.shape(values) != expected:
            raise ValueError(
                f"step_values must have the shape of advantages, {expected}, got {np.shape(values)}"
            )
        scores = self.curriculum.strategy.transition_score(
            np.asarray(advantages, dtype=np.float64),
            None if values is None else np.asarray(values, dtype=np.float64),
        )
        totals = self._totals
        for step, row in zip(self._steps, scores, strict=True):
            totals = _add_step(totals, step, row)
        return totals


class _Step(NamedTuple):
    """One step of b sub-environments."""

    done: Mask  # [b] whether it ended an episode
    tasks: Ids  # [b] the tasks played
    played: Mask  # [b] False if it only reset
    cut: Mask  # [b] whether `reset` was called before it


def _add_step(totals: EpisodeTotals, step: _Step, scores: NDArray[np.float64]) -> EpisodeTotals:
    """`totals` with the `scores` [b] of one step, for those sub-environments that played."""
    played = step.played
    if not played.any():
        return totals
    score, length = (
        np.where(step.cut, 0, part) for part in (totals.open_score, totals.open_length)
    )
    row = TrainingSteps(step.done[None, played], step.tasks[None, played], scores[None, played])
    inside = totals._replace(open_score=score[played], open_length=length[played])
    inside = add_scores(inside, row)
    score[played], length[played] = inside.open_score, inside.open_length
    return inside._replace(open_score=score, open_length=length)


def _pool_of(env: VectorEnv[Any, Any, Any]) -> TaskPool:
    """The pool that all sub-environments play."""
    inside: Any = env.unwrapped
    if not hasattr(inside, "set_attr"):
        raise TypeError(
            f"env must be a SyncVectorEnv or an AsyncVectorEnv, got {type(inside).__name__}: "
            f"build it as in {HOW}"
        )
    if not all(inside.call("has_wrapper_attr", "push_tasks")):
        raise ValueError(
            f"env takes no tasks: wrap every sub-environment in procurl.TaskEnv, as in {HOW}"
        )
    return common_pool(inside.get_attr("pool"), "env")


def _require_tasks(env: VectorEnv[Any, Any, Any], pool: TaskPool, curriculum: Curriculum) -> None:
    """Raise unless `env`, which plays `pool`, can play the tasks of the curriculum."""
    inside: Any = env.unwrapped
    ours, theirs = curriculum.space, None
    if all(inside.get_attr("space_is_picklable")):
        theirs = inside.get_attr("space")[0]
    elif ours is not None:
        raise ValueError(
            "env: the sample function of its TaskSpace cannot be sent between processes: define it "
            "at the top level of a module"
        )
    if ours is None and theirs is None and pool.fingerprint == curriculum.pool.fingerprint:
        return
    if ours is not None and theirs is not None and ours.describe() == theirs.describe():
        return
    got = f"got {theirs or pool}"
    if ours is None and theirs is None:
        got = f"but the pool it plays {pool_difference(pool, curriculum.pool)}"
    raise ValueError(
        f"env must play the pool of the curriculum, {ours or curriculum.pool}, {got}: task ids "
        "would not match"
    )
