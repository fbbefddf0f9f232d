"""Whether tasks differ in their first observation, by which a critic judges them."""

from collections.abc import Callable
from typing import Any

import numpy as np


def look_alike(n: int, look: Callable[[int], Any]) -> bool:
    """Whether all n tasks have the same first observation.

    Args:
        n: number of tasks.
        look: the first observation of a task, with one seed for all: an array, or a dict or tuple
            of arrays. It is called until two of them differ.
    """
    first = look(0)
    return all(same_observation(first, look(task)) for task in range(1, n))


def require_different_looks(n: int, look: Callable[[int], Any]) -> None:
    """Raise if all n tasks have the same first observation; see `look_alike`."""
    if n > 1 and look_alike(n, look):
        raise ValueError(
            f"all {n} tasks look alike to the critic: their initial observations are the same, so "
            "its values cannot distinguish them. Add the task to the observation, or use a "
            "strategy that needs no critic, such as procurl"
        )


def same_observation(one: Any, other: Any) -> bool:
    """Whether two observations are equal."""
    if isinstance(one, dict):
        return all(same_observation(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return all(map(same_observation, one, other))
    return bool(np.array_equal(one, other))
