"""Record the evaluations of a Stable-Baselines3 run, as every engine does."""

import time
from collections.abc import Sequence
from itertools import count
from os import PathLike
from pathlib import Path

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from procurl.internals.arrays import Ids
from procurl.internals.checks import require_integer
from procurl.records.evaluation import Evaluation, Snapshot, snapshot_tasks
from procurl.records.experiment import Contender, Experiment
from procurl.records.results import RunId
from procurl.records.store import FILE, Store, open_experiment, read_store
from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.envs.eval_env import EnvLike, match_wrappers
from procurl.sb3.envs.workers import Workers
from procurl.sb3.evaluation import PoolEvaluation, evaluate, with_tasks
from procurl.sb3.seeds import seed_of
from procurl.sb3.teacher import ModelTeacher, second_workers


class PoolRecorder(BaseCallback):
    """Evaluate the model on the pool at intervals, for `procurl export` and `procurl report`.

    >>> curriculum = CurriculumCallback(strategy)  # doctest: +SKIP
    >>> recorder = PoolRecorder(curriculum, "results/mine", eval_env=MyEnv)  # doctest: +SKIP
    >>> model.learn(1_000_000, callback=[curriculum, recorder])  # doctest: +SKIP

    A folder can hold the runs of many strategies and seeds; all must have the same pool, training
    steps and algorithm. The seed of a run is the curriculum's. If neither the curriculum nor the
    model has one, it is the smallest seed without a finished run in the folder.

    Args:
        curriculum: chooses the tasks of the run; comes before the recorder in the list of
            callbacks.
        out: the folder.
        eval_env: an environment, a vector environment, or a function that makes an environment; not
            the training environment.
        env: name of the environment in tables.
        label: name of the strategy in tables, such as `procurl-val` or `procurl-val:beta=10`.
        every: training steps between evaluations.
        tasks: ids of the tasks that evaluations play; None plays all.
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
        label: str = "procurl-val",
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
        require_integer("episodes", episodes, at_least=1)
        self.curriculum = curriculum
        self.out = Path(out)
        self.eval_env = eval_env
        self.env = env
        self.contender = Contender.parse(label)
        self.every = every
        self.tasks = tasks
        self.episodes = episodes
        self.deterministic = deterministic
        self.overwrite = overwrite
        self.evaluations: list[Evaluation] = []
        self._workers: Workers | None = None
        self._store: Store | None = None
        self._seconds = 0.0  # of training, excluding evaluations
        self._since = 0.0

    def _on_training_start(self) -> None:
        teacher = self._teacher()
        pool = teacher.curriculum.pool
        given = with_tasks(self.eval_env, pool)
        seen = match_wrappers(given, self.training_env)
        self._workers = second_workers(seen, teacher.workers)
        if self.curriculum.picks is None:
            self.curriculum.picks = []
        if self.num_timesteps == 0:
            self._start_run(teacher)
        experiment = Experiment(
            env=self.env,
            engine="sb3",
            steps=self.model._total_timesteps,
            n_envs=self.model.n_envs,
            student={"algorithm": type(self.model).__name__},
        )
        self._store = open_experiment(self.out, experiment, pool)
        self._store.begin(self.run)
        self._resume(self._store)
        self._since = time.perf_counter()

    def _teacher(self) -> ModelTeacher:
        try:
            return self.curriculum.teacher
        except RuntimeError as error:
            raise RuntimeError(
                "the recorder's curriculum has not started: put the recorder after the curriculum "
                "in the list, callback=[curriculum, recorder]"
            ) from error

    def _start_run(self, teacher: ModelTeacher) -> None:
        """Choose the seed of a new run; raises if it would silently replace a finished one."""
        self.evaluations = []
        finished = _finished_runs(self.out)
        if self.model.seed is None and self.curriculum.settings.seed is None:
            # The teacher saves it, so that a resumed run keeps its seed.
            teacher.seed = next(s for s in count() if self.run._replace(seed=s) not in finished)
        elif self.run in finished and not self.overwrite:
            raise ValueError(
                f"out: {self.out} holds a finished run of {self.run.label!r} with seed "
                f"{self.run.seed}, which this one would replace: choose another seed, label or "
                "folder, or pass overwrite=True"
            )

    def _resume(self, store: Store) -> None:
        """Continue this run's records; delete evaluations after the current step."""
        recorded = store.detail(self.run)
        behind = [m for m in recorded if m.train_steps <= self.num_timesteps]
        if not self.evaluations:
            self.evaluations = behind
            self._seconds = behind[-1].seconds if behind else 0.0
        if len(behind) < len(recorded):
            store.clear(self.run)
            store.add(self.run, *behind)

    @property
    def run(self) -> RunId:
        """The id under which the run is recorded."""
        seed = self.curriculum.teacher.seed
        return RunId(self.contender.strategy, self.contender.setting, seed)

    def _on_rollout_start(self) -> None:
        self._record_if_due()

    def _record_if_due(self) -> None:
        reached = self.num_timesteps // self.every
        latest = self.evaluations[-1].step // self.every if self.evaluations else 0
        if reached > latest:
            self._record(reached * self.every)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._record_if_due()
        if not self.evaluations or self.evaluations[-1].train_steps < self.num_timesteps:
            self._record(self.model._total_timesteps)
        assert self._store is not None
        self._store.finish(self.run)
        self._store.close()
        self._seconds += time.perf_counter() - self._since

    def _record(self, step: int) -> None:
        self._seconds += time.perf_counter() - self._since
        assert self._workers is not None
        assert self._store is not None
        found = evaluate(
            self.model,
            self._workers,
            episodes=self.episodes,
            deterministic=self.deterministic,
            tasks=self.tasks,
            seed=seed_of(self.run.seed, step),
        )
        evaluation = evaluation_of(self.curriculum, found, step, self._seconds)
        self.evaluations.append(evaluation)
        self._store.add(self.run, evaluation)
        self.logger.record("eval/mean_reward", evaluation.performance)
        self._since = time.perf_counter()


def _finished_runs(folder: Path) -> set[RunId]:
    """The finished runs in a folder, which may not exist yet."""
    if not (folder / FILE).exists():
        return set()
    with read_store(folder) as store:
        return store.finished_runs()


def evaluation_of(
    callback: CurriculumCallback,
    found: PoolEvaluation,
    step: int,
    seconds: float,
    test: PoolEvaluation | None = None,
) -> Evaluation:
    """One evaluation of a run, with the teacher's and the student's view of the tasks.

    Args:
        callback: the run; its picks since the last evaluation are removed from it.
        found: results on the training pool.
        step: the nominal training steps of the evaluation.
        seconds: of training so far.
        test: results on the test pool.
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
        test_performance=None if test is None else test.performance,
        seconds=seconds,
        entropy=metrics.entropy,
        mean_success=metrics.mean_success,
        picks=_take_picks(callback),
        snapshot=snapshot,
    )


def _take_picks(callback: CurriculumCallback) -> Ids:
    """The tasks of the training episodes that ended since the last call."""
    callback.collect()
    picks = np.concatenate([*(callback.picks or []), np.zeros(0, dtype=np.int64)])
    callback.picks = []
    return picks
