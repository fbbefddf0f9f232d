"""What came of the runs as rows of a CSV file."""

import csv
from collections.abc import Iterable
from typing import NamedTuple, TextIO


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


def write_csv(rows: Iterable[Row], file: TextIO) -> None:
    """The rows with a header line; a missing number is an empty cell."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
