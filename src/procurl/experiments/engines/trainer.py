"""What trains a batch of runs: the part that differs between engines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from procurl.records.results import Measured


class Checkpoint(NamedTuple):
    """Everything that changes in a batch, what it has measured included; free of pickled code."""

    meta: dict[str, Any]  # plain JSON values
    arrays: dict[str, NDArray[Any]]


class Trainer(Protocol):
    """w runs that are trained side by side, with seeds in the order in which it was given them.

    Whoever drives it calls `advance` until `train_steps` reaches the steps that are wanted. The
    trainer evaluates by itself at every multiple of its interval; the driver asks for the last
    evaluation where none fell on the last step.
    """

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON values: a checkpoint is taken up by the same."""

    @property
    def train_steps(self) -> int:
        """Training steps that every run has taken."""

    @property
    def seconds(self) -> float:
        """Of training so far, evaluations not counted, over all processes that have trained it."""

    @property
    def measured(self) -> Sequence[Sequence[Measured]]:
        """[w] the evaluations of every run so far, by step."""

    @property
    def stopped_at(self) -> Sequence[int | None]:
        """[w] the step at which a value that was not finite stopped a run, None while it goes."""

    def advance(self) -> None:
        """Train every run for one update, and evaluate where due."""

    def evaluate(self, step: int) -> Any:
        """Evaluate every run now; `step` is what the evaluation stands for."""

    def checkpoint(self) -> Checkpoint:
        """Enough to go on from here, in another process, as if nothing had happened."""

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint of a trainer with the same identity."""

    def save_models(self, run: int, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the last weights of a run to `path` and the best ones to `path` with `-best`.

        Args:
            run: its position in the batch.
            path: without an ending; the folder exists.
            facts: of the run, kept with the weights.
        """
