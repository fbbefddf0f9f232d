"""Runs of the JAX engine, as a sweep drives them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from procurl.envs import make_array_env
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.trainer import Checkpoint
from procurl.experiments.presets import paper_strategy, ppo_of, preset_of
from procurl.internals.settings import describe
from procurl.policy import make_policy, save_policy
from procurl.ppo.checkpoints import checkpoint_of, restore
from procurl.ppo.runs import Evaluation, Runs
from procurl.records.results import Measured, Snapshot, evaluated_tasks, shown_tasks


class JaxTrainer:
    """A batch of runs of one environment and one strategy; see `Trainer`."""

    def __init__(self, runs: Runs, env: str) -> None:
        self.runs = runs
        self._env = env
        self._measured: list[list[Measured]] = [[] for _ in runs.seeds]

    @property
    def identity(self) -> dict[str, Any]:
        runs = self.runs
        return {
            "strategy": describe(runs.strategies[0]),
            "ppo": describe(runs.ppo[0]),
            "seeds": list(runs.seeds),
            "eval_every": runs.eval_every,
            "device": jax.default_backend(),
        }

    @property
    def train_steps(self) -> int:
        return self.runs.train_steps

    @property
    def seconds(self) -> float:
        return self.runs.seconds

    @property
    def measured(self) -> Sequence[Sequence[Measured]]:
        for evaluation in self.runs.evaluations[len(self._measured[0]) :]:
            for run, mine in enumerate(self._measured):
                mine.append(measured_of(evaluation, run))
        return self._measured

    @property
    def stopped_at(self) -> Sequence[int | None]:
        steps = np.asarray(self.runs.state.stopped_at).tolist()
        return [None if step < 0 else step for step in steps]

    def advance(self) -> None:
        self.runs.advance()

    def evaluate(self, step: int) -> Any:
        return self.runs.evaluate(step)

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(*checkpoint_of(self.runs))

    def restore(self, checkpoint: Checkpoint) -> None:
        restore(self.runs, *checkpoint)
        self._measured = [[] for _ in self.runs.seeds]

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        state, env = self.runs.state, self.runs.env
        last = self.runs.evaluations[-1].performance[run]
        kept = {
            path: (state.training.student.params, last),
            path.with_name(f"{path.name}-best"): (state.best_params, float(state.best[run])),
        }
        for place, (params, performance) in kept.items():
            own = jax.tree.map(lambda leaf: np.asarray(leaf[run]), params)
            told = {**facts, "steps": self.train_steps, "performance": performance}
            policy = make_policy(own, self._env, env.action_low, env.action_high, told)
            save_policy(place, policy)


def make_jax_trainer(job: Job, batch: RunBatch) -> JaxTrainer:
    """The runs of a batch at their first step."""
    experiment = job.experiment
    env = make_array_env(experiment.env)
    contender = batch.contender
    strategy = paper_strategy(experiment.env, contender.strategy, **contender.settings())
    how = preset_of(experiment)
    evaluated = evaluated_tasks(len(job.pool), how.eval_tasks)
    runs = Runs(
        env,
        env.contexts_of(job.pool),
        strategies=[strategy.bind(job.pool)] * batch.width,
        ppo=[ppo_of(experiment)] * batch.width,
        seeds=list(batch.seeds),
        n_envs=experiment.n_envs,
        eval_every=how.eval_every,
        eval_tasks=evaluated,
        eval_episodes=how.eval_episodes,
        eval_stochastic=how.eval_stochastic,
        whole_at=how.whole_at,
        followed=shown_tasks(evaluated),
        test_contexts=None if job.test_pool is None else env.contexts_of(job.test_pool),
    )
    return JaxTrainer(runs, experiment.env)


def measured_of(evaluation: Evaluation, run: int) -> Measured:
    """One run's part of an evaluation of all."""
    snapshot = None
    if (seen := evaluation.followed) is not None:
        success = None if seen.success is None else seen.success[run]
        snapshot = Snapshot(seen.tasks, seen.probabilities[run], success, seen.achieved[run])
    success_mean, test = evaluation.mean_success[run], evaluation.test_performance
    return Measured(
        step=evaluation.step,
        train_steps=evaluation.train_steps,
        env_steps=evaluation.env_steps[run],
        performance=evaluation.performance[run],
        test_performance=None if test is None else test[run],
        seconds=evaluation.seconds,
        entropy=evaluation.entropy[run],
        mean_success=None if math.isnan(success_mean) else success_mean,
        picks=evaluation.picks[run],
        snapshot=snapshot,
    )
