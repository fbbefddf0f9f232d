"""`procurl export`: evaluations as rows of a CSV file."""

import csv
from collections.abc import Iterable
from typing import Any, NamedTuple, TextIO

from procurl.records.evaluation import SCALARS, Evaluation, column_names

EXPORTED = tuple(field for field in SCALARS if field.scalar.export)


class ExportRow(NamedTuple):
    """One evaluation with the run that it belongs to."""

    env: str
    strategy: str
    setting: str
    engine: str
    seed: int
    evaluation: Evaluation


EXPORT_COLUMNS = (*ExportRow._fields[:-1], *column_names(EXPORTED))


def write_csv(rows: Iterable[ExportRow], file: TextIO) -> None:
    """Write the rows below a header line; a missing number is an empty cell."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(EXPORT_COLUMNS)
    writer.writerows(map(_cells, rows))


def _cells(row: ExportRow) -> tuple[Any, ...]:
    *run, evaluation = row
    values = [getattr(evaluation, field.name) for field in EXPORTED]
    return (*run, *map(_round, values, (field.scalar.decimals for field in EXPORTED)))


def _round(value: Any, decimals: int | None) -> Any:
    return value if value is None or decimals is None else round(value, decimals)
