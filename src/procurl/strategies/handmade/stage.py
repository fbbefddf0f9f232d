"""One stage of a curriculum: some tasks of the pool, and the condition that ends it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.settings import convert_setting
from procurl.strategies.conditions import Condition, as_condition
from procurl.strategies.handmade.ranges import (
    check_ranges,
    ranges_text,
    read_ranges,
    within,
)
from procurl.tasks.pool import TaskPool


@dataclass(frozen=True)
class Stage:
    """Some tasks of the pool, played until a condition holds.

    Args:
        tasks: task ids, a mask `[n]` of booleans, ranges of context or feature columns such as
            `{"width": (0.5, 2.0)}`, or None for the whole pool.
        until: the condition that ends the stage, or its text; None for the one of `Stages`. A last
            stage without a condition is never left.
    """

    tasks: Any = None
    until: Condition | None = None

    def __post_init__(self) -> None:
        convert_setting(self, "tasks", list | tuple | range, np.asarray)
        convert_setting(self, "until", str, partial(as_condition, "until"))

    def check(self, argument: str) -> None:
        """Raise on tasks or a condition of the wrong kind.

        Args:
            argument: what the stage is called in errors.
        """
        if self.until is not None:
            as_condition(f"{argument}.until", self.until).check()
        if isinstance(self.tasks, Mapping):
            check_ranges(f"{argument}.tasks", self.tasks)
        elif self.tasks is not None:
            array = np.asarray(self.tasks)
            if array.ndim != 1 or array.dtype.kind not in "biu" or array.size == 0:
                raise TypeError(
                    f"{argument}.tasks must be task ids, a mask of booleans, ranges such as "
                    f"{{'width': (0.5, 2.0)}}, or None for the whole pool, got {self.tasks!r}"
                )

    def members(self, pool: TaskPool, argument: str) -> NDArray[np.bool_]:
        """[n] bool, the tasks of the stage; raises if there are none, or an id does not exist."""
        n = len(pool)
        if self.tasks is None:
            return np.ones(n, dtype=bool)
        if isinstance(self.tasks, Mapping):
            chosen = within(pool, self.tasks, f"{argument}.tasks")
        else:
            chosen = _listed(np.asarray(self.tasks), n, argument)
        if not chosen.any():
            raise ValueError(
                f"{argument}.tasks chooses no task of {pool}, got {self.tasks!r}: widen it"
            )
        return chosen


def _listed(tasks: NDArray[Any], n: int, argument: str) -> NDArray[np.bool_]:
    """[n] bool, the tasks of a mask [n] or of a list of ids."""
    if tasks.dtype.kind == "b":
        if tasks.shape != (n,):
            raise ValueError(
                f"{argument}.tasks must hold one boolean for each of the {n} tasks, got "
                f"{len(tasks)}"
            )
        return tasks.copy()
    outside = tasks[(tasks < 0) | (tasks >= n)]
    if len(outside):
        raise ValueError(f"{argument}.tasks must be ids from 0 to {n - 1}, got {outside[0]}")
    chosen = np.zeros(n, dtype=bool)
    chosen[tasks] = True
    return chosen


def read_stages(text: str) -> tuple[Stage, ...]:
    """Stages from text for the command line: ranges, or `all`, separated by `/`.

    >>> read_stages("width:0:1/all")
    (Stage(tasks={'width': (0.0, 1.0)}, until=None), Stage(tasks=None, until=None))
    """
    return tuple(
        Stage() if part == "all" else Stage(read_ranges("stages", part)) for part in text.split("/")
    )


def stages_text(stages: tuple[Stage, ...]) -> str | None:
    """The text that `read_stages` reads, None if there is none: for ids and own conditions."""
    for stage in stages:
        if stage.until is not None or not isinstance(stage.tasks, Mapping | None):
            return None
    return "/".join("all" if stage.tasks is None else ranges_text(stage.tasks) for stage in stages)
