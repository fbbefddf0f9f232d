"""The critic's values of the pool if each refresh values a slice of it, in rotation."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from procurl.internals.arrays import Array, compute_if


class KeptValues(NamedTuple):
    """The latest value of every task."""

    values: Array  # [n] float32
    next_task: Array  # []  int32, where the next slice begins; −1 before the first refresh


def no_values(n: int) -> KeptValues:
    """Before the first refresh."""
    return KeptValues(jnp.zeros(n), jnp.full((), -1, dtype=jnp.int32))


def next_values(
    kept: KeptValues, size: int, value: Callable[[Array], Array], observations: Array
) -> KeptValues:
    """The values after a refresh: all are new at the first, later those of the next `size` tasks.

    The last slice of a round is shorter if `size` does not divide the pool. With `vmap`, all tasks
    are valued if it is the first refresh of any run.

    Args:
        kept: before the refresh.
        size: tasks of a slice.
        value: [m] the critic's values of m tasks, from their observations [m, …].
        observations: [n, …] of all tasks.
    """
    n = observations.shape[0]
    start = jnp.maximum(kept.next_task, 0)
    tasks = jnp.minimum(start + jnp.arange(size), n - 1)  # a short slice repeats its last task
    partly = kept.values.at[tasks].set(value(observations[tasks]))
    first = kept.next_task < 0
    values = compute_if(jnp, first, lambda: value(observations), partly)
    after = jnp.where(first | (start + size >= n), 0, start + size)
    return KeptValues(values, after.astype(kept.next_task.dtype))
