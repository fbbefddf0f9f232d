"""One part of a curriculum: how long it has lasted and how well the agent does in it."""

from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.success.counts import Fading, OutcomeCounts, add_outcomes
from procurl.success.played import Played

PHASE_FIELDS = ("wins", "losses", "scale")  # what a phase reads of `Evidence`, if it is there


class Phase(NamedTuple):
    """What has happened since a part of a curriculum began."""

    began: Array  # []  training steps when it began
    step: Array  # []  training steps at the latest evidence
    episodes: Array  # []  training episodes since it began
    counts: OutcomeCounts  # [] wins and losses of these episodes, which fade

    @property
    def steps(self) -> Array:
        """[] training steps since the phase began."""
        return self.step - self.began

    @property
    def success(self) -> Array:
        """[] wins / (wins + losses) of the recent episodes, 0 before the first."""
        xp = namespace(self.counts.wins)
        total = self.counts.wins + self.counts.losses
        return self.counts.wins / xp.where(total > 0.0, total, 1.0)


def new_phase() -> Phase:
    """The phase that begins with training."""
    zero = np.zeros(())
    return Phase(zero, zero, zero, OutcomeCounts(zero, zero, zero, np.ones(())))


def next_phase(phase: Phase) -> Phase:
    """The phase that begins where `phase` has ended; it goes on measuring on the same range."""
    nothing = namespace(phase.step).zeros_like(phase.step)
    counts = phase.counts._replace(wins=nothing, losses=nothing)
    return Phase(phase.step, phase.step, nothing, counts)


def add_to_phase(phase: Phase, evidence: Evidence, tasks: Array, window: Array) -> Phase:
    """Add the training episodes on some tasks; older ones fade by 1 − 1/`window` per episode.

    If the evidence has no outcomes, only the steps are counted.

    Args:
        phase: so far.
        evidence: on n tasks.
        tasks: [n] bool, the tasks that count.
        window: about how many recent episodes make up the success.
    """
    xp = namespace(phase.step, evidence.step, tasks, window)
    dtype = phase.step.dtype
    phase = phase._replace(step=xp.asarray(evidence.step, dtype=dtype))
    if evidence.wins is None or evidence.losses is None:
        return phase
    known = tasks & xp.isfinite(evidence.wins) & xp.isfinite(evidence.losses)
    wins = xp.sum(xp.where(known, evidence.wins, 0.0))
    losses = xp.sum(xp.where(known, evidence.losses, 0.0))
    totals = Played(..., wins, losses, xp.zeros_like(wins))
    faded = Fading((1.0 - 1.0 / window) ** totals.episodes)
    return phase._replace(
        episodes=xp.asarray(phase.episodes + totals.episodes, dtype=dtype),
        counts=add_outcomes(phase.counts, totals, faded, evidence.scale),
    )
