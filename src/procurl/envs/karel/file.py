"""Karel pools as CSV files: a header row, then seven integers and a solution per task."""

import csv
import io
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.pool import karel_solutions, pool_of
from procurl.envs.karel.search import NO_ACTION, Solutions, shortest_solutions
from procurl.envs.karel.state import apply_actions, initial_state
from procurl.envs.karel.task import (
    CONTEXT_NAMES,
    LETTERS,
    Contexts,
    first_fault,
    karel_context,
    task_keys,
)
from procurl.internals.files import write_text
from procurl.tasks.pool import TaskPool, require_file

FilePath = str | PathLike[str]
Rows = list[tuple[int, dict[str, str]]]  # (row number, cells by column) of each task

OPTIONAL_COLUMNS = ("id", "solution")


def write_karel_pool(pool: TaskPool, path: FilePath) -> None:
    """Write ids, integers and solutions so that `read_karel_pool` reads the same pool back.

    Raises before writing anything if a task is not valid, or a label could not be read back.
    """
    contexts = np.stack([karel_context(pool[task]) for task in range(len(pool))])
    if fault := first_fault(contexts):
        raise ValueError(f"{path}: task {fault.task}: {fault.entry!r} {fault.reason}")
    labels = pool.labels or tuple(str(task) for task in range(len(pool)))
    for label in labels:
        if not label or label != label.strip():
            raise ValueError(f"{path}: the label {label!r} would not be read back as it is")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", *CONTEXT_NAMES, "solution"])
    for label, context, solution in zip(
        labels, contexts.astype(np.int64).tolist(), karel_solutions(pool), strict=True
    ):
        writer.writerow([label, *context, solution])
    write_text(path, text.getvalue())


def read_karel_pool(path: FilePath) -> TaskPool:
    """Read a pool; a malformed file raises a ValueError with file, row and column.

    The header names the seven integers of a task, in any order and case. Two columns are
    optional: `id`, the labels of the tasks, and `solution`, the letters of a shortest solution.
    Solutions are always searched; a wrong one in the file is an error.
    """
    require_file(path)
    rows = _rows(path)
    contexts = _contexts(path, rows)
    solutions = shortest_solutions(contexts)
    _check_solutions(path, rows, contexts, solutions)
    labels = _labels(path, rows)
    return pool_of(contexts, solutions, labels)


def _rows(path: FilePath) -> Rows:
    """Every row below the header that is not blank; the header is row 1."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the file is not UTF-8 text ({error.reason})") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: Rows = []
    header: list[str] | None = None
    try:
        for line in reader:
            cells = [cell.strip() for cell in line]
            if not any(cells):
                continue
            if header is None:
                header = [cell.lower() for cell in cells]
                _check_header(path, reader.line_num, header)
            elif len(cells) != len(header):
                raise ValueError(
                    f"{path}, row {reader.line_num}: the header names {len(header)} columns, "
                    f"this row has {len(cells)}"
                )
            else:
                rows.append((reader.line_num, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        raise ValueError(f"{path}, row {reader.line_num}: not a CSV row ({error})") from error
    if not rows:
        raise ValueError(f"{path}: the file must have a header row and at least one task")
    return rows


def _check_header(path: FilePath, row: int, header: list[str]) -> None:
    for column, name in enumerate(header, start=1):
        where = f"{path}, row {row}, column {column}"
        if name not in (*CONTEXT_NAMES, *OPTIONAL_COLUMNS):
            raise ValueError(
                f"{where}: {name!r} is not a column of a Karel pool, which has "
                f"{', '.join(CONTEXT_NAMES)} and may have {' and '.join(OPTIONAL_COLUMNS)}"
            )
        if header.count(name) > 1:
            raise ValueError(f"{where}: the name {name!r} is twice in the header")
    for name in CONTEXT_NAMES:
        if name not in header:
            raise ValueError(
                f"{path}, row {row}, column {name!r}: this column is missing in the header"
            )


def _contexts(path: FilePath, rows: Rows) -> Contexts:
    """[n, 7] valid and distinct tasks."""
    contexts = np.empty((len(rows), len(CONTEXT_NAMES)), dtype=np.int64)
    for task, (row, cells) in enumerate(rows):
        for column, name in enumerate(CONTEXT_NAMES):
            plain = cells[name].isascii() and cells[name].isdecimal()
            if not (plain and len(cells[name]) <= 9):
                where = f"{path}, row {row}, column {name!r}"
                raise ValueError(f"{where}: {cells[name]!r} is not an integer within its range")
            contexts[task, column] = int(cells[name])
    if fault := first_fault(contexts):
        where = f"{path}, row {rows[fault.task][0]}, column {fault.entry!r}"
        raise ValueError(f"{where}: {fault.reason}")
    first_seen: dict[int, int] = {}
    for (row, _), key in zip(rows, task_keys(contexts.astype(np.int32)).tolist(), strict=True):
        if key in first_seen:
            raise ValueError(f"{path}, row {row}: this task is already in row {first_seen[key]}")
        first_seen[key] = row
    return contexts.astype(np.int32)


def _check_solutions(path: FilePath, rows: Rows, contexts: Contexts, shortest: Solutions) -> None:
    """Raise unless each solution in the file is a shortest solution of its task."""
    if "solution" not in rows[0][1]:
        return
    given = np.full_like(shortest.actions, NO_ACTION)
    for task, (row, cells) in enumerate(rows):
        where = f"{path}, row {row}, column 'solution'"
        solution, length = cells["solution"], int(shortest.lengths[task])
        if not set(solution) <= set(LETTERS):
            raise ValueError(f"{where}: {solution!r} has letters other than {LETTERS}")
        if len(solution) != length:
            raise ValueError(
                f"{where}: {solution!r} has {len(solution)} actions, the shortest has {length}"
            )
        given[task, :length] = [LETTERS.index(letter) for letter in solution]
    unsolved = ~_are_solutions(contexts, given)
    if unsolved.any():
        row, cells = rows[int(np.argmax(unsolved))]
        where = f"{path}, row {row}, column 'solution'"
        raise ValueError(f"{where}: {cells['solution']!r} does not solve the task")


def _are_solutions(contexts: Contexts, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
    """[n] whether playing `actions` [n, length of a shortest solution] solves each task.

    A solution cannot contain a crash or an early `finish`: these change nothing, so the remaining
    actions would be a solution shorter than the shortest.
    """
    state = initial_state(contexts)
    solved = np.zeros(len(contexts), dtype=bool)
    for column in actions.T:
        state, _, success = apply_actions(state, column)
        solved |= success
    return solved


def _labels(path: FilePath, rows: Rows) -> Sequence[str] | None:
    if "id" not in rows[0][1]:
        return None
    first_seen: dict[str, int] = {}
    for row, cells in rows:
        where = f"{path}, row {row}, column 'id'"
        label = cells["id"]
        if not label:
            raise ValueError(f"{where}: the id is empty")
        if label in first_seen:
            raise ValueError(f"{where}: id {label!r} is already used in row {first_seen[label]}")
        first_seen[label] = row
    return list(first_seen)
