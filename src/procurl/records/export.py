"""`procurl export`: evaluations as rows of a CSV file."""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
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
    pool: int | None = None  # which of several training pools, from 0; None if there is only one


RUN_COLUMNS = ExportRow._fields[:-2]
EXPORT_COLUMNS = (*RUN_COLUMNS, *column_names(EXPORTED))


def write_csv(rows: Iterable[ExportRow], file: TextIO) -> None:
    """Write the rows below a header line; a missing number is an empty cell.

    The last column is `pool` if runs were spread over several pools.
    """
    first, rest = _split_first(rows)
    pools = any(row.pool is not None for row in first)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow((*EXPORT_COLUMNS, *["pool"] * pools))
    for row in chain(first, rest):
        writer.writerow((*_cells(row), *[row.pool] * pools))


def _split_first(rows: Iterable[ExportRow]) -> tuple[list[ExportRow], Iterator[ExportRow]]:
    """(the first row, if there is one, and the others)."""
    rest = iter(rows)
    return list(islice(rest, 1)), rest


def _cells(row: ExportRow) -> tuple[Any, ...]:
    values = [getattr(row.evaluation, field.name) for field in EXPORTED]
    rounded = map(_round, values, (field.scalar.decimals for field in EXPORTED))
    return (*row[: len(RUN_COLUMNS)], *rounded)


def _round(value: Any, decimals: int | None) -> Any:
    return value if value is None or decimals is None else round(value, decimals)
