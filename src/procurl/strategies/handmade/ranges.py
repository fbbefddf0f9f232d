"""Ranges of a pool's columns: which tasks lie in `{"width": (0.5, 2.0)}`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats
from procurl.internals.checks import require_known, require_number
from procurl.tasks.pool import TaskPool


def column_of(pool: TaskPool, name: str, argument: str) -> Floats:
    """[n] the context or feature column of that name.

    Args:
        pool: of n tasks.
        name: of the column; a context comes before a feature of the same name.
        argument: what the name is called in errors.
    """
    known = [*pool.names, *pool.features]
    if not known:
        raise ValueError(
            f"{argument}={name!r} is a column of the pool, and {pool} has none: list task ids, or "
            "give the pool features"
        )
    require_known(f"{argument}: column", name, known, "columns")
    if pool.contexts is not None and name in pool.names:
        column: Floats = pool.contexts[:, pool.names.index(name)]
        return column
    return pool.features[name]


def within(pool: TaskPool, ranges: Mapping[str, Any], argument: str) -> NDArray[np.bool_]:
    """[n] whether each task lies in every range, ends included."""
    inside = np.ones(len(pool), dtype=bool)
    for name, (low, high) in ranges.items():
        column = column_of(pool, name, argument)
        inside &= (column >= low) & (column <= high)
    return inside


def check_ranges(argument: str, ranges: Mapping[str, Any]) -> None:
    """Raise unless `ranges` holds two ordered numbers for each name."""
    if not ranges:
        raise ValueError(f"{argument} must hold at least one range, such as width: (0.5, 2.0)")
    for name, ends in ranges.items():
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise ValueError(
                f"{argument}: the range of {name!r} must be two numbers, the lowest and the "
                f"highest, got {ends!r}"
            )
        for end in ends:
            require_number(f"{argument}: the range of {name!r}", end)
        if ends[0] > ends[1]:
            raise ValueError(
                f"{argument}: the range of {name!r} must run from the lowest to the highest, got "
                f"{ends!r}: swap them"
            )


def read_ranges(argument: str, text: str) -> dict[str, tuple[float, float]]:
    """Ranges from text for the command line, `NAME:LOW:HIGH` joined with `+`.

    >>> read_ranges("start", "width:0.5:2+mass:1:1")
    {'width': (0.5, 2.0), 'mass': (1.0, 1.0)}
    """
    ranges = {}
    for part in text.split("+"):
        name, *ends = part.split(":")
        try:
            low, high = (float(end) for end in ends)
        except ValueError as error:
            raise ValueError(
                f"{argument}: {part!r} is not a range; write NAME:LOW:HIGH, such as width:0.5:2"
            ) from error
        ranges[name] = (low, high)
    return ranges


def ranges_text(ranges: Mapping[str, Any]) -> str:
    """The text that `read_ranges` reads."""
    return "+".join(f"{name}:{low:g}:{high:g}" for name, (low, high) in ranges.items())
