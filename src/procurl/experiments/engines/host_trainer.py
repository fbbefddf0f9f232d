"""The host engine as a sweep drives it: our PPO in JAX, environments stepped on the cores."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from procurl.envs import make_host_env
from procurl.envs.adapters.vector_env import GymVectorEnv
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.models import ModelWeights, RunModels, save_run_models
from procurl.experiments.engines.sequential import SequentialTrainer
from procurl.experiments.engines.setup import RunSetup, setup_of
from procurl.experiments.engines.task_envs import reset_samples, task_env_maker
from procurl.ppo.actor import START_SAMPLES
from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
from procurl.ppo.host.run import HostRun, NotFiniteError
from procurl.ppo.host.training import warn_at_end
from procurl.records.evaluation import Evaluation
from procurl.tasks.pool import TaskPool

EVAL_WIDTH = 100  # environments at a time in evaluations and rollouts
OWN_EVAL_WIDTH = 16  # of environments that are not ours and may be large


class SequentialHostRun:
    """A `HostRun` as a `SequentialTrainer` drives it.

    Args:
        run: at its first step.
        env: name of the environment.
    """

    def __init__(self, run: HostRun, env: str) -> None:
        self.run = run
        self._env = env
        self.strategy = run.strategy
        self.settings = run.ppo
        self.seed = run.seed
        self.eval_every = run.evaluation.every

    @property
    def train_steps(self) -> int:
        return self.run.train_steps

    @property
    def seconds(self) -> float:
        return self.run.seconds

    @property
    def evaluations(self) -> list[Evaluation]:
        return self.run.evaluations

    @property
    def stopped_at(self) -> int | None:
        return self.run.stopped_at

    def advance(self) -> None:
        with suppress(NotFiniteError):  # `stopped_at` has the step
            self.run.advance()

    def warn_at_end(self) -> None:
        warn_at_end(self.run)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return host_checkpoint(self.run)

    def restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        restore_host(self.run, meta, arrays)

    def save_models(self, path: Path, facts: Mapping[str, Any]) -> None:
        run = self.run
        last, best = (
            jax.tree.map(np.asarray, part) for part in (run.params, run.state.best_params)
        )
        models = RunModels(
            ModelWeights(last, run.evaluations[-1].performance),
            ModelWeights(best, float(run.state.best)),
        )
        save_run_models(path, self._env, run.host, models, facts)


def make_host_trainer(job: Job, batch: RunBatch) -> SequentialTrainer:
    """The runs of a batch at their first step."""
    setup = setup_of(job, batch)
    env = job.experiment.env
    runs = [SequentialHostRun(_make_run(job, setup, seed), env) for seed in batch.seeds]
    return SequentialTrainer(runs, f"{jax.default_backend()}, stepped on the host")


def _make_run(job: Job, setup: RunSetup, seed: int) -> HostRun:
    pool, test_pool = job.pool_of(seed), job.test_pool
    return HostRun(
        _vector_env(job, pool, job.experiment.n_envs),
        pool,
        setup.strategy,
        setup.ppo,
        seed,
        eval_env=_vector_env(job, pool),
        test_env=None if test_pool is None else _vector_env(job, test_pool),
        evaluation=setup.evaluation,
        reset_samples=START_SAMPLES if job.source is None else reset_samples(job, pool),
    )


def _vector_env(job: Job, pool: TaskPool, n: int | None = None) -> VectorEnv[Any, Any, Any]:
    """n environments, by default as many as evaluations play at a time."""
    if job.source is None:
        return GymVectorEnv(make_host_env(job.experiment.env), n or EVAL_WIDTH, pool)
    width = n or min(OWN_EVAL_WIDTH, len(pool))
    makers = [task_env_maker(job, pool)] * width
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
