"""Runs of Stable-Baselines3's PPO, as a sweep drives them: the reference for the JAX engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from procurl.envs import make_host_env
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.sb3_ppo import network_weights
from procurl.experiments.engines.sb3_run import SB3Run
from procurl.experiments.engines.trainer import Checkpoint
from procurl.experiments.presets import paper_strategy, ppo_of, preset_of
from procurl.internals.settings import describe
from procurl.policy import make_policy, save_policy
from procurl.records.packing import pack_measured, unpack_measured
from procurl.records.results import Measured, evaluated_tasks
from procurl.sb3.saving.runs import within


class SB3Trainer:
    """Runs of one environment and one strategy, one after the other; see `Trainer`."""

    def __init__(self, runs: Sequence[SB3Run]) -> None:
        self.runs = runs

    @property
    def identity(self) -> dict[str, Any]:
        first = self.runs[0]
        return {
            "strategy": describe(first.strategy),
            "ppo": describe(first.ppo),
            "seeds": [run.seed for run in self.runs],
            "eval_every": first.eval_every,
            "device": "cpu",
        }

    @property
    def train_steps(self) -> int:
        return self.runs[0].train_steps

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def measured(self) -> Sequence[Sequence[Measured]]:
        return [run.measured for run in self.runs]

    @property
    def stopped_at(self) -> Sequence[int | None]:
        return [run.stopped_at for run in self.runs]

    def advance(self) -> None:
        for run in self.runs:
            run.advance()

    def evaluate(self, step: int) -> Any:
        return [run.evaluate(step) for run in self.runs]

    def checkpoint(self) -> Checkpoint:
        metas = []
        arrays: dict[str, NDArray[Any]] = {}
        for i, run in enumerate(self.runs):
            meta, own = run.state()
            metas.append(meta)
            arrays |= {f"{i}/{name}": array for name, array in own.items()}
        plain, columns = pack_measured(self.measured)
        arrays |= {f"measured/{name}": array for name, array in columns.items()}
        return Checkpoint({"runs": metas, "measured": plain}, arrays)

    def restore(self, checkpoint: Checkpoint) -> None:
        meta, arrays = checkpoint
        measured = unpack_measured(meta["measured"], within("measured/", arrays))
        for i, run in enumerate(self.runs):
            run.restore(meta["runs"][i], within(f"{i}/", arrays), measured[i])

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        mine = self.runs[run]
        kept = {
            path: (mine.weights(), mine.measured[-1].performance),
            path.with_name(f"{path.name}-best"): (mine.best_weights, mine.best),
        }
        dynamics = make_host_env(mine.env_name)
        for place, (weights, performance) in kept.items():
            told = {**facts, "steps": mine.train_steps, "performance": performance}
            tensors = {name: torch.from_numpy(part) for name, part in weights.items()}
            policy = make_policy(
                network_weights(tensors),
                mine.env_name,
                dynamics.action_low,
                dynamics.action_high,
                told,
            )
            save_policy(place, policy)


def make_sb3_trainer(job: Job, batch: RunBatch) -> SB3Trainer:
    """The runs of a batch at their first step."""
    torch.set_num_threads(1)  # there is a process for every core
    experiment, contender = job.experiment, batch.contender
    strategy = paper_strategy(experiment.env, contender.strategy, **contender.settings())
    how = preset_of(experiment)
    evaluated = evaluated_tasks(len(job.pool), how.eval_tasks)
    return SB3Trainer(
        [
            SB3Run(
                experiment.env,
                job.pool,
                strategy,
                ppo_of(experiment),
                seed,
                n_envs=experiment.n_envs,
                how=how,
                eval_tasks=evaluated,
                test_pool=job.test_pool,
            )
            for seed in batch.seeds
        ]
    )
