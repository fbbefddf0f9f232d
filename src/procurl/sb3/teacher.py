"""The teacher of a run: which evidence the curriculum receives, and when."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from procurl.curriculum import Curriculum
from procurl.envs.adapters.task_env import EpisodeStatistics, join_episodes
from procurl.evidence import (
    EpisodeTotals,
    TrainingSteps,
    add_episodes,
    add_scores,
    build_evidence,
    forget_tasks,
    no_episodes,
    note_returns,
    without_counts,
)
from procurl.internals.arrays import Ids
from procurl.internals.checks import require_integer
from procurl.internals.settings import describe
from procurl.sb3.anchor import ModelAnchor, can_return
from procurl.sb3.critic import ValueFunction, critic_of, has_entropy_bonus
from procurl.sb3.envs.eval_env import (
    EnvLike,
    copy_env,
    match_wrappers,
    require_same_spaces,
    share_environments,
)
from procurl.sb3.envs.normalization import reward_scale
from procurl.sb3.envs.observations import is_known, view_of, wrappers_of
from procurl.sb3.envs.workers import Workers
from procurl.sb3.evaluation import with_tasks
from procurl.sb3.kept_steps import StepFilter, require_maskable
from procurl.sb3.pool_values import PoolValues, average_outcomes, roll_out
from procurl.sb3.seeds import seed_of
from procurl.strategies.refreshing import is_due, slice_size
from procurl.strategies.registry import strategy_name
from procurl.strategies.strategy import Strategy

OFF_POLICY_INTERVAL = 1_000  # training steps between rounds, if every step is an update


@dataclass(frozen=True)
class TeacherSettings:
    """The settings of a teacher; `CurriculumCallback` describes them."""

    strategy: Strategy
    seed: int | None = None
    value_fn: ValueFunction | None = None
    eval_env: EnvLike | None = None
    reset_samples: int = 1
    refresh_every: int | None = None
    tasks_per_refresh: int | None = None

    def describe(self) -> dict[str, Any]:
        """What distinguishes this teacher from others in tables, as JSON values."""
        own = {
            "own_value_fn": self.value_fn is not None,
            "reset_samples": self.reset_samples,
            "refresh_every": self.refresh_every,
            "tasks_per_refresh": self.tasks_per_refresh,
        }
        return {"strategy": describe(self.strategy), "callback": own}

    def check(self) -> None:
        """Raise on a setting of the wrong type or out of range."""
        if self.seed is not None:
            require_integer("seed", self.seed, at_least=0)
        if self.value_fn is not None and not callable(self.value_fn):
            raise TypeError(f"value_fn must be a function of observations, got {self.value_fn!r}")
        require_integer("reset_samples", self.reset_samples, at_least=1)
        for name in ("refresh_every", "tasks_per_refresh"):
            if getattr(self, name) is not None:
                require_integer(name, getattr(self, name), at_least=1)


class ModelTeacher:
    """A curriculum over the tasks that a model's environments play.

    The constructor checks that the model and its environments provide what the strategy needs.

    Args:
        settings: the user's settings.
        model: the student.
        env: its training environments.
        before: the teacher of the same run in other environments, whose curriculum continues.
    """

    def __init__(
        self,
        settings: TeacherSettings,
        model: BaseAlgorithm,
        env: VecEnv,
        before: "ModelTeacher | None" = None,
    ) -> None:
        self.settings = settings
        self.model = model
        self.workers = Workers(env)
        if before is None:
            self.seed = settings.seed if settings.seed is not None else model.seed or 0
            tasks = self.workers.space or self.workers.pool
            strategy = settings.strategy
            if steps := model._total_timesteps:  # of `learn`, once it was called
                strategy = strategy.for_training(steps)
            self.curriculum = Curriculum(strategy, tasks, seed=self.seed)
        else:
            self.seed, self.curriculum = before.seed, before.curriculum
        self.workers.require_pool(self.curriculum.pool, "env", self.curriculum.space)
        self.strategy = self.curriculum.strategy
        n = len(self.workers.pool)
        self.values = self._pool_values(n) if "values" in self.strategy.uses else None
        self.scores_episodes = "score" in self.strategy.uses
        if self.scores_episodes:
            self._require_advantages()
        self.filter: StepFilter | None = None
        self.excludes_tasks = self.curriculum.learning_mask() is not None
        if self.excludes_tasks:
            require_maskable(model, self.strategy)
            self.filter = StepFilter(model)
        self.anchor: ModelAnchor | None = self._first_anchor()
        if before is not None and before.model is model:
            self.anchor = before.anchor
        self.plan = self.strategy.rollout_plan()
        self.eval_workers = None if self.plan is None else self._second_workers()
        if self.curriculum.space is not None and self.values is not None:
            self._require_second_workers()
        self.teacher_steps: int = before.teacher_steps if before else 0  # taken by rollouts
        self.refreshed_at: int = before.refreshed_at if before else 0  # training steps
        self.next_round = 0  # training steps at which tasks are pushed again
        # Episodes since the last refresh.
        self.episodes: list[EpisodeStatistics] = before.episodes if before else []
        # Counts stay 0 until a refresh.
        self.totals = no_episodes(n, self.workers.n_envs, uses=self.strategy.uses)
        if before is not None:
            kept = before.totals
            self.totals = self.totals._replace(
                score=kept.score, returns=kept.returns, best=kept.best
            )

    @property
    def on_policy(self) -> bool:
        """Whether the model collects rollouts of a fixed length between updates."""
        return isinstance(self.model, OnPolicyAlgorithm)

    @property
    def watches_steps(self) -> bool:
        """Whether the tasks of the training steps have to be known."""
        return self.scores_episodes or self.excludes_tasks

    def end_update(self) -> None:
        """Undo the model's latest update if it had no step to learn from, or wandered too far."""
        if self.filter is not None:
            self.filter.undo()
        if self.anchor is not None:
            self.anchor.end_update()

    def _first_anchor(self) -> ModelAnchor | None:
        patience = self.strategy.patience
        if patience is None or not can_return(self.model):
            return None
        return ModelAnchor(self.model, patience)

    def look(self) -> None:
        """Record the first observation of every task if the critic needs it; ends all episodes."""
        if self.values is not None:
            self.values.look(self.workers.env, "values" in self.strategy.needs)

    def collect(self) -> list[Ids]:
        """Collect the training episodes that have ended; returns their tasks."""
        found = self.workers.collect()
        if {"wins", "losses", "played", "scale", "best_return"} & set(self.strategy.uses):
            self.episodes += found
        return [played.tasks for played in found]

    def push(self, step: int) -> None:
        """Push enough tasks for all episodes until the next round; unused ones are dropped."""
        b = self.workers.n_envs
        if self.on_policy:
            steps = self.model.n_steps  # type: ignore[attr-defined]
        else:
            interval = self.settings.refresh_every or OFF_POLICY_INTERVAL
            self.next_round = step + interval
            steps = -(-interval // b)
        self.workers.push(self.curriculum.next(b * (steps + 1)).reshape(b, steps + 1))

    def due(self, step: int) -> bool:
        """Whether to refresh now: after a policy update, at most once per step."""
        if getattr(self.model, "_n_updates", 1) == 0:
            return False
        at_least = self.settings.refresh_every or 1
        if self.curriculum.space is not None and not self.strategy.uses:
            return step - self.refreshed_at >= at_least  # only the candidates change
        return bool(is_due(self.strategy, step, self.refreshed_at, self.teacher_steps, at_least))

    def add_rollout(self, dones: NDArray[Any], tasks: NDArray[Any]) -> None:
        """Score the episodes of the rollout just collected, and exclude tasks from learning.

        Args:
            dones: [T, b] whether an episode ended.
            tasks: [T, b] the task of each step; only if no tasks are excluded, entries of steps
                at which no episode ended are ignored.
        """
        if self.scores_episodes:
            buffer: Any = self.model.rollout_buffer  # type: ignore[attr-defined]
            values = buffer.values * reward_scale(self.workers.env)
            scores = self.strategy.transition_score(buffer.advantages, values)
            self.totals = add_scores(self.totals, TrainingSteps(dones, tasks, scores))
        mask = self.curriculum.learning_mask()
        if self.filter is not None and mask is not None:
            self.filter.apply(mask, tasks)

    def drop_open_episodes(self) -> None:
        """Drop the unfinished episodes."""
        nothing = np.zeros(self.workers.n_envs)
        self.totals = self.totals._replace(open_score=nothing, open_length=nothing)

    def refresh(self, step: int) -> None:
        """Pass new evidence to the strategy: critic values, rollouts and training episodes."""
        values = None if self.values is None else self.values.refresh(self.workers.env)
        means = None
        rolls_out = self.strategy.rolls_out(step, self.teacher_steps)
        if self.plan is not None and self.eval_workers is not None and rolls_out:
            seed, tasks = seed_of(self.seed, step), self.curriculum.rollout_tasks()
            episodes = roll_out(self.model, self.eval_workers, self.plan, tasks, seed)
            self.teacher_steps += episodes.steps
            self.totals = note_returns(
                self.totals, self.strategy, episodes.returns, episodes.success
            )
            seen, n = self.totals.returns, len(self.workers.pool)
            means = average_outcomes(episodes, self.plan, seen, tasks, n)
        totals = self._count_episodes()
        evidence = build_evidence(
            self.strategy.uses,
            step,
            values=values,
            episodes=totals,
            rollouts=means,
            measure=self.strategy.outcome_measure,
        )
        if evidence.scale is not None and has_entropy_bonus(self.model):
            evidence = evidence._replace(scale=evidence.scale._replace(unit=np.bool_(False)))
        self.curriculum.observe(evidence)
        self.refreshed_at = step
        self.episodes, self.totals = [], without_counts(totals)
        self._renew_candidates(step)

    def _renew_candidates(self, step: int) -> None:
        """Replace the least promising candidates of a space, but none that is being played."""
        if self.curriculum.space is None:
            return
        replaced = self.curriculum.renew(self.workers.tasks)
        if not replaced.size:
            return
        self.play_candidates(replaced)
        self.totals = forget_tasks(self.totals, replaced)
        if self.values is not None and self.eval_workers is not None:
            env = self.eval_workers.env
            env.seed(seed_of(self.seed, step))
            self.values.look_again(env, replaced)

    def play_candidates(self, replaced: Ids) -> None:
        """Make all environments play the candidates, of which those at `replaced` [k] are new."""
        self.strategy = self.curriculum.strategy
        for workers in (self.workers, self.eval_workers):
            if workers is not None:
                workers.change_candidates(self.curriculum.pool, replaced)

    def _count_episodes(self) -> EpisodeTotals:
        """The totals with the training episodes since the last refresh."""
        tasks, returns, _, success = join_episodes(self.episodes)
        return add_episodes(self.totals, self.strategy, tasks, returns, success)

    def _pool_values(self, n: int) -> PoolValues | None:
        value_fn = self.settings.value_fn or self._critic()
        required = "values" in self.strategy.needs
        if value_fn is None:
            if not required:
                return None
            raise ValueError(
                f"the strategy needs a critic, and {type(self.model).__name__} is not an algorithm "
                "whose critic procurl can read: pass value_fn (observations in, values out), or "
                "use a strategy that needs no critic, such as procurl"
            )
        if required:
            view_of(self.workers.env)  # raises on an unknown wrapper
        elif not all(map(is_known, wrappers_of(self.workers.env))):
            return None  # the strategy does without the critic
        size = self.settings.tasks_per_refresh or slice_size(self.strategy, n)
        if self.curriculum.space is not None:
            size = None  # new candidates need a value at once
        return PoolValues(value_fn, n, self.settings.reset_samples, size)

    def _critic(self) -> ValueFunction | None:
        """The model's critic, on the reward scale of the environments."""
        critic, env = critic_of(self.model), self.workers.env
        if critic is None:
            return None
        return lambda seen: np.asarray(critic(seen)) * reward_scale(env)

    def _require_advantages(self) -> None:
        if not hasattr(self.model, "rollout_buffer"):
            raise ValueError(
                f"{strategy_name(self.strategy)} needs the advantages in a rollout buffer, and "
                f"{type(self.model).__name__} has none: use an on-policy algorithm, such as PPO "
                "or A2C, or another strategy"
            )

    def _require_second_workers(self) -> None:
        """Have environments in which new candidates are seen while training episodes go on.

        Without them, a strategy that only may use the critic does without it.
        """
        if self.settings.tasks_per_refresh is not None:
            raise ValueError(
                "tasks_per_refresh is for a fixed pool, because new candidates need a value at "
                "once: leave it out, and set the size of the TaskSpace"
            )
        try:
            self.eval_workers = self.eval_workers or self._second_workers()
        except ValueError:
            if "values" in self.strategy.needs:
                raise
            self.values = None

    def _second_workers(self) -> Workers:
        env, given = self.workers.env, self.settings.eval_env
        tasks = self.workers.space or self.workers.pool
        second = copy_env(env) if given is None else with_tasks(given, tasks)
        return second_workers(match_wrappers(second, env), self.workers)


def second_workers(env: VecEnv, training: Workers) -> Workers:
    """`env` for rollouts or evaluations during training; raises if it does not fit."""
    if share_environments(env, training.env):
        raise ValueError(
            "eval_env must not be the model's training environment: "
            "rollouts would interrupt the training episodes"
        )
    require_same_spaces(env, training.env)
    workers = Workers(env, "eval_env")
    workers.require_pool(training.pool, "eval_env", training.space)
    return workers
