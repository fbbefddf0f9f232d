"""Ranges of a pool's columns: which tasks lie in `{"width": (0.5, 2.0), "level": 3}`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats
from procurl.internals.checks import require_known, require_number
from procurl.internals.setting_text import setting_text
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
    for name, given in ranges.items():
        low, high = ends_of(given)
        column = column_of(pool, name, argument)
        inside &= (column >= low) & (column <= high)
    return inside


def ends_of(given: Any) -> tuple[Any, Any]:
    """The lowest and the highest number of a range, which may be a single number."""
    low, high = given if isinstance(given, tuple | list) else (given, given)
    return low, high


def check_ranges(argument: str, ranges: Mapping[str, Any]) -> None:
    """Raise unless `ranges` holds a number or two ordered numbers for each name."""
    if not ranges:
        raise ValueError(f"{argument} must hold at least one range, such as width: (0.5, 2.0)")
    for name, given in ranges.items():
        if isinstance(given, tuple | list) and len(given) != 2:
            raise ValueError(
                f"{argument}: the range of {name!r} must be two numbers, the lowest and the "
                f"highest, got {given!r}"
            )
        ends = ends_of(given)
        for end in ends:
            require_number(f"{argument}: the range of {name!r}", end)
        if ends[0] > ends[1]:
            raise ValueError(
                f"{argument}: the range of {name!r} must run from the lowest to the highest, got "
                f"{ends!r}: swap them"
            )


def read_ranges(argument: str, text: str) -> dict[str, tuple[float, float]]:
    """Ranges from text for the command line, `NAME:LOW:HIGH` or `NAME:NUMBER` joined with `+`.

    >>> read_ranges("start", "width:0.5:2+mass:1")
    {'width': (0.5, 2.0), 'mass': (1.0, 1.0)}
    """
    ranges = {}
    for part in text.split("+"):
        name, *ends = part.split(":")
        try:
            numbers = [float(end) for end in ends]
        except ValueError:
            numbers = []
        if not name or len(numbers) not in (1, 2):
            raise ValueError(
                f"{argument}: {part!r} is not a range; write NAME:LOW:HIGH, such as width:0.5:2, "
                "or NAME:NUMBER"
            )
        ranges[name] = (numbers[0], numbers[-1])
    return ranges


def ranges_text(ranges: Mapping[str, Any]) -> str:
    """The text that `read_ranges` reads."""
    parts = ((name, *map(float, ends_of(given))) for name, given in ranges.items())
    return "+".join(f"{name}:{setting_text(low)}:{setting_text(high)}" for name, low, high in parts)
