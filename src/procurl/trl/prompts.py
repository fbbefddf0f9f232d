"""The rows of a dataset as the tasks of a curriculum."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset

from procurl.internals.arrays import Floats, Ids
from procurl.tasks.pool import TaskPool

ID_BYTES = 8  # of a prompt's id: two of ten million prompts share one with probability 3 · 10⁻⁶


class Prompts(NamedTuple):
    """The n different prompts of a dataset."""

    pool: TaskPool  # the labels are ids, which stay the same if other prompts come and go
    rows: Ids  # [n] the row of the dataset that holds each prompt
    columns: list[str]  # of the dataset, by which prompts are told apart and recognized
    pass_rate: Floats | None  # [n] before training, NaN where it is not known


def read_prompts(dataset: Any, contexts: Any = None, pass_rate: str | None = None) -> Prompts:
    """The different prompts of a dataset, in the order of their first rows.

    Rows that agree in every column, except that of `pass_rate`, are one prompt, with the mean of
    the rates that are known. Rows that share the prompt's text but not, say, the answer are
    different prompts.

    Args:
        dataset: a `datasets.Dataset`; it must be indexable.
        contexts: names of columns that hold numbers, or an embedding [rows, d]; prompts with
            similar contexts share evidence. None: all prompts share the rate of the dataset.
        pass_rate: name of a column of pass rates from 0 to 1, or None where a rate is not known.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(
            "train_dataset must be a datasets.Dataset, from which a curriculum can choose any row, "
            f"got {type(dataset).__name__}"
        )
    if not len(dataset):
        raise ValueError("train_dataset has no rows: a curriculum needs at least one prompt")
    excluded = None if pass_rate is None else _column(dataset, pass_rate)
    columns = sorted(name for name in dataset.column_names if name != excluded)
    first: dict[str, int] = {}
    firsts = [first.setdefault(label, row) for row, label in enumerate(_row_ids(dataset, columns))]
    rows = np.fromiter(first.values(), dtype=np.int64)
    matrix, names = _contexts(dataset, contexts)
    pool = prompt_pool(list(first), None if matrix is None else matrix[rows], names)
    rates = None if pass_rate is None else _mean_rates(_rates(dataset, pass_rate), firsts)[rows]
    return Prompts(pool, rows, columns, rates)


def recognize_by(prompts: Prompts, dataset: Dataset, columns: list[str]) -> Prompts:
    """The same prompts with ids from `columns`; unchanged if these are not enough.

    Args:
        prompts: of the dataset.
        dataset: which may lack columns.
        columns: by which an earlier dataset told its prompts apart.
    """
    if columns == prompts.columns or not set(columns) <= set(dataset.column_names):
        return prompts
    ids = list(_row_ids(dataset, columns))
    labels = [ids[row] for row in prompts.rows]
    if len(set(labels)) < len(labels):
        return prompts
    pool = prompt_pool(labels, prompts.pool.contexts, prompts.pool.names)
    return prompts._replace(pool=pool, columns=columns)


def prompt_pool(
    labels: list[str], contexts: Floats | None, names: Sequence[str] | None
) -> TaskPool:
    """The pool of prompts with these ids [n], and with contexts [n, d] if there are some."""
    if contexts is None:
        return TaskPool.from_objects(labels, labels=labels)
    return TaskPool(contexts, names=names, labels=labels)


def _row_ids(dataset: Dataset, columns: list[str]) -> Iterator[str]:
    """A hash of each row in `columns`, from what the dataset stores: images are not decoded."""
    for batch in dataset.select_columns(columns).with_format("arrow").iter(batch_size=1_000):
        for cells in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
            row = repr((columns, cells)).encode()
            yield hashlib.blake2b(row, digest_size=ID_BYTES).hexdigest()


def _contexts(dataset: Dataset, contexts: Any) -> tuple[Floats | None, Sequence[str] | None]:
    """[rows, d] contexts and the names of their columns, both None if there are none."""
    if contexts is None:
        return None, None
    if isinstance(contexts, str):
        contexts = [contexts]
    if (
        isinstance(contexts, list | tuple)
        and contexts
        and all(isinstance(name, str) for name in contexts)
    ):
        columns = [_context_column(dataset, name) for name in contexts]
        return np.stack(columns, axis=1), list(contexts)
    if isinstance(contexts, torch.Tensor):  # of any device and type, such as bfloat16
        contexts = contexts.detach().cpu().double()
    try:
        matrix = np.asarray(contexts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"contexts must be names of columns, or an embedding of numbers: {error}"
        ) from error
    if matrix.ndim != 2 or len(matrix) != len(dataset):
        raise ValueError(
            "contexts must be names of columns, or an embedding with one row for each of the "
            f"{len(dataset):,} rows of train_dataset, got shape {matrix.shape}"
        )
    return matrix, None


def _context_column(dataset: Dataset, column: str) -> Floats:
    """[rows] the numbers of a column; raises if one is missing or not finite."""
    numbers = _numbers(dataset, "contexts", column)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise ValueError(
            f"contexts: column {column!r} of train_dataset must hold a finite number in every row, "
            f"got {numbers[wrong[0]]} in row {wrong[0]}: fill the gaps, or leave the column out"
        )
    return numbers


def _rates(dataset: Dataset, column: str) -> Floats:
    """[rows] the pass rates of a column, NaN for None; raises if one is not from 0 to 1."""
    rates = _numbers(dataset, "pass_rate", column)
    wrong = np.flatnonzero((rates < 0.0) | (rates > 1.0))
    if wrong.size:
        raise ValueError(
            f"pass_rate: column {column!r} of train_dataset must hold rates from 0 to 1, got "
            f"{rates[wrong[0]]:g} in row {wrong[0]}"
        )
    return rates


def _mean_rates(rates: Floats, firsts: Sequence[int]) -> Floats:
    """[rows] in the first row of every prompt, the mean of its known rates; NaN: none is known."""
    known, n = ~np.isnan(rates), len(rates)
    count = np.bincount(firsts, known, n)
    total = np.bincount(firsts, np.where(known, rates, 0.0), n)
    mean: Floats = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    return mean


def _numbers(dataset: Dataset, argument: str, column: str) -> Floats:
    """[rows] the numbers of a column, NaN for None."""
    alone = dataset.select_columns(_column(dataset, column, argument)).with_format("arrow")
    cells = alone[:].column(column).to_pylist()
    try:
        numbers = np.asarray([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{argument}: column {column!r} of train_dataset must hold numbers: {error}"
        ) from error
    if numbers.ndim != 1:
        raise ValueError(
            f"{argument}: column {column!r} of train_dataset must hold one number per row, got "
            f"lists of shape {numbers.shape[1:]}; pass an embedding as an array, such as "
            f"contexts=np.array(dataset[{column!r}])"
        )
    return numbers


def _column(dataset: Dataset, name: str, argument: str = "pass_rate") -> str:
    if name not in dataset.column_names:
        raise ValueError(
            f"{argument} must be a column of train_dataset ({', '.join(dataset.column_names)}), "
            f"got {name!r}"
        )
    return name
