"""The teacher's rollouts as episodes among others."""

from collections.abc import Callable

import numpy as np

from procurl.evidence import Evidence, Scale
from procurl.internals.arrays import Array, namespace

UNIT = Scale(np.zeros(()), np.ones(()), np.asarray(True))  # rewards of 0 and 1


def with_rollouts(
    evidence: Evidence, outcomes: Callable[[Array, Scale], tuple[Array, Array]]
) -> Evidence:
    """`evidence` in which rollouts count like training episodes; as it is if there were none.

    A task with k rollouts of mean w adds k·w wins and k·(1 − w) losses. One rollout adds w·(1 − w)
    to `partial`. Of several rollouts the single outcomes are unknown and taken to be 0 or 1.

    Args:
        evidence: with wins and losses.
        outcomes: (wins, losses) of what was measured, as of `Success.outcomes`.
    """
    measured, rollouts = evidence.rollout_success, evidence.rollouts
    if measured is None:
        return evidence
    xp = namespace(evidence.wins, measured)
    count = xp.ones_like(measured) if rollouts is None else rollouts
    played = xp.where(xp.isfinite(measured) & xp.isfinite(count), count, 0.0)
    known = xp.where(played > 0.0, measured, 0.0)
    wins, losses = outcomes(known, UNIT if evidence.scale is None else evidence.scale)
    partial = xp.where(played == 1.0, wins * losses, 0.0)
    return evidence._replace(
        wins=evidence.wins + played * wins,
        losses=evidence.losses + played * losses,
        partial=partial if evidence.partial is None else evidence.partial + partial,
    )
