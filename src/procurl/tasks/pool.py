"""`TaskPool`: contexts, seeds or any objects as tasks, with features for plots."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import is_numeric, on_host
from procurl.internals.checks import require_integer, require_number
from procurl.tasks.pool_csv import FEATURE_PREFIX, has_control, read_table, write_table

Matrix = NDArray[np.float64]
Seeds = NDArray[np.int64]
LARGEST_SEED = int(np.iinfo(np.int64).max)


class TaskPool:
    """The n tasks that a curriculum chooses from. A task's id is its position, 0 to n − 1.

    A pool holds numeric contexts (an array `[n, d]` with column names), seeds (see `from_seeds`)
    or opaque tasks of any type. It never changes after construction.

    >>> pool = TaskPool([[0.5, 1.0], [2.0, 0.1]], names=["length", "mass"])
    >>> len(pool), pool.names, pool[1].tolist()
    (2, ('length', 'mass'), [2.0, 0.1])
    >>> TaskPool([{"level": "maze"}, {"level": "cave"}])[0]
    {'level': 'maze'}

    Args:
        tasks: contexts `[n, d]` as rows, an array or a data frame, or a sequence of objects, one
            per task.
        names: one name per context column; by default those of a data frame, or `context_0`,
            `context_1`, …
        features: named columns `[n]` for plots and tables.
        labels: one unique label per task, such as the ids in a file.
    """

    def __init__(
        self,
        tasks: Any,
        *,
        names: Sequence[str] | None = None,
        features: Mapping[str, Any] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        contexts = _as_contexts(tasks)
        objects = None if contexts is not None else tuple(tasks)
        if names is None and _is_table(tasks):
            names = _column_names(tasks)
        self._fill(contexts, objects, names, features, labels)

    def _fill(
        self,
        contexts: Matrix | None,
        objects: tuple[Any, ...] | None,
        names: Sequence[str] | None = None,
        features: Mapping[str, Any] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        self.contexts: Matrix | None = contexts  # [n, d], None for seeds and opaque tasks
        self.seeds: Seeds | None = None  # [n], None unless from `from_seeds`
        self._objects = objects
        self._n = len(contexts) if contexts is not None else len(objects or ())
        if self._n == 0:
            raise ValueError("tasks is empty: a pool needs at least one task")
        self.names: tuple[str, ...] = _checked_names(names, contexts, objects)
        self.features: dict[str, Matrix] = _checked_features(features, self._n)
        self.labels: tuple[str, ...] | None = _checked_labels(labels, self._n)

    @classmethod
    def from_objects(
        cls,
        tasks: Iterable[Any],
        *,
        features: Mapping[str, Any] | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """A pool of opaque tasks, even if they are rows of numbers.

        Contexts tell which tasks are neighbors. Use this method if the numbers do not.
        """
        _require_order(tasks)
        pool = cls.__new__(cls)
        pool._fill(None, tuple(tasks), features=features, labels=labels)
        return pool

    @classmethod
    def from_seeds(
        cls, seeds: int | Iterable[int], *, features: Mapping[str, Any] | None = None
    ) -> Self:
        """A pool of seeds, for environments that generate their task in `reset(seed=…)`.

        Args:
            seeds: the seeds, or their number n for 0, 1, …, n − 1.
            features: as in the constructor.
        """
        if isinstance(seeds, int | np.integer):
            require_integer("seeds", seeds, at_least=1)
            seeds = range(int(seeds))
        if not isinstance(seeds, Iterable):
            raise TypeError(f"seeds must be integers, or their number, got {seeds!r}")
        listed = list(seeds)
        for seed in listed:
            require_integer("every seed", seed, at_least=0)
            if seed > LARGEST_SEED:
                raise ValueError(f"seeds must be at most {LARGEST_SEED} each, got {seed}")
        if len(set(listed)) < len(listed):
            raise ValueError("seeds has duplicates: two tasks of a pool cannot be the same")
        pool = cls.from_objects([int(seed) for seed in listed], features=features)
        pool.seeds = _freeze(np.asarray(listed, dtype=np.int64))
        return pool

    @classmethod
    def from_csv(cls, path: str | PathLike[str]) -> Self:
        """Read contexts from a CSV file with a header row.

        A column named `id` (in upper or lower case) holds the labels, and columns named `feature:…`
        hold features. Every other column is a context and must hold finite numbers, in ASCII
        digits. A malformed file raises a ValueError with file, row and column.
        """
        require_file(path)
        table = read_table(path)
        return cls(table.contexts, names=table.names, features=table.features, labels=table.labels)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write labels, contexts and features to a file that `from_csv` reads back."""
        if self.contexts is None:
            raise ValueError(
                f"{path}: only a pool of contexts can be written as CSV, this one holds "
                f"{'seeds' if self.seeds is not None else 'opaque tasks'}"
            )
        labels = self.labels or tuple(str(i) for i in range(len(self)))
        columns = {name: self.contexts[:, j] for j, name in enumerate(self.names)}
        for name in self.names:
            if name.startswith(FEATURE_PREFIX):
                raise ValueError(f"{path}: a context named {name!r} would be read as a feature")
        columns |= {FEATURE_PREFIX + name: column for name, column in self.features.items()}
        write_table(path, labels, columns)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.contexts, self.seeds, *self.features.values()):
            if array is not None:  # copies and other processes get arrays that can be written to
                array.setflags(write=False)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, task: int) -> Any:
        """The task itself: its context row `[d]`, its seed, or its object."""
        if not isinstance(task, int | np.integer):
            raise TypeError(f"task must be an integer from 0 to {self._n - 1}, got {task!r}")
        if not 0 <= task < self._n:
            raise IndexError(f"task must be from 0 to {self._n - 1}, got {task}")
        if self.contexts is not None:
            return self.contexts[task]
        assert self._objects is not None
        return self._objects[task]

    def __repr__(self) -> str:
        if self.contexts is not None:
            return f"TaskPool({self._n} tasks, contexts: {', '.join(self.names)})"
        return f"TaskPool({self._n} {'seeds' if self.seeds is not None else 'opaque tasks'})"

    @property
    def has_default_names(self) -> bool:
        """Whether the context columns have no names but `context_0`, `context_1`, …"""
        return self.names == _default_names(len(self.names))

    @cached_property
    def ids_by_label(self) -> dict[str, int]:
        """The id of each task by its label; empty if the pool has no labels."""
        return {label: task for task, label in enumerate(self.labels or ())}

    def subset(self, tasks: Sequence[int] | NDArray[np.integer]) -> Self:
        """A new pool of the tasks with the given ids, in that order."""
        chosen = np.asarray(tasks)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0:
            raise ValueError(f"tasks must be a non-empty list of task ids, got {tasks!r}")
        if chosen.min() < 0 or chosen.max() >= self._n:
            raise ValueError(f"tasks must be from 0 to {self._n - 1}, got {tasks!r}")
        if len(np.unique(chosen)) < len(chosen):
            raise ValueError("tasks has duplicates: a pool holds each task once")
        features = {name: column[chosen] for name, column in self.features.items()}
        if self.seeds is not None:
            return self.from_seeds(self.seeds[chosen].tolist(), features=features)
        labels = None if self.labels is None else [self.labels[i] for i in chosen]
        if self.contexts is not None:
            names = self.names
            return type(self)(self.contexts[chosen], names=names, features=features, labels=labels)
        objects = [self[int(i)] for i in chosen]
        return self.from_objects(objects, features=features, labels=labels)

    def split(self, fraction: float, seed: int = 0) -> tuple[Self, Self]:
        """Two disjoint pools drawn at random: `fraction` of the tasks, and the rest."""
        require_number("fraction", fraction, above=0.0, at_most=1.0)
        require_integer("seed", seed, at_least=0)
        first = round(fraction * self._n)
        if not 0 < first < self._n:
            raise ValueError(
                f"fraction={fraction:g} of {self._n} tasks leaves one of the two pools empty"
            )
        order = np.random.default_rng(seed).permutation(self._n)
        return self.subset(np.sort(order[:first])), self.subset(np.sort(order[first:]))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the tasks, with which saved state recognizes its pool.

        Of opaque tasks that JSON cannot express, only the number is hashed.
        """
        digest = hashlib.sha256()
        if self.contexts is not None:
            digest.update(json.dumps(["contexts", self.contexts.shape, self.names]).encode())
            digest.update(np.ascontiguousarray(self.contexts, dtype="<f8").tobytes())
        else:
            kind = "seeds" if self.seeds is not None else "opaque"
            try:
                text = json.dumps([kind, self._objects], sort_keys=True)
            except (TypeError, ValueError):
                text = json.dumps([kind, self._n])
            digest.update(text.encode())
        return digest.hexdigest()


def require_file(path: str | PathLike[str]) -> None:
    """Raise if `path` is missing or a directory."""
    if Path(path).is_dir():
        raise ValueError(f"{path} is a directory: a pool is read from a CSV file")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist: a pool is read from a CSV file")


def _freeze(array: NDArray[Any]) -> NDArray[Any]:
    array = array.copy() if array.flags.writeable else array
    array.setflags(write=False)
    return array


def _require_order(tasks: object) -> None:
    """Raise if the order of the tasks, which gives them their ids, is not their own."""
    if isinstance(tasks, set | frozenset):
        raise TypeError(
            f"tasks must have an order, got a {type(tasks).__name__}: pass a list, such as "
            "sorted(tasks)"
        )


def _as_contexts(tasks: Any) -> Matrix | None:
    """`tasks` as a finite matrix, or None if they are opaque."""
    _require_order(tasks)
    if isinstance(tasks, str | bytes | Mapping) or not hasattr(tasks, "__len__"):
        raise TypeError(
            f"tasks must be contexts [n, d] or a sequence of tasks, got {type(tasks).__name__}"
        )
    if np.ma.is_masked(tasks):
        raise TypeError("contexts must be numbers, got an array with masked entries: fill them")
    if _is_table(tasks):
        try:
            array = np.asarray(tasks, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"every column of a data frame must hold numbers: {error}") from error
    elif hasattr(tasks, "__array__"):
        array = np.asarray(on_host(tasks))
    elif len(tasks) and all(_is_row(task) for task in tasks):
        rows = [_plain(task) for task in tasks]
        try:
            array = np.asarray(rows)
        except ValueError:  # rows of different lengths
            _refuse_ragged(rows)
            return None
    else:
        return None
    if not is_numeric(array.dtype):
        return None
    if array.ndim != 2 or array.shape[1] == 0:
        remedy = "for one context column use contexts[:, None], for seeds TaskPool.from_seeds"
        if array.ndim > 2:
            remedy = "for tasks that are arrays use TaskPool.from_objects"
        raise ValueError(
            f"contexts must have the shape [n, d] with d of at least 1, got {list(array.shape)}; "
            f"{remedy}"
        )
    contexts = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(contexts))
    if len(bad):
        task, column = bad[0]
        raise ValueError(
            f"contexts must be finite, got {contexts[task, column]} at task {task}, column {column}"
        )
    contexts.setflags(write=False)
    return contexts


def _is_row(task: Any) -> bool:
    """Whether a task may be a context: numbers in a row, of any library, or a single fraction."""
    if isinstance(task, list | tuple | float | np.floating):
        return True
    return hasattr(task, "__array__") and getattr(task, "ndim", 0) > 0


def _plain(task: Any) -> Any:
    """A tensor or array of any library in NumPy; all else as it is."""
    return np.asarray(on_host(task)) if hasattr(task, "__array__") else task


def _refuse_ragged(rows: Sequence[Any]) -> None:
    """Raise if the rows hold nothing but numbers: they were meant as contexts."""
    if not all(np.iterable(row) and all(isinstance(entry, Real) for entry in row) for row in rows):
        return
    first = len(rows[0])
    task = next(i for i, row in enumerate(rows) if len(row) != first)
    raise ValueError(
        f"every task must have as many numbers as the first, {first}, got {len(rows[task])} at "
        f"task {task}: complete the row, or use TaskPool.from_objects if tasks are not rows of a "
        "table"
    )


def _is_table(tasks: Any) -> bool:
    """Whether `tasks` is a data frame, such as of pandas or polars."""
    return hasattr(tasks, "__array__") and hasattr(tasks, "columns")


def _column_names(table: Any) -> list[str] | None:
    """The column names of a data frame, None if one of them is not a string."""
    names = list(table.columns)
    return names if all(isinstance(name, str) for name in names) else None


def _checked_names(
    names: Sequence[str] | None, contexts: Matrix | None, objects: tuple[Any, ...] | None
) -> tuple[str, ...]:
    columns = 0 if contexts is None else contexts.shape[1]
    if names is None:
        return _default_names(columns)
    if objects is not None and len(names):
        lengths = {len(task) for task in objects if isinstance(task, list | tuple | np.ndarray)}
        found = "opaque tasks"
        if len(lengths) > 1:
            found = f"rows of {min(lengths)} to {max(lengths)} entries"
        raise ValueError(
            "names is for contexts, in which every task is a row of equally many numbers; "
            f"got {names!r} for {found}"
        )
    if isinstance(names, str) or len(names) != columns:
        raise ValueError(f"names must name the {columns} context columns, got {names!r}")
    checked = tuple(_checked_name("names", str(name)) for name in names)
    if len(set(checked)) < len(checked):
        raise ValueError(f"names must differ from each other, got {names!r}")
    return checked


def _default_names(columns: int) -> tuple[str, ...]:
    return tuple(f"context_{j}" for j in range(columns))


def _checked_name(argument: str, name: str) -> str:
    if has_control(name):
        raise ValueError(f"{argument} must not hold control characters, got {name!r}: remove them")
    return name


def _checked_features(features: Mapping[str, Any] | None, n: int) -> dict[str, Matrix]:
    if not isinstance(features, Mapping | None):
        raise TypeError(
            "features must be a dictionary of columns by name, such as {'size': [1, 2]}, "
            f"got {type(features).__name__}"
        )
    checked = {}
    for name, given in (features or {}).items():
        column = np.asarray(on_host(given))
        if column.shape != (n,) or not is_numeric(column.dtype):
            raise ValueError(
                f"feature {name!r} must hold {n} numbers, got shape {column.shape} of "
                f"{column.dtype}"
            )
        if not np.isfinite(column).all():
            raise ValueError(f"feature {name!r} must be finite")
        checked[_checked_name("features", str(name))] = _freeze(column.astype(np.float64))
    return checked


def _checked_labels(labels: Sequence[str] | None, n: int) -> tuple[str, ...] | None:
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise TypeError(f"labels must be a list of one label per task, got {labels!r}")
    checked = tuple(str(label) for label in labels)
    if len(checked) != n or len(set(checked)) < n:
        raise ValueError(f"labels must hold {n} different labels, got {len(set(checked))}")
    return checked
