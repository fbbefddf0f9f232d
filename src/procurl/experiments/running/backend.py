"""The interface of what trains batches: this machine or a cluster."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Self

from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.running.batch import Progress


class Backend(Protocol):
    """Where batches are trained."""

    device: str  # cpu or gpu

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def run(
        self,
        folder: Path,
        job: Job,
        batches: Sequence[RunBatch],
        report: Callable[[Progress], None],
    ) -> None:
        """Train every batch to its end; raise the first error of any of them.

        Args:
            folder: the experiment's directory, which gets checkpoints and models.
            job: what the batches share.
            batches: in the order to start them.
            report: receives the progress of every batch.
        """
