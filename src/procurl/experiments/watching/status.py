"""The progress of a sweep as its store shows it."""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from procurl.experiments.batches import RunBatch, batches_of
from procurl.experiments.running.live import estimate_seconds_left
from procurl.records.evaluation import Evaluation
from procurl.records.results import RunId
from procurl.records.store import FILE, Store


class ContenderStatus(NamedTuple):
    """The progress of the runs of one contender."""

    label: str
    planned: int  # runs
    finished: int
    running: int  # runs with an evaluation that are not finished
    progress: float  # share of the training steps, from 0 to 1
    performance: float | None  # mean over runs of the latest evaluation, if it is finite


class SweepStatus(NamedTuple):
    """The progress of a sweep."""

    contenders: list[ContenderStatus]
    seconds_left: float | None  # None if nothing is known yet
    seconds_since: float  # since the store last changed
    version: str  # changes with the store

    @property
    def finished(self) -> bool:
        """Whether all planned runs are finished."""
        return all(one.finished == one.planned for one in self.contenders)


def status_of(store: Store) -> SweepStatus:
    """The progress of the sweep in a store."""
    evaluations = store.results().evaluations
    finished, steps = store.finished_runs(), store.experiment.steps
    planned, left = store.plan.seeds, None
    if store.experiment.one_by_one:  # the plan is what exists
        planned = dict(Counter(run.label for run in evaluations))
    else:
        batches = batches_of(store.plan, store.experiment.width)
        left = _seconds_left(batches, evaluations, finished, steps)
    contenders = [
        _contender_status(label, runs, evaluations, finished, steps)
        for label, runs in planned.items()
    ]
    version, changed = version_of(store.folder)
    return SweepStatus(contenders, left, max(0.0, time.time() - changed), version)


def version_of(folder: Path) -> tuple[str, float]:
    """A text that changes with the store of a directory, and the time of the latest change."""
    found = []
    for name in (FILE, f"{FILE}-wal"):  # recent changes are in the second, if it is there
        with suppress(FileNotFoundError):
            found.append((folder / name).stat())
    found = [one for one in found if one.st_size > 0]  # readers leave an empty one for a moment
    version = "-".join(f"{one.st_mtime_ns:x}.{one.st_size:x}" for one in found)
    return version, max((one.st_mtime for one in found), default=0.0)


def _contender_status(
    label: str,
    planned: int,
    evaluations: Mapping[RunId, Sequence[Evaluation]],
    finished: set[RunId],
    steps: int,
) -> ContenderStatus:
    mine = {run: found for run, found in evaluations.items() if run.label == label}
    latest = {run: found[-1] for run, found in mine.items() if found}
    done = [run for run in mine if run in finished]
    share = [1.0 if run in finished else min(latest[run].step / steps, 1.0) for run in latest]
    scores = [at.performance for at in latest.values() if math.isfinite(at.performance)]
    return ContenderStatus(
        label,
        planned=planned,
        finished=len(done),
        running=sum(run not in finished for run in latest),
        progress=sum(share) / planned if planned else 0.0,
        performance=sum(scores) / len(scores) if scores else None,
    )


def _seconds_left(
    batches: Sequence[RunBatch],
    evaluations: Mapping[RunId, Sequence[Evaluation]],
    finished: set[RunId],
    steps: int,
) -> float | None:
    """The estimate of `estimate_seconds_left`, with speeds from the recorded training times."""
    speeds, left, training = {}, {}, 0
    for batch in batches:
        latest = [found[-1] for run in batch.runs if (found := evaluations.get(run))]
        slowest = min(latest, key=lambda one: one.step, default=None)
        if slowest is not None and slowest.seconds > 0:
            speeds[batch] = slowest.train_steps / slowest.seconds
        if not set(batch.runs) <= finished:
            left[batch] = max(0, steps - (0 if slowest is None else slowest.step))
            training += slowest is not None
    return estimate_seconds_left(left, speeds, max(1, training))
