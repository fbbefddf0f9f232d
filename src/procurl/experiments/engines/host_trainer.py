"""The host engine as a sweep drives it: our PPO in JAX, environments stepped on the cores."""

from contextlib import suppress
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from procurl.envs import make_host_env
from procurl.envs.adapters.vector_env import GymVectorEnv
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.models import ModelWeights, RunModels
from procurl.experiments.engines.sequential import SequentialTrainer
from procurl.experiments.engines.setup import RunSetup, setup_of
from procurl.ppo.actor import START_SAMPLES
from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
from procurl.ppo.host.run import HostRun, NotFiniteError
from procurl.records.evaluation import Evaluation
from procurl.tasks.pool import TaskPool

EVAL_WIDTH = 100  # environments at a time in evaluations and rollouts


class SequentialHostRun:
    """A `HostRun` as a `SequentialTrainer` drives it."""

    def __init__(self, run: HostRun) -> None:
        self.run = run
        self.strategy = run.strategy
        self.ppo = run.ppo
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

    def evaluate(self, step: int) -> Any:
        return self.run.evaluate(step)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return host_checkpoint(self.run)

    def restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        restore_host(self.run, meta, arrays)

    def models(self) -> RunModels:
        run = self.run
        last, best = (
            jax.tree.map(np.asarray, part) for part in (run.params, run.state.best_params)
        )
        return RunModels(
            ModelWeights(last, run.evaluations[-1].performance),
            ModelWeights(best, float(run.state.best)),
        )


def make_host_trainer(job: Job, batch: RunBatch) -> SequentialTrainer:
    """The runs of a batch at their first step."""
    setup = setup_of(job, batch)
    runs = [SequentialHostRun(_make_run(job, setup, seed)) for seed in batch.seeds]
    device = f"{jax.default_backend()}, stepped on the host"
    return SequentialTrainer(runs, job.experiment.env, device)


def _make_run(job: Job, setup: RunSetup, seed: int) -> HostRun:
    def env(width: int, pool: TaskPool) -> GymVectorEnv:
        return GymVectorEnv(make_host_env(job.experiment.env), width, pool)

    return HostRun(
        env(job.experiment.n_envs, job.pool),
        job.pool,
        setup.strategy,
        setup.ppo,
        seed,
        eval_env=env(EVAL_WIDTH, job.pool),
        test_env=None if job.test_pool is None else env(EVAL_WIDTH, job.test_pool),
        evaluation=setup.evaluation,
        reset_samples=START_SAMPLES,
    )
