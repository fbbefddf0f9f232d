"""An agent that wins nothing wanders, and returns to where it last won."""

from typing import NamedTuple

import jax.numpy as jnp

from procurl.internals.arrays import Array
from procurl.ppo.episodes import choose
from procurl.ppo.learning.update import StudentState


class Anchor(NamedTuple):
    """Where an agent returns to; see `Strategy.patience`."""

    student: StudentState  # after the latest update with a reward
    idle: Array  # []  int32, updates without any since then, or since the last return


def first_anchor(student: StudentState) -> Anchor:
    """The anchor of an agent that has not learned yet."""
    return Anchor(student, jnp.zeros((), dtype=jnp.int32))


def next_anchor(
    anchor: Anchor, student: StudentState, rewarded: Array, patience: int
) -> tuple[StudentState, Anchor]:
    """The student that continues after an update, and its anchor.

    Args:
        anchor: before the update.
        student: after it.
        rewarded: [] bool, whether the update had a reward.
        patience: updates without one that the agent may wander for.
    """
    last = choose(rewarded, student, anchor.student)
    idle = jnp.where(rewarded, 0, anchor.idle + 1)
    back = idle > patience
    return choose(back, last, student), Anchor(last, jnp.where(back, 0, idle))
