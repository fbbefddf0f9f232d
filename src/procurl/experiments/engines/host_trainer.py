"""Runs that step on the host, as a sweep drives them: MuJoCo's environments on a CPU."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from procurl.envs import make_host_env
from procurl.envs.adapters.vector_env import GymVectorEnv
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.jax_trainer import measured_of
from procurl.experiments.engines.trainer import Checkpoint
from procurl.experiments.presets import paper_strategy, ppo_of, preset_of
from procurl.internals.settings import describe
from procurl.policy import make_policy, save_policy
from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
from procurl.ppo.host.run import HostRun, NotFiniteError
from procurl.ppo.student import START_SAMPLES
from procurl.records.results import Measured, evaluated_tasks, shown_tasks
from procurl.tasks.pool import TaskPool

EVAL_WIDTH = 100  # environments at a time in evaluations and rollouts


class HostTrainer:
    """Runs of one environment and one strategy, one after the other; see `Trainer`."""

    def __init__(self, runs: Sequence[HostRun], env: str) -> None:
        self.runs = runs
        self._env = env

    @property
    def identity(self) -> dict[str, Any]:
        first = self.runs[0]
        return {
            "strategy": describe(first.strategy),
            "ppo": describe(first.ppo),
            "seeds": [run.seed for run in self.runs],
            "eval_every": first.eval_every,
            "device": f"{jax.default_backend()}, stepped on the host",
        }

    @property
    def train_steps(self) -> int:
        return self.runs[0].train_steps

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def measured(self) -> Sequence[Sequence[Measured]]:
        return [[measured_of(evaluation, 0) for evaluation in r.evaluations] for r in self.runs]

    @property
    def stopped_at(self) -> Sequence[int | None]:
        return [run.stopped_at for run in self.runs]

    def advance(self) -> None:
        for run in self.runs:
            with suppress(NotFiniteError):  # `stopped_at` tells
                run.advance()

    def evaluate(self, step: int) -> Any:
        return [run.evaluate(step) for run in self.runs]

    def checkpoint(self) -> Checkpoint:
        arrays: dict[str, NDArray[Any]] = {}
        runs = []
        for i, run in enumerate(self.runs):
            own, mine = host_checkpoint(run)
            runs.append(own)
            arrays |= {f"{i}/{name}": array for name, array in mine.items()}
        return Checkpoint({"runs": runs, "updates": self.runs[0].updates}, arrays)

    def restore(self, checkpoint: Checkpoint) -> None:
        for i, (run, meta) in enumerate(zip(self.runs, checkpoint.meta["runs"], strict=True)):
            start = f"{i}/"
            own = {n[len(start) :]: a for n, a in checkpoint.arrays.items() if n.startswith(start)}
            restore_host(run, meta, own)

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        mine = self.runs[run]
        env: Any = mine.env
        kept = {
            path: (mine.params, mine.evaluations[-1].performance[0]),
            path.with_name(f"{path.name}-best"): (mine.state.best_params, float(mine.state.best)),
        }
        for place, (params, performance) in kept.items():
            own = jax.tree.map(np.asarray, params)
            told = {**facts, "steps": self.train_steps, "performance": performance}
            dynamics = env.array_env
            policy = make_policy(own, self._env, dynamics.action_low, dynamics.action_high, told)
            save_policy(place, policy)


def make_host_trainer(job: Job, batch: RunBatch) -> HostTrainer:
    """The runs of a batch at their first step."""
    experiment, contender = job.experiment, batch.contender
    strategy = paper_strategy(experiment.env, contender.strategy, **contender.settings())
    how = preset_of(experiment)
    evaluated = evaluated_tasks(len(job.pool), how.eval_tasks)

    def env(width: int, pool: TaskPool) -> GymVectorEnv:
        return GymVectorEnv(make_host_env(experiment.env), width, pool)

    runs = [
        HostRun(
            env(experiment.n_envs, job.pool),
            job.pool,
            strategy,
            ppo_of(experiment),
            seed,
            eval_env=env(EVAL_WIDTH, job.pool),
            eval_every=how.eval_every,
            eval_tasks=evaluated,
            eval_episodes=how.eval_episodes,
            eval_stochastic=how.eval_stochastic,
            followed=shown_tasks(evaluated),
            test_env=None if job.test_pool is None else env(EVAL_WIDTH, job.test_pool),
            test_pool=job.test_pool,
            reset_samples=START_SAMPLES,
        )
        for seed in batch.seeds
    ]
    return HostTrainer(runs, experiment.env)
