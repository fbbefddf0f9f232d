"""One run of a Stable-Baselines3 algorithm, an update at a time."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from procurl.envs.adapters.task_errors import describe_task
from procurl.envs.checking.player import is_finite
from procurl.experiments.algorithm_errors import is_of_algorithm
from procurl.experiments.batches import Job
from procurl.experiments.engines.sb3_state import (
    model_state,
    restore_model,
    set_weights,
    weights_of,
)
from procurl.experiments.engines.sb3_students import KeptWeights, sb3_student
from procurl.experiments.engines.setup import RunSetup
from procurl.experiments.engines.task_envs import reset_samples, task_env_maker
from procurl.internals.arrays import NamedArrays
from procurl.records.evaluation import Evaluation
from procurl.records.packing import pack_evaluations, unpack_evaluations
from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.envs.eval_env import match_wrappers
from procurl.sb3.envs.observations import rows
from procurl.sb3.envs.workers import Workers
from procurl.sb3.evaluation import PoolEvaluation, evaluate
from procurl.sb3.recorder import evaluation_of
from procurl.sb3.saving.random_state import random_state, restore_random_state
from procurl.sb3.saving.runs import SavedRun, state_of, within
from procurl.sb3.seeds import seed_of
from procurl.tasks.pool import TaskPool

EVAL_WIDTH = 32  # environments at a time in evaluations and rollouts
OWN_EVAL_WIDTH = 16  # of environments that are not ours and may be large


class WholeRun(BaseCallback):
    """Lets schedules follow the whole run, although `learn` is called for a part at a time.

    Args:
        steps: of the whole run.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps

    def _on_training_start(self) -> None:
        self.model._total_timesteps = self._steps

    def _on_step(self) -> bool:
        return True


class SB3Run:
    """One run of a `SequentialTrainer`.

    It has its own random state, so that runs can take turns in one process.

    Args:
        job: the experiment and its pools.
        setup: what the runs of the batch share.
        seed: of all random numbers.
    """

    def __init__(self, job: Job, setup: RunSetup, seed: int) -> None:
        self.strategy = setup.strategy
        self.settings = setup.student
        self.seed = seed
        self.eval_every = setup.evaluation.every
        self.evaluations: list[Evaluation] = []
        self.seconds = 0.0
        self.stopped_at: int | None = None
        self.best = -np.inf
        self._evaluation = setup.evaluation
        self._steps = 0  # of training; a stopped run keeps counting
        self._student = sb3_student(job.experiment.env, setup.student)
        self._total = job.experiment.steps
        self._pool = pool = job.pool_of(seed)
        self.model = self._student.make(_envs(job, pool, job.experiment.n_envs), seed)
        self.model.set_logger(Logger(None, []))
        self._workers = self._for_evaluations(job, pool)
        self._test = None if job.test_pool is None else self._for_evaluations(job, job.test_pool)
        self.callback = CurriculumCallback(
            setup.strategy,
            seed=seed,
            eval_env=self._workers.env,
            reset_samples=reset_samples(job, pool),
            check_env=False,  # the command does it once
        )
        self.callback.picks = []
        self._callbacks = [WholeRun(self._total), self.callback]
        self.best_weights = self.weights()
        self._random = random_state()

    @property
    def train_steps(self) -> int:
        """Training steps taken; a stopped run keeps counting with the others."""
        return self._steps

    def weights(self) -> NamedArrays:
        """Copies of the policy's weights, by name."""
        return weights_of(self.model)

    def advance(self) -> None:
        """Train for one update, and evaluate if due."""
        before = self._steps
        until_due = self.eval_every - before % self.eval_every
        at_most = min(until_due, max(1, self._total - before))
        self._steps += self._student.chunk(self.model.n_envs, at_most)
        if self.stopped_at is None:
            start = time.perf_counter()
            self._learn()
            self.seconds += time.perf_counter() - start
        if (due := self._evaluation.due_step(before, self._steps)) is not None:
            self.evaluate(due)

    def _learn(self) -> None:
        """Train for one update; if weights are no longer finite, stop and restore the last ones."""
        kept = self.weights()
        restore_random_state(self._random)
        try:
            # Algorithms that train between episodes may be ahead.
            missing = max(0, self._steps - self.model.num_timesteps)
            self.model.learn(missing, self._callbacks, reset_num_timesteps=False)
            self.callback.refresh()  # now, so that evaluations see it
        except Exception as error:
            # PyTorch raises ValueError if the parameters of a distribution are not finite.
            if not isinstance(error, ValueError) or _all_finite(self.weights()):
                self._explain(error)
                raise
        self._random = random_state()
        if not _all_finite(self.weights()):
            self.stopped_at = self._steps
            set_weights(self.model, kept)

    def _explain(self, error: Exception) -> None:
        """Raise ValueError if an observation or settings can have caused an error of `learn`."""
        if not is_of_algorithm(error):
            return
        played = self.model.get_env().get_attr("task")
        for i, task in enumerate(played):
            if not is_finite(rows(self.model._last_obs, slice(i, i + 1))):
                raise ValueError(
                    f"an observation of {describe_task(self._pool, task)} is not finite: look for "
                    "a division by zero or a logarithm in the environment"
                ) from error
        self._student.blame_settings(error)

    def evaluate(self, step: int) -> Evaluation:
        """Play the evaluation's episodes, and keep the best weights so far."""
        restore_random_state(self._random)
        found = self._evaluate_tasks(self._workers, self._evaluation.tasks, step)
        self._random = random_state()  # before the test pool, which must not change the training
        test = (
            None if self._test is None else self._evaluate_tasks(self._test, None, step).performance
        )
        evaluation = evaluation_of(self.callback, found, step, self.seconds, test)
        taken = self._steps if self.stopped_at is None else self.stopped_at
        evaluation = evaluation._replace(train_steps=taken)
        self.evaluations.append(evaluation)
        if evaluation.performance > self.best:
            self.best, self.best_weights = evaluation.performance, self.weights()
        return evaluation

    def _evaluate_tasks(self, workers: Workers, tasks: Any, step: int) -> PoolEvaluation:
        return evaluate(
            self.model,
            workers,
            episodes=self._evaluation.episodes,
            deterministic=not self._evaluation.stochastic,
            tasks=tasks,
            seed=seed_of(self.seed, step),
        )

    def warn_at_end(self) -> None:
        """Log what the strategy never got to do."""
        if self.stopped_at is None:
            self.callback.curriculum.warn_of_shortfall()

    def state(self) -> tuple[dict[str, Any], NamedArrays]:
        """(JSON values, arrays) of a checkpoint."""
        restore_random_state(self._random)
        saved = state_of(self.callback.teacher)
        scalars, columns = pack_evaluations([self.evaluations])
        model, parts = model_state(self.model)
        meta = {
            "steps": self._steps,
            "seconds": self.seconds,
            "stopped_at": self.stopped_at,
            "best": self.best if np.isfinite(self.best) else None,
            "teacher": saved.meta,
            "evaluations": scalars,
            "model": model,
        }
        picks = np.concatenate([*(self.callback.picks or []), np.zeros(0, dtype=np.int64)])
        groups = {
            "teacher": saved.arrays,
            "evaluations": columns,
            "model": parts,
            "best": self.best_weights,
            "": {"picks": picks},
        }
        named = {f"{g}/{name}": part for g, own in groups.items() for name, part in own.items()}
        return meta, named

    def restore(self, meta: dict[str, Any], arrays: NamedArrays) -> None:
        """Continue from `state` in a new run."""
        self._steps, self.seconds = meta["steps"], meta["seconds"]
        self.stopped_at = meta["stopped_at"]
        self.best = -np.inf if meta["best"] is None else meta["best"]
        [self.evaluations] = unpack_evaluations(meta["evaluations"], within("evaluations/", arrays))
        self.best_weights = within("best/", arrays)
        restore_model(self.model, meta["model"], within("model/", arrays))
        self.model.num_timesteps = meta["teacher"]["step"]
        self.callback.picks = [arrays["/picks"]]
        self.callback.resume_from(SavedRun(meta["teacher"], within("teacher/", arrays), None))
        self.model.learn(0, self._callbacks, reset_num_timesteps=False)  # only restores
        self._random = random_state()

    def save_models(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the last weights to `path` and the best ones to `path` with `-best` appended."""
        last = KeptWeights(self.weights(), self.evaluations[-1].performance)
        best = KeptWeights(self.best_weights, self.best)
        self._student.save(self.model, path, last, best, facts)

    def _for_evaluations(self, job: Job, pool: TaskPool) -> Workers:
        width = EVAL_WIDTH if job.source is None else OWN_EVAL_WIDTH
        env = _envs(job, pool, min(width, len(pool)))
        return Workers(match_wrappers(env, self.model.get_env()), "eval_env")


def _envs(job: Job, pool: TaskPool, n: int) -> VecEnv:
    return DummyVecEnv([task_env_maker(job, pool)] * n)


def _all_finite(weights: NamedArrays) -> bool:
    return all(np.isfinite(part).all() for part in weights.values())
