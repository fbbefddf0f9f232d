"""A trainer whose runs take turns: one update of each, then the next."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from procurl.experiments.algorithms import AlgorithmSettings
from procurl.experiments.engines.trainer import Checkpoint
from procurl.internals.arrays import NamedArrays
from procurl.internals.settings import describe
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.evaluation import Evaluation
from procurl.strategies.strategy import Strategy


class SequentialRun(Protocol):
    """One run of a `SequentialTrainer`; see `Trainer` for what the members mean."""

    @property
    def strategy(self) -> Strategy: ...

    @property
    def settings(self) -> PPOSettings | AlgorithmSettings: ...

    @property
    def seed(self) -> int: ...

    @property
    def eval_every(self) -> int: ...

    @property
    def train_steps(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    @property
    def evaluations(self) -> Sequence[Evaluation]: ...

    @property
    def stopped_at(self) -> int | None: ...

    def advance(self) -> None:
        """Train for one update, and evaluate if due; a run that was stopped only counts steps."""

    def warn_at_end(self) -> None:
        """Log what the strategy never got to do."""

    def state(self) -> tuple[dict[str, Any], NamedArrays]:
        """(JSON values, arrays) of a checkpoint."""

    def restore(self, meta: dict[str, Any], arrays: NamedArrays) -> None:
        """Continue from `state` in a new run."""

    def save_models(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the last weights to `path` and the best ones to `path` with `-best` appended."""


class SequentialTrainer:
    """Runs of one environment and one strategy that take turns; see `Trainer`.

    Args:
        runs: in the order of their seeds.
        device: where the runs learn and step; part of the identity of their numbers.
    """

    def __init__(self, runs: Sequence[SequentialRun], device: str) -> None:
        self.runs = runs
        self._device = device

    @property
    def identity(self) -> dict[str, Any]:
        first = self.runs[0]
        return {
            "strategy": describe(first.strategy),
            "student": describe(first.settings),
            "seeds": [run.seed for run in self.runs],
            "eval_every": first.eval_every,
            "device": self._device,
        }

    @property
    def train_steps(self) -> int:
        return self.runs[0].train_steps

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def evaluations(self) -> Sequence[Sequence[Evaluation]]:
        return [run.evaluations for run in self.runs]

    @property
    def stopped_at(self) -> Sequence[int | None]:
        return [run.stopped_at for run in self.runs]

    def advance(self) -> None:
        for run in self.runs:
            run.advance()

    def warn_at_end(self) -> None:
        for run in self.runs:
            run.warn_at_end()

    def checkpoint(self) -> Checkpoint:
        metas = []
        arrays: NamedArrays = {}
        for i, run in enumerate(self.runs):
            meta, own = run.state()
            metas.append(meta)
            arrays |= {f"{i}/{name}": array for name, array in own.items()}
        return Checkpoint({"runs": metas}, arrays)

    def restore(self, checkpoint: Checkpoint) -> None:
        for i, (run, meta) in enumerate(zip(self.runs, checkpoint.meta["runs"], strict=True)):
            prefix = f"{i}/"
            own = {
                name.removeprefix(prefix): array
                for name, array in checkpoint.arrays.items()
                if name.startswith(prefix)
            }
            run.restore(meta, own)

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        self.runs[run].save_models(path, {**facts, "steps": self.train_steps})
