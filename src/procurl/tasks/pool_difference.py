"""How a pool differs from another one, in words."""

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from procurl.tasks.pool import TaskPool

SHOWN = 100  # characters of a task


def pools_difference(there: Sequence[TaskPool], wanted: Sequence[TaskPool]) -> str:
    """How the first of several pools that differs from the one wanted does so.

    >>> pools_difference([TaskPool([[1.0], [2.0]])], [TaskPool([[1.0], [3.0]])])
    'its training pool differs in 1 of 2 tasks, first in task 1 (context_0=2, not context_0=3)'
    """
    pairs = list(zip(there, wanted, strict=True))
    for i, (found, expected) in enumerate(pairs):
        if found.fingerprint != expected.fingerprint:
            which = f" {i + 1} of {len(pairs)}" if len(pairs) > 1 else ""
            return f"its training pool{which} {pool_difference(found, expected)}"
    return "its training pool differs"


def pool_difference(there: TaskPool, wanted: TaskPool) -> str:
    """How a pool differs from the one wanted: in its kind, columns, number or contents of tasks."""
    if _kind(there) != _kind(wanted):
        return f"is {there}, not {wanted}"
    if there.names != wanted.names:
        return f"has the columns {', '.join(there.names)}, not {', '.join(wanted.names)}"
    ours, theirs = _texts(there), _texts(wanted)
    if len(there) == len(wanted) and Counter(ours) == Counter(theirs) and ours != theirs:
        return "has the same tasks in another order"
    differing = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b]
    first = ""
    if differing:
        i = differing[0]
        first = f"task {i} ({_shorten(ours[i])}, not {_shorten(theirs[i])})"
    if len(there) != len(wanted):
        number = f"has {len(there):,} tasks, not {len(wanted):,}"
        return f"{number}, and differs from {first} on" if first else number
    if not first:
        return "differs"
    return f"differs in {len(differing):,} of {len(there):,} tasks, first in {first}"


def require_same_columns(argument: str, given: TaskPool, pool: TaskPool) -> None:
    """Raise if an environment would take the columns of `given` for others: it reads them by place.

    Columns that have no names of their own fit any.

    Args:
        argument: what `given` is, for the error.
        given: a pool that is played beside another one.
        pool: the other one.
    """
    if given.contexts is None or pool.contexts is None or given.names == pool.names:
        return
    if len(given.names) == len(pool.names) and (given.has_default_names or pool.has_default_names):
        return
    raise ValueError(
        f"{argument} must have the context columns of the training pool in the same order, "
        f"{', '.join(pool.names)}, got {', '.join(given.names)}: an environment reads them by "
        "place, not by name"
    )


def _kind(pool: TaskPool) -> str:
    if pool.contexts is not None:
        return "contexts"
    return "opaque tasks" if pool.seeds is None else "seeds"


def _texts(pool: TaskPool) -> list[str]:
    """[n] what each task is, with all its digits."""
    if pool.contexts is not None:
        return [
            ", ".join(f"{name}={_number(x)}" for name, x in zip(pool.names, row, strict=True))
            for row in pool.contexts.tolist()
        ]
    if pool.seeds is not None:
        return [f"seed {seed}" for seed in pool.seeds.tolist()]
    return [_object_text(pool[i]) for i in range(len(pool))]


def _number(value: float) -> str:
    """A number with the digits that tell it from others, without a needless '.0'."""
    return repr(value).removesuffix(".0")


def _object_text(task: Any) -> str:
    try:
        return json.dumps(task, sort_keys=True)
    except (TypeError, ValueError):
        return repr(task)


def _shorten(text: str) -> str:
    return textwrap.shorten(text, SHOWN, placeholder="…")
