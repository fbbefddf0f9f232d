"""The agent improves between two visits to a task: shift all estimates by what recent ones show."""

from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, by_blocks, namespace
from procurl.success.played import Played

WINDOW = 32.0  # recent episodes that show how far the agent has come
CAUTION = 2.0  # as much information as eight episodes on tasks of medium difficulty
LARGEST = 4.0  # of the shift, in logits
EDGE = 1e-3  # estimates closer to 0 or 1 are shifted as if they were this close


class Drift(NamedTuple):
    """How much better the agent is, in logits, than the memory of its episodes says."""

    shift: Array  # []
    information: Array  # []  Σ p(1 − p) over recent episodes


def no_drift() -> Drift:
    """Before there is an estimate that episodes could contradict."""
    return Drift(np.zeros(()), np.zeros(()))


def next_drift(drift: Drift, started: Array, predicted: Array, played: Played) -> Drift:
    """The drift after the episodes of `played`, none before there was a prediction [n]."""
    xp = namespace(predicted, played.wins, started)
    after = follow_drift(drift, predicted[played.tasks], played.wins, played.losses)
    return Drift(*(xp.where(started, new, old) for new, old in zip(after, drift, strict=True)))


def follow_drift(drift: Drift, predicted: Array, wins: Array, losses: Array) -> Drift:
    """The drift after episodes whose success had been `predicted` [n], shift included.

    A step of Newton's method on their likelihood, in which older episodes count less and less:

        shift ← shift + Σ (wins − episodes · p) / (Σ episodes · p(1 − p) + CAUTION).

    Once the memory has caught up, predictions become too high, and the shift returns to 0.
    """
    xp = namespace(predicted, wins, drift.shift)
    p = xp.clip(predicted, EDGE, 1.0 - EDGE)
    played = wins + losses
    faded = (1.0 - 1.0 / WINDOW) ** xp.sum(played)
    information = drift.information * faded + xp.sum(played * p * (1.0 - p))
    shift = drift.shift + xp.sum(wins - played * p) / (information + CAUTION)
    dtype = drift.shift.dtype
    return Drift(
        xp.clip(shift, -LARGEST, LARGEST).astype(dtype),
        information.astype(dtype),
    )


def shifted(estimate: Array, drift: Drift) -> Array:
    """[n] σ(logit(estimate) + shift), exactly the estimate if there is no shift."""
    xp = namespace(estimate, drift.shift)

    def move(estimate: Array) -> Array:
        p = xp.clip(estimate, EDGE, 1.0 - EDGE)
        return p / (p + (1.0 - p) * xp.exp(-drift.shift).astype(p.dtype))

    if xp is np:  # no pass over a large pool for nothing
        return estimate if drift.shift == 0.0 else by_blocks(move, estimate)
    return xp.where(drift.shift == 0.0, estimate, move(estimate))
