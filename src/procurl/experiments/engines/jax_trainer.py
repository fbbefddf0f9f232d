"""The JAX engine as a sweep drives it: all runs of a batch in one program."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from procurl.envs import make_array_env
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.models import ModelWeights, RunModels, save_run_models
from procurl.experiments.engines.setup import setup_of
from procurl.experiments.engines.trainer import Checkpoint
from procurl.internals.settings import describe
from procurl.monitor import warn_of_shortfall
from procurl.ppo.checkpoints import checkpoint_of, restore
from procurl.ppo.runs import Runs
from procurl.records.evaluation import Evaluation


class JaxTrainer:
    """Runs of one environment and one strategy, trained side by side; see `Trainer`."""

    def __init__(self, runs: Runs, env: str) -> None:
        self.runs = runs
        self._env = env

    @property
    def identity(self) -> dict[str, Any]:
        runs = self.runs
        return {
            "strategy": describe(runs.strategies[0]),
            "ppo": describe(runs.ppo[0]),
            "seeds": list(runs.seeds),
            "eval_every": runs.evaluation.every,
            "device": jax.default_backend(),
        }

    @property
    def train_steps(self) -> int:
        return self.runs.train_steps

    @property
    def seconds(self) -> float:
        return self.runs.seconds

    @property
    def evaluations(self) -> Sequence[Sequence[Evaluation]]:
        return self.runs.evaluations

    @property
    def stopped_at(self) -> Sequence[int | None]:
        steps = np.asarray(self.runs.state.stopped_at).tolist()
        return [None if step < 0 else step for step in steps]

    def advance(self) -> None:
        self.runs.advance()

    def warn_at_end(self) -> None:
        runs = self.runs
        states = jax.tree.map(np.asarray, runs.state.teaching.strategy)
        for run, strategy in enumerate(runs.strategies):
            state = jax.tree.map(lambda leaf, run=run: leaf[run], states)
            warn_of_shortfall(strategy, state, runs.eval_pools[0])

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(*checkpoint_of(self.runs))

    def restore(self, checkpoint: Checkpoint) -> None:
        restore(self.runs, *checkpoint)

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        state = self.runs.state

        def weights(params: Any, performance: float) -> ModelWeights:
            return ModelWeights(
                jax.tree.map(lambda leaf: np.asarray(leaf[run]), params), performance
            )

        models = RunModels(
            weights(state.training.student.params, self.runs.evaluations[run][-1].performance),
            weights(state.best_params, float(state.best[run])),
        )
        facts = {**facts, "steps": self.train_steps}
        save_run_models(path, self._env, self.runs.env, models, facts)


def make_jax_trainer(job: Job, batch: RunBatch) -> JaxTrainer:
    """The runs of a batch at their first step."""
    env = make_array_env(job.experiment.env)
    setup = setup_of(job, batch)
    runs = Runs(
        env,
        [job.pool_of(seed) for seed in batch.seeds] if job.other_pools else job.pool,
        strategies=[setup.strategy] * batch.width,
        ppo=[setup.ppo] * batch.width,
        seeds=list(batch.seeds),
        n_envs=job.experiment.n_envs,
        evaluation=setup.evaluation,
    )
    return JaxTrainer(runs, job.experiment.env)
