"""Logging evaluations to TensorBoard and Weights & Biases."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from procurl.internals.files import file_name
from procurl.records.evaluation import Evaluation, log_values
from procurl.records.experiment import Experiment
from procurl.records.results import RunId


class Log(Protocol):
    """A destination of evaluations in addition to the store."""

    def add(self, run: RunId, evaluation: Evaluation) -> None:
        """Log one evaluation."""

    def finish(self, run: RunId) -> None:
        """Close the log of a run that has ended."""

    def close(self) -> None:
        """Close the logs of all runs."""


@contextmanager
def open_logs(
    experiment: Experiment, tensorboard: Path | None, wandb: str | None
) -> Iterator[Sequence[Log]]:
    """Open the logs and close them at the end.

    Args:
        experiment: what is trained.
        tensorboard: directory for event files; None for none.
        wandb: name of the project; None for none.
    """
    with ExitStack() as stack:
        logs: list[Log] = []
        if tensorboard is not None:
            logs.append(TensorBoardLog(tensorboard))
        if wandb is not None:
            logs.append(WandbLog(wandb, experiment))
        for log in logs:
            stack.callback(log.close)
        yield logs


class TensorBoardLog:
    """Event files, in a directory per run: `DIR/procurl-val/seed-00000`."""

    def __init__(self, folder: Path) -> None:
        self._summary = _import("tensorboard.summary", "--tensorboard", "tensorboard")
        self._folder = folder
        self._writers: dict[RunId, Any] = {}

    def add(self, run: RunId, evaluation: Evaluation) -> None:
        if run not in self._writers:
            place = self._folder / file_name(run.label) / f"seed-{run.seed:05d}"
            self._writers[run] = self._summary.Writer(str(place))
        for key, value in log_values(evaluation).items():
            self._writers[run].add_scalar(key, value, evaluation.step)
        self._writers[run].flush()

    def finish(self, run: RunId) -> None:
        if run in self._writers:
            self._writers.pop(run).close()

    def close(self) -> None:
        for run in list(self._writers):
            self.finish(run)


class WandbLog:
    """A run of Weights & Biases for each of ours, continued when a sweep resumes."""

    def __init__(self, project: str, experiment: Experiment) -> None:
        self._wandb = _import("wandb", "--wandb", "wandb")
        self._project = project
        self._experiment = experiment
        self._runs: dict[RunId, Any] = {}

    def add(self, run: RunId, evaluation: Evaluation) -> None:
        if run not in self._runs:
            what = self._experiment
            self._runs[run] = self._wandb.init(
                project=self._project,
                name=f"{run.label}, seed {run.seed}",
                group=run.label,
                id=_wandb_id(what, run),
                resume="allow",
                reinit="create_new",
                config={"env": what.env, "engine": what.engine, "steps": what.steps}
                | {"n_envs": what.n_envs, "strategy": run.strategy, "setting": run.setting}
                | {"seed": run.seed, "student": what.student},
            )
        self._runs[run].log(log_values(evaluation), step=evaluation.step)

    def finish(self, run: RunId) -> None:
        if run in self._runs:
            self._runs.pop(run).finish()

    def close(self) -> None:
        for run in list(self._runs):
            self.finish(run)


def _wandb_id(experiment: Experiment, run: RunId) -> str:
    """The same for a run that resumes, another for runs of any other experiment."""
    identity = json.dumps([experiment.compared_fields(), *run], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _import(module: str, option: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{option} needs {package}: pip install {package}") from error
