"""The interface of an engine: what trains a batch of runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from procurl.records.evaluation import Evaluation


class Checkpoint(NamedTuple):
    """The state of a batch with its evaluations, as plain values and arrays."""

    meta: dict[str, Any]  # plain JSON values
    arrays: dict[str, NDArray[Any]]


class Trainer(Protocol):
    """w runs that are trained together, in the order of their seeds.

    The driver calls `advance` until `train_steps` reaches the experiment's steps. The trainer
    evaluates at every multiple of its interval and at the experiment's steps.
    """

    @property
    def identity(self) -> dict[str, Any]:
        """All that determines the numbers, as JSON values; a checkpoint needs an equal one."""

    @property
    def train_steps(self) -> int:
        """Training steps that every run has taken."""

    @property
    def seconds(self) -> float:
        """Training time so far without evaluations, over all processes that have trained it."""

    @property
    def evaluations(self) -> Sequence[Sequence[Evaluation]]:
        """[w] the evaluations of every run so far, in order."""

    @property
    def stopped_at(self) -> Sequence[int | None]:
        """[w] the step at which a non-finite value stopped the run; None if it was not stopped."""

    def advance(self) -> None:
        """Train every run for one update, and evaluate if due."""

    def warn_at_end(self) -> None:
        """Log what the strategy never got to do; called after the last step."""

    def checkpoint(self) -> Checkpoint:
        """The state from which another process continues bit for bit."""

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of a trainer with an equal identity."""

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the last weights of a run to `path` and the best ones to `path` with `-best`.

        Args:
            run: its position in the batch.
            path: without a suffix; its directory exists.
            facts: of the run, saved with the weights.
        """
