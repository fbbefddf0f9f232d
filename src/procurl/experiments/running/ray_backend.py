"""Training batches on a Ray cluster, which need not share a file system with the driver."""

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.running.batch import Progress, train_batch
from procurl.experiments.running.forwarding import forward_warnings
from procurl.experiments.running.local import check_platform, keep_files, prepare_process
from procurl.experiments.running.slots import Slots
from procurl.internals.hardware import cores

GPU_SHARE = 0.5  # of a GPU per batch, which is enough to keep it busy
RETRIES = 5  # of a batch that makes no progress
IN_FLIGHT = 4  # batches submitted per place on the cluster
PATIENCE = 1.0  # seconds to wait for progress before Ctrl-C is noticed


class RayBackend:
    """A Ray cluster; see `Backend`. Without an address, a local one is started.

    Args:
        address: as for `ray.init`.
        use_gpus: whether the engine can use GPUs.
    """

    def __init__(self, address: str | None = None, use_gpus: bool = True) -> None:
        # Silences Ray's warning about the devices that tasks without a GPU will see.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise ImportError("the backend ray needs Ray: pip install 'procurl[ray]'") from error
        self._ray = ray
        how: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if address is None and "RAY_ADDRESS" not in os.environ:
            how |= {"address": "local", "num_cpus": cores(), "include_dashboard": False}
        try:
            ray.init(**({"address": address} | how))
        except (ConnectionError, ValueError) as error:
            raise OSError(f"no Ray cluster could be reached at {address!r}: {error}") from error
        self.resources: dict[str, float] = ray.cluster_resources()
        # If there are GPUs, all batches train on them.
        self.device = "gpu" if use_gpus and self.resources.get("GPU", 0) > 0 else "cpu"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def run(
        self,
        folder: Path,
        job: Job,
        batches: Sequence[RunBatch],
        report: Callable[[Progress], None],
    ) -> None:
        """Train every batch; see `Backend`.

        Nodes send their checkpoints, and the driver writes them. If a node is lost, its batch
        continues elsewhere from the last checkpoint that arrived.
        """
        gpu = self.device == "gpu"
        places = self.resources.get("GPU", 0) / GPU_SHARE if gpu else self.resources.get("CPU", 1)
        waiting = list(batches)
        threads = int(self.resources.get("CPU", 1) // max(1, places))
        tasks = _RayTasks(self._ray, folder, job, gpu, threads, report)
        while waiting or tasks.running:
            while waiting and len(tasks.running) < max(1, IN_FLIGHT * places):
                tasks.submit(waiting.pop(0))
            ready, _ = self._ray.wait(list(tasks.running), num_returns=1, timeout=PATIENCE)
            for stream in ready:
                tasks.receive(stream)


class _RayTasks:
    """The batches that the cluster is training."""

    def __init__(
        self,
        ray: Any,
        folder: Path,
        job: Job,
        gpu: bool,
        threads: int,
        report: Callable[[Progress], None],
    ) -> None:
        options = {"num_gpus": GPU_SHARE, "num_cpus": 0} if gpu else {"num_cpus": 1}
        self._remote = ray.remote(max_retries=0, num_returns="streaming", **options)(_train)
        self._ray, self._folder, self._report = ray, folder, report
        self._job, self._place = ray.put(job), (gpu, threads)
        self._slots: dict[RunBatch, Slots] = {}
        self._losses: dict[RunBatch, int] = {}  # in a row, without a new checkpoint
        self.running: dict[Any, RunBatch] = {}  # by its stream of progress

    def submit(self, batch: RunBatch) -> None:
        """Submit a batch to the cluster, with its newest checkpoint."""
        damaged: list[str] = []
        slots = self._slots.setdefault(batch, Slots(self._folder / batch.folder))
        checkpoint = slots.newest(damaged.append)
        for message in damaged:
            self._report_message(batch, message)
        self.running[self._remote.remote(self._job, batch, checkpoint, *self._place)] = batch

    def receive(self, stream: Any) -> None:
        """Receive the next progress of a batch, or its end."""
        batch, errors = self.running[stream], self._ray.exceptions
        try:
            progress = self._ray.get(next(stream))
        except StopIteration:
            del self.running[stream]
        except errors.RayTaskError as error:
            raise _cause(error) from error
        except errors.RayError as error:
            del self.running[stream]
            self._lost(batch, error)
        else:
            if progress.checkpoint is not None:
                self._losses[batch] = 0
            self._report(keep_files(self._folder, self._slots[batch], progress))

    def _lost(self, batch: RunBatch, error: Exception) -> None:
        """Submit a lost batch again, unless it has been lost too often."""
        reason = str(error).strip().partition("\n")[0]
        self._losses[batch] = self._losses.get(batch, 0) + 1
        if self._losses[batch] > RETRIES:
            raise OSError(
                f"{batch.folder} was lost {self._losses[batch]} times in a row without progress, "
                f"the last time with: {reason}"
            ) from error
        self._report_message(batch, f"{batch.folder}: {reason} Trying again")
        self.submit(batch)

    def _report_message(self, batch: RunBatch, message: str) -> None:
        self._report(Progress(batch, 0, 0.0, None, message))


def _train(
    job: Job, batch: RunBatch, checkpoint: bytes | None, gpu: bool, threads: int
) -> Iterator[Progress]:
    """Train a batch on a node of the cluster."""
    if gpu:
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", str(0.9 * GPU_SHARE))
    prepare_process(one_thread=not gpu, threads=threads)
    check_platform()
    warnings: list[tuple[str, str]] = []
    with forward_warnings(lambda *warning: warnings.append(warning)):
        for progress in train_batch(job, batch, checkpoint):
            yield from (progress.with_warning(*warning) for warning in warnings)
            warnings.clear()
            yield progress


def _cause(error: Any) -> Exception:
    """The error that a task raised if it is one that users see, otherwise Ray's account of it."""
    cause = error.cause
    kinds = (ValueError, TypeError, OSError, ImportError)
    return cause if isinstance(cause, kinds) else RuntimeError(str(error))
