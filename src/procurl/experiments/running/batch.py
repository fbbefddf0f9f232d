"""Training one batch of runs from its last checkpoint to its end.

Nothing here writes files. Whatever should be kept is yielded: a process on this machine writes it,
a node of a cluster sends it to the driver of the sweep.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from procurl.envs.adapters.task_errors import RAISED, environment_error
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.registry import make_trainer
from procurl.experiments.engines.trainer import Checkpoint, Trainer
from procurl.experiments.running.slots import STEP
from procurl.internals.archive import content_errors, pack_archive, unpack_archive
from procurl.records.evaluation import Evaluation

SAVE_SECONDS = 20.0  # between checkpoints; evaluations have one as well
SAVE_SHARE = 0.1  # of the time, at most, for checkpoints between evaluations
REPORT_SECONDS = 0.5  # between reports of progress
# Fields that were added to experiments later, with the value that older checkpoints imply.
ADDED_FIELDS = {
    "eval_every": None,
    "eval_episodes": None,
    "eval_tasks": None,
    "eval_stochastic": None,
    "env_version": None,
    "test_name": "test",
    "n_pools": 1,
}


class Progress(NamedTuple):
    """What a batch reports while it trains."""

    batch: RunBatch
    step: int  # training steps of each run
    seconds: float  # of training, over all processes that have trained it
    performance: float | None  # mean over the runs at the latest evaluation
    message: str | None = None  # to show to the user
    about: str | None = None  # the message: only the first one about the same is shown
    evaluations: list[list[Evaluation]] | None = None  # [w] new evaluations of each run
    checkpoint: bytes | None = None  # to write before the rest is recorded
    models: dict[str, bytes] | None = None  # contents of files to write, by name
    finished: tuple[int | None, ...] | None = None  # [w] `stopped_at` of each run, at the end

    def with_warning(self, text: str, about: str) -> "Progress":
        """This progress with a warning as its message, and nothing to record."""
        return Progress(self.batch, self.step, self.seconds, self.performance, text, about)


def train_batch(
    job: Job,
    batch: RunBatch,
    checkpoint: bytes | None,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[Progress]:
    """Train `batch` to its last step and yield its progress.

    Evaluations from before the checkpoint are yielded again, as they may have been lost since.

    Args:
        job: what to train.
        batch: its runs.
        checkpoint: from an earlier `Progress`; None to start at the first step.
        stopping: called between updates; once it returns True, a last checkpoint is yielded.
    """
    try:
        yield from _train(job, batch, checkpoint, stopping)
    except RAISED as error:
        if found := environment_error(error):
            raise found from error
        raise


def _train(
    job: Job, batch: RunBatch, checkpoint: bytes | None, stopping: Callable[[], bool]
) -> Iterator[Progress]:
    """`train_batch`, with errors as the environment raises them."""
    trainer = make_trainer(job, batch)
    identity = {"experiment": _identity(job), "trainer": trainer.identity}
    if checkpoint is not None:
        with content_errors(batch.folder):
            trainer.restore(_unpack(checkpoint, batch, identity))
    sent = 0
    stopped = [step is not None for step in trainer.stopped_at]
    reported_at = saved_at = time.monotonic()
    pause = SAVE_SECONDS

    def progress(**more: Any) -> Progress:
        latest = [run[-1].performance for run in trainer.evaluations if run]
        performance = float(np.mean(latest)) if latest else None
        return Progress(batch, trainer.train_steps, trainer.seconds, performance, **more)

    def unsent() -> list[list[Evaluation]]:
        nonlocal sent
        new = [list(run[sent:]) for run in trainer.evaluations]
        sent += len(new[0])
        return new

    yield progress(evaluations=unsent())
    while trainer.train_steps < job.experiment.steps:
        trainer.advance()
        now, stop = time.monotonic(), stopping()
        if len(trainer.evaluations[0]) > sent or now - saved_at > pause or stop:
            yield progress(checkpoint=_pack(trainer, identity), evaluations=unsent())
            for message in _newly_stopped(trainer, batch, stopped):
                yield progress(message=message)
            saved_at = reported_at = time.monotonic()
            pause = max(SAVE_SECONDS, (saved_at - now) / SAVE_SHARE)  # a replay buffer takes long
        elif now - reported_at > REPORT_SECONDS:
            yield progress()
            reported_at = now
        if stop:
            return
    trainer.warn_at_end()
    models = _models(trainer, batch) if job.keep_models else None
    yield progress(models=models, finished=tuple(trainer.stopped_at))


def _newly_stopped(trainer: Trainer, batch: RunBatch, known: list[bool]) -> Iterator[str]:
    """A message for each run that has stopped since the last call; updates `known`."""
    for run, step in enumerate(trainer.stopped_at):
        if step is not None and not known[run]:
            known[run] = True
            yield (
                f"{batch.contender.label}, seed {batch.seeds[run]}: stopped at step {step}, "
                "a loss, a critic value or an observation is not finite; its last state is kept"
            )


def _models(trainer: Trainer, batch: RunBatch) -> dict[str, bytes]:
    """The contents of the model files of every run that was not stopped."""
    with tempfile.TemporaryDirectory() as folder:
        for run, step in enumerate(trainer.stopped_at):
            if step is None:
                seed = batch.seeds[run]
                facts = {"strategy": batch.contender.label, "seed": seed}
                trainer.save_models(run, Path(folder) / f"seed-{seed:05d}", facts)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _identity(job: Job) -> dict[str, Any]:
    """The experiment without file names: pools are identified by their hashes."""
    fields = asdict(job.experiment)
    return {name: value for name, value in fields.items() if name not in ("pool", "test_pool")}


def _pack(trainer: Trainer, identity: dict[str, Any]) -> bytes:
    checkpoint = trainer.checkpoint()
    meta = {STEP: trainer.train_steps, "identity": identity, "trainer": checkpoint.meta}
    return pack_archive(meta, checkpoint.arrays)


def _unpack(content: bytes, batch: RunBatch, identity: dict[str, Any]) -> Checkpoint:
    meta, arrays = unpack_archive(content, batch.folder)
    written = {**meta["identity"], "experiment": {**ADDED_FIELDS, **meta["identity"]["experiment"]}}
    if written != json.loads(json.dumps(identity)):
        raise ValueError(
            f"{batch.folder}: the checkpoint belongs to runs with other settings or on another "
            "kind of device. Choose another directory with --out"
        )
    return Checkpoint(meta["trainer"], arrays)
