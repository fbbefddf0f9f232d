"""What came of the runs: rows of an experiment's directory, and their CSV."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from procurl.experiments.plans import batches_of, read_experiment

RECORDS = "records.json"


class Row(NamedTuple):
    """One evaluation of one run; the columns of `procurl export`."""

    env: str
    strategy: str
    setting: str
    engine: str
    seed: int
    step: int
    performance: float
    test_performance: float | None
    train_steps: int
    env_steps: int
    seconds: float


def read_rows(folder: Path) -> Iterator[Row]:
    """Every evaluation of every run that was asked for, by strategy, seed and step."""
    experiment, request = read_experiment(folder)
    batches = batches_of(request, experiment.width)
    order = {label: i for i, label in enumerate(request.seeds)}
    for batch in sorted(batches, key=lambda b: (order[b.contender.label], b.first_seed)):
        path = folder / batch.folder / RECORDS
        if not path.exists():
            continue
        try:
            evaluations = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error
        for run, seed in enumerate(batch.seeds):
            if seed >= request.seeds[batch.contender.label]:
                continue
            for evaluation in evaluations:
                test = evaluation["test_performance"]
                yield Row(
                    experiment.env,
                    batch.contender.strategy,
                    batch.contender.setting,
                    experiment.engine,
                    seed,
                    evaluation["step"],
                    evaluation["performance"][run],
                    None if test is None else test[run],
                    evaluation["train_steps"],
                    evaluation["env_steps"][run],
                    round(evaluation["seconds"], 3),
                )


def write_csv(rows: Iterable[Row], file: TextIO) -> None:
    """The rows with a header line; a missing number is an empty cell."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
