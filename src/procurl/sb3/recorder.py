"""Record the evaluations of a Stable-Baselines3 run, as every engine does."""

import time
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from procurl.internals.arrays import Ids
from procurl.internals.checks import require_integer
from procurl.records.evaluation import Evaluation, Snapshot, snapshot_tasks
from procurl.records.experiment import TARGETS, TEST, Contender, Experiment
from procurl.records.results import RunId
from procurl.records.run_writer import RunWriter, free_seed
from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.envs.eval_env import EnvLike, match_wrappers
from procurl.sb3.envs.workers import Workers
from procurl.sb3.evaluation import PoolEvaluation, evaluate, with_tasks
from procurl.sb3.saving.random_state import random_state, restore_random_state
from procurl.sb3.seeds import seed_of
from procurl.sb3.teacher import ModelTeacher, second_workers
from procurl.tasks.targets import marked_ids


class PoolRecorder(BaseCallback):
    """Evaluate the model on the pool at intervals, for `procurl export` and `procurl report`.

    The first evaluation is at step 0, before training. Evaluations do not change the training. If
    the pool marks targets with the feature `target`, their mean return is recorded as well.

    >>> curriculum = CurriculumCallback(strategy)  # doctest: +SKIP
    >>> recorder = PoolRecorder(curriculum, "results/mine", eval_env=MyEnv)  # doctest: +SKIP
    >>> model.learn(1_000_000, callback=[curriculum, recorder])  # doctest: +SKIP

    A folder can hold the runs of many strategies and seeds; all must have the same pool, training
    steps and algorithm, and all runs of one label the same settings of the strategy. The seed of a
    run is the curriculum's. If neither the curriculum nor the model has one, it is the smallest
    seed without a finished run in the folder.

    Args:
        curriculum: chooses the tasks of the run; comes before the recorder in the list of
            callbacks.
        out: the folder.
        eval_env: an environment, a vector environment, or a function that makes an environment; not
            the training environment.
        env: name of the environment in tables.
        label: name of the strategy in tables, such as `procurl-val` or `procurl-val:beta=10`; None
            uses the strategy's name and the settings that differ from its defaults.
        steps: training steps of the whole run, if `learn` is called several times; None takes those
            of this call.
        every: training steps between evaluations.
        tasks: ids of the tasks that evaluations play, in addition to all targets; None plays all.
        episodes: episodes per task.
        deterministic: whether the policy acts deterministically.
        overwrite: whether a new run may replace a finished one with the same label and seed;
            otherwise this raises.
        verbose: as for every callback.
    """

    def __init__(
        self,
        curriculum: CurriculumCallback,
        out: str | PathLike[str],
        *,
        eval_env: EnvLike,
        env: str = "env",
        label: str | None = None,
        steps: int | None = None,
        every: int = 25_000,
        tasks: Sequence[int] | None = None,
        episodes: int = 1,
        deterministic: bool = True,
        overwrite: bool = False,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        if not isinstance(curriculum, CurriculumCallback):
            raise TypeError(
                f"curriculum must be a CurriculumCallback, got {type(curriculum).__name__}"
            )
        require_integer("every", every, at_least=1)
        if steps is not None:
            require_integer("steps", steps, at_least=1)
        require_integer("episodes", episodes, at_least=1)
        self.curriculum = curriculum
        self.out = Path(out)
        self.eval_env = eval_env
        self.env = env
        strategy = curriculum.settings.strategy
        self.contender = Contender.of(strategy) if label is None else Contender.parse(label)
        self.steps = steps
        self.every = every
        self.tasks = tasks
        self.episodes = episodes
        self.deterministic = deterministic
        self.overwrite = overwrite
        self._workers: Workers | None = None
        self._writer: RunWriter | None = None
        self._seconds = 0.0  # of training, excluding evaluations
        self._since = 0.0

    @property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations of this run so far."""
        return [] if self._writer is None else self._writer.evaluations

    def _on_training_start(self) -> None:
        teacher = self._teacher()
        if teacher.curriculum.space is not None:
            raise ValueError(
                f"PoolRecorder evaluates a fixed pool, and the tasks come from "
                f"{teacher.curriculum.space}: use evaluate_pool(model, env, space.pool(seed=1))"
            )
        given = with_tasks(self.eval_env, teacher.curriculum.pool)
        seen = match_wrappers(given, self.training_env)
        self._workers = second_workers(seen, teacher.workers)
        if self.curriculum.picks is None:
            self.curriculum.picks = []
        self._writer = self._open(teacher)
        recorded = self.evaluations[-1].seconds if self.evaluations else 0.0
        self._seconds = max(recorded, self._seconds if self.num_timesteps else 0.0)
        self._since = time.perf_counter()
        if not self.evaluations:
            self._record(self.num_timesteps)

    def _teacher(self) -> ModelTeacher:
        try:
            return self.curriculum.teacher
        except RuntimeError as error:
            raise RuntimeError(
                "the recorder's curriculum has not started: put the recorder after the curriculum "
                "in the list, callback=[curriculum, recorder]"
            ) from error

    def _open(self, teacher: ModelTeacher) -> RunWriter:
        """A writer for this run; the evaluations of one that continues are read."""
        new = self.num_timesteps == 0
        if new and self.model.seed is None and self.curriculum.settings.seed is None:
            # The teacher saves it, so that a resumed run keeps its seed.
            teacher.seed = free_seed(self.out, self.contender)
        pool = teacher.curriculum.pool
        targets = marked_ids(pool)
        experiment = Experiment(
            env=self.env,
            engine="sb3",
            steps=self._total_steps(),
            n_envs=self.model.n_envs,
            test_hash=pool.subset(targets).fingerprint if targets.size else None,
            test_name=TARGETS if targets.size else TEST,
            student={"algorithm": type(self.model).__name__},
        )
        return RunWriter(
            self.out,
            experiment,
            pool,
            self.run,
            self.curriculum.settings.describe(),
            step=self.num_timesteps,
            overwrite=self.overwrite,
        )

    def _total_steps(self) -> int:
        """The training steps after which the run is finished."""
        planned = self.model._total_timesteps
        if self.steps is None:
            return planned
        if self.num_timesteps == 0 and planned > self.steps:
            raise ValueError(
                f"steps must be all training steps of the run, but learn trains for {planned:,}, "
                f"and steps is {self.steps:,}: leave it out if learn is called once"
            )
        return self.steps

    @property
    def run(self) -> RunId:
        """The id under which the run is recorded."""
        seed = self.curriculum.teacher.seed
        return RunId(self.contender.strategy, self.contender.setting, seed)

    def _on_rollout_start(self) -> None:
        self._record_if_due()

    def _record_if_due(self) -> None:
        reached = self.num_timesteps // self.every
        if reached > self.evaluations[-1].train_steps // self.every:
            self._record(reached * self.every)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        assert self._writer is not None
        finished = self.steps is None or self.num_timesteps >= self.steps
        if not finished:
            self._record_if_due()
        elif self.evaluations[-1].train_steps < self.num_timesteps:
            self._record(min(self._writer.steps, self.num_timesteps))
        self._writer.close(finished)
        self._seconds += time.perf_counter() - self._since

    def _record(self, step: int) -> None:
        self._seconds += time.perf_counter() - self._since
        assert self._writer is not None
        random = random_state()
        found = self._play(self.tasks, step)
        on_targets = self._on_targets(found, step)
        evaluation = evaluation_of(self.curriculum, found, step, self._seconds, on_targets)
        restore_random_state(random)
        self._writer.add(evaluation)
        self.logger.record("eval/mean_reward", evaluation.performance)
        if on_targets is not None:
            self.logger.record("eval/test_mean_reward", on_targets)
        self._since = time.perf_counter()

    def _on_targets(self, found: PoolEvaluation, step: int) -> float | None:
        """The mean return over the targets, which are played unless `found` has them all."""
        targets = marked_ids(self.curriculum.curriculum.pool)
        if not targets.size:
            return None
        if not np.isin(targets, found.tasks).all():
            return self._play(targets, step).performance
        return float(found.returns[np.isin(found.tasks, targets)].mean())

    def _play(self, tasks: Sequence[int] | Ids | None, step: int) -> PoolEvaluation:
        assert self._workers is not None
        return evaluate(
            self.model,
            self._workers,
            episodes=self.episodes,
            deterministic=self.deterministic,
            tasks=tasks,
            seed=seed_of(self.run.seed, step),
        )


def evaluation_of(
    callback: CurriculumCallback,
    found: PoolEvaluation,
    step: int,
    seconds: float,
    test_performance: float | None = None,
) -> Evaluation:
    """One evaluation of a run, with the teacher's and the student's view of the tasks.

    Args:
        callback: the run; its picks since the last evaluation are removed from it.
        found: results on the training pool.
        step: the nominal training steps of the evaluation.
        seconds: of training so far.
        test_performance: mean return over the test pool or the targets.
    """
    curriculum = callback.curriculum
    metrics, success = curriculum.metrics(), curriculum.success()
    order = np.argsort(found.tasks, kind="stable")
    shown = order[snapshot_tasks(np.arange(len(order)))]
    tasks = found.tasks[shown]
    snapshot = Snapshot(
        tasks=tasks,
        probabilities=curriculum.probabilities()[tasks].astype(np.float32),
        success=None if success is None else success[tasks].astype(np.float32),
        returns=found.returns[shown].astype(np.float32),
    )
    train_steps = callback.model.num_timesteps
    return Evaluation(
        step=step,
        train_steps=train_steps,
        env_steps=train_steps + callback.teacher_steps,
        performance=found.performance,
        test_performance=test_performance,
        seconds=seconds,
        entropy=metrics.entropy,
        mean_success=metrics.estimated_success,
        picks=_take_picks(callback),
        snapshot=snapshot,
    )


def _take_picks(callback: CurriculumCallback) -> Ids:
    """The tasks of the training episodes that ended since the last call."""
    callback.collect()
    picks = np.concatenate([*(callback.picks or []), np.zeros(0, dtype=np.int64)])
    callback.picks = []
    return picks
