"""Records of a run that is trained alone, in a folder that may hold other such runs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from procurl.records.evaluation import Evaluation
from procurl.records.experiment import Contender, Experiment, differences
from procurl.records.results import RunId
from procurl.records.store import FILE, Store, open_experiment, read_store
from procurl.tasks.pool import TaskPool


def free_seed(folder: Path, contender: Contender) -> int:
    """The smallest seed without a finished run of `contender` in `folder`, which may not exist."""
    finished = _finished_runs(folder)
    return next(seed for seed in count() if RunId(*contender, seed) not in finished)


class RunWriter:
    """Writes the evaluations of one run, new or continued.

    Args:
        folder: is created if it is missing.
        experiment: what all runs of the folder have in common.
        pool: the training pool.
        run: the run. A new run replaces an unfinished one of the same name.
        settings: of the run's strategy; the folder's other runs of that label must have the same.
        step: training steps so far; evaluations of later steps are deleted.
        overwrite: whether a new run may replace a finished one.
    """

    def __init__(
        self,
        folder: Path,
        experiment: Experiment,
        pool: TaskPool,
        run: RunId,
        settings: Mapping[str, Any],
        *,
        step: int = 0,
        overwrite: bool = False,
    ) -> None:
        self.run = run
        self._new = step == 0
        if self._new and not overwrite and run in _finished_runs(folder):
            raise ValueError(
                f"out: {folder} holds a finished run of {run.label!r} with seed {run.seed}, which "
                "this one would replace: choose another seed, label or folder, or pass "
                "overwrite=True"
            )
        self._store = self._open(folder, experiment, pool)
        try:
            with self._store.transaction():
                self._check_settings(settings)
                self._store.begin(run)
                self.evaluations = self._resume(step)
        except BaseException:
            self._store.close()
            raise

    @property
    def steps(self) -> int:
        """The planned training steps."""
        return self._store.experiment.steps

    def add(self, evaluation: Evaluation) -> None:
        """Record an evaluation."""
        self.evaluations.append(evaluation)
        self._store.add(self.run, evaluation)

    def close(self, finished: bool) -> None:
        """Stop writing, because the run is finished or because it pauses."""
        if finished:
            self._store.finish(self.run)
        self._store.close()

    def _open(self, folder: Path, experiment: Experiment, pool: TaskPool) -> Store:
        """The store; if the run is the only one there, it may continue to more steps."""
        if not (folder / FILE).exists():
            return open_experiment(folder, experiment, pool)
        with read_store(folder) as store:
            there, runs = store.experiment, store.runs
        same = replace(experiment, steps=there.steps, pool_hash=pool.fingerprint)
        if experiment.steps == there.steps or differences(there, same):
            return open_experiment(folder, experiment, pool)
        if self._new or runs != (self.run,) or experiment.steps < there.steps:
            raise ValueError(
                f"{folder} holds another experiment: steps is {there.steps}, not "
                f"{experiment.steps}. Train for as many steps, or use another folder. If learn is "
                f"called several times for a run, pass the recorder the total, steps={there.steps}"
            )
        store = open_experiment(folder, same, pool)
        store.extend_run(self.run, experiment.steps)
        return store

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        """Record the settings; raise if other runs of this label have different ones."""
        ours: dict[str, Any] = json.loads(json.dumps(dict(settings)))
        label = self.run.label
        theirs = self._store.settings.get(label)
        if theirs == ours:
            return
        alone = not any(
            other.label == label and (other != self.run or not self._new)
            for other in self._store.runs
        )
        if theirs is not None and not alone:
            name, there, here = _first_difference(theirs, ours)
            raise ValueError(
                f"out: {self._store.folder} holds runs of {label!r} with {name} = {there!r}, and "
                f"this run has {here!r}: give it another label, or use another folder"
            )
        self._store.set_settings(label, ours)

    def _resume(self, step: int) -> list[Evaluation]:
        """The evaluations up to `step`; later ones are deleted."""
        recorded = self._store.detail(self.run)
        behind = [m for m in recorded if not self._new and m.train_steps <= step]
        if len(behind) < len(recorded):
            self._store.clear(self.run)
            self._store.add(self.run, *behind)
        return behind


def _finished_runs(folder: Path) -> set[RunId]:
    if not (folder / FILE).exists():
        return set()
    with read_store(folder) as store:
        return store.finished_runs()


def _first_difference(theirs: Any, ours: Any, name: str = "") -> tuple[str, Any, Any]:
    """(dotted name, their value, our value) of the first setting that differs."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in {**theirs, **ours}:
            if theirs.get(key) != ours.get(key):
                inner = f"{name}.{key}" if name else key
                return _first_difference(theirs.get(key), ours.get(key), inner)
    return name, theirs, ours
