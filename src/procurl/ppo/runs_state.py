"""The state of a batch of runs between two updates.

What changes it outside the large programs is compiled as well: without `jit`, JAX would compile
each of its operations as a program of its own.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from procurl.internals.arrays import Array
from procurl.ppo.programs import TrainingState
from procurl.ppo.teacher import Teaching


class RunsState(NamedTuple):
    """Everything that changes during training, and therefore belongs in a checkpoint."""

    training: TrainingState
    teaching: Teaching
    alive: Array  # [w] bool
    stopped_at: Array  # [w] int32, training steps at which a run stopped; −1 while it continues
    best_params: Any  # [w, ...] of the best evaluation so far
    best: Array  # [w] its performance


@jax.jit
def first_state(training: TrainingState, teaching: Teaching) -> RunsState:
    """The state before the first update."""
    w = len(teaching.step)
    return RunsState(
        training,
        teaching,
        alive=jnp.ones(w, dtype=bool),
        stopped_at=jnp.full(w, -1, dtype=jnp.int32),
        best_params=jax.tree.map(jnp.copy, training.student.params),
        best=jnp.full(w, -jnp.inf),
    )


@jax.jit
def stopping_steps(before: Array, were_alive: Array, alive: Array, step: Array) -> Array:
    """[w] `stopped_at` after an update: `step` for the runs that it has stopped."""
    return jnp.where(were_alive & ~alive, step, before)
