"""Pools as CSV files: a header row, an optional id column, numeric columns."""

import csv
import io
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.files import write_text

FEATURE_PREFIX = "feature:"
# ASCII alone: `float` also reads other digits, and underscores between them.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
SEPARATORS = {";": "semicolons", "\t": "tabs"}  # that spreadsheets may write instead of commas
CONTROL = ("Cc", "Cs", "Zl", "Zp")  # Unicode's controls, halves of characters and line ends
# In labels: halves of characters have no UTF-8, and a carriage return would end a row.
NOT_WRITTEN = re.compile("[\r\ud800-\udfff]")


class PoolTable(NamedTuple):
    """The contents of a pool file."""

    labels: list[str] | None
    names: list[str]  # d context columns
    contexts: NDArray[np.float64]  # [n, d]
    features: dict[str, NDArray[np.float64]]  # each [n]


def read_table(path: str | PathLike[str]) -> PoolTable:
    """Read and check a whole file; errors count rows as an editor counts lines."""
    rows = _rows(path)
    if not rows:
        raise ValueError(
            f"{path}: the file is empty; a header row and at least one task are needed"
        )
    header_row, header = rows[0]
    _check_separator(path, rows)
    _check_header(path, header_row, header)
    if len(rows) == 1:
        raise ValueError(f"{path}, row {header_row}: there is no task below the header row")
    id_column = next((j for j, name in enumerate(header) if name.lower() == "id"), None)
    numeric = [j for j in range(len(header)) if j != id_column]

    numbers = np.empty((len(rows) - 1, len(numeric)))
    first_seen: dict[str, int] = {}
    for i, (row, cells) in enumerate(rows[1:]):
        if len(cells) != len(header):
            short = len(cells) < len(header)
            column = f", column {header[len(cells)]!r}" if short else f", column {len(header) + 1}"
            raise ValueError(
                f"{path}, row {row}{column}: the header names {len(header)} columns, "
                f"this row has {len(cells)}"
            )
        if id_column is not None:
            label = cells[id_column]
            where = f"{path}, row {row}, column {header[id_column]!r}"
            if not label:
                raise ValueError(f"{where}: the id is empty")
            if label in first_seen:
                raise ValueError(
                    f"{where}: id {label!r} is already used in row {first_seen[label]}"
                )
            first_seen[label] = row
        for k, j in enumerate(numeric):
            numbers[i, k] = _number(path, row, header[j], cells[j])

    is_feature = [header[j].startswith(FEATURE_PREFIX) for j in numeric]
    contexts = [k for k, feature in enumerate(is_feature) if not feature]
    if not contexts:
        raise ValueError(f"{path}, row {header_row}: there is no context column, only {header}")
    return PoolTable(
        labels=None if id_column is None else list(first_seen),
        names=[header[numeric[k]] for k in contexts],
        contexts=numbers[:, contexts],
        features={
            header[numeric[k]].removeprefix(FEATURE_PREFIX): numbers[:, k]
            for k, feature in enumerate(is_feature)
            if feature
        },
    )


def write_table(
    path: str | PathLike[str],
    labels: Sequence[str],
    columns: Mapping[str, NDArray[np.float64]],
) -> None:
    """Write an id column and numeric columns with all digits needed to read them back exactly.

    Raises before writing anything if a name or label could not be read back.
    """
    for name in columns:
        plain = name.removeprefix(FEATURE_PREFIX)
        reserved = plain.startswith(FEATURE_PREFIX) or name.lower() == "id" or _is_number(name)
        if reserved or not plain or plain != plain.strip():
            raise ValueError(f"{path}: a column named {plain!r} would not be read back as it is")
    for label in labels:
        if not label or label != label.strip() or NOT_WRITTEN.search(label):
            raise ValueError(f"{path}: the label {label!r} would not be read back as it is")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", *columns])
    values = [column.tolist() for column in columns.values()]
    writer.writerows(zip(labels, *([repr(x) for x in column] for column in values), strict=True))
    write_text(path, text.getvalue())


def has_control(name: str) -> bool:
    """Whether `name` holds a character that is not text, such as a line end or a NUL."""
    return any(unicodedata.category(character) in CONTROL for character in name)


def _rows(path: str | PathLike[str]) -> list[tuple[int, list[str]]]:
    """(row number, stripped cells) of every non-blank row."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the file is not UTF-8 text ({error.reason})") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        for cells in reader:
            # Some programs put the whole header line in one pair of quotes.
            split = cells[0].split(",") if len(cells) == 1 else cells
            stripped = [cell.strip() for cell in split]
            if any(stripped):
                rows.append((reader.line_num, stripped))
    except csv.Error as error:
        raise ValueError(f"{path}, row {reader.line_num}: not a CSV row ({error})") from error
    return rows


def _check_separator(path: str | PathLike[str], rows: list[tuple[int, list[str]]]) -> None:
    """Raise if the columns are separated by something other than commas."""
    row, header = rows[0]
    for sign, name in SEPARATORS.items():
        if len(header) == 1 and all(sign in "".join(cells) for _, cells in rows[:2]):
            raise ValueError(
                f"{path}, row {row}: columns must be separated by commas, not by {name}; save the "
                "file with commas, and with points in decimals"
            )


def _check_header(path: str | PathLike[str], row: int, header: list[str]) -> None:
    for j, name in enumerate(header):
        where = f"{path}, row {row}, column {j + 1}"
        if not name:
            raise ValueError(f"{where}: the column name is empty")
        if has_control(name):
            raise ValueError(f"{where}: the name {name!r} holds a control character; remove it")
        if _is_number(name):
            raise ValueError(f"{where}: a header row with column names is needed, found {name!r}")
        if name in header[:j] or (name.lower() == "id" and "id" in map(str.lower, header[:j])):
            raise ValueError(f"{where}: the name {name!r} is twice in the header")


def _number(path: str | PathLike[str], row: int, column: str, cell: str) -> float:
    where = f"{path}, row {row}, column {column!r}"
    if not _is_number(cell):
        raise ValueError(
            f"{where}: {cell!r} is not a number"
            + ("; write it in ASCII digits" if _is_foreign_number(cell) else "")
        )
    number = float(cell)
    if not math.isfinite(number):
        raise ValueError(f"{where}: {cell!r} is not finite; write a number or remove the row")
    if number == 0 and re.search("[1-9]", cell.lower().partition("e")[0]):
        raise ValueError(f"{where}: {cell!r} is too small: it would be read as 0, write 0 instead")
    return number


def _is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or NOT_FINITE.fullmatch(cell))


def _is_foreign_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return not cell.isascii()
