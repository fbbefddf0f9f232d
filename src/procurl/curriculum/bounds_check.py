"""Whether what is measured lies in the range that counts as success."""

import logging
from typing import Any

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.settings import AUTO
from procurl.strategies.strategy import Strategy
from procurl.success import Success

log = logging.getLogger(__name__)


def bounds_fit(strategy: Strategy, evidence: Evidence) -> bool:
    """Warn and return False if most of the pool lies far outside of `v_min` to `v_max`."""
    success: Any = getattr(strategy, "success", None)
    if not isinstance(success, Success):
        return True
    by_rollouts = "rollout_success" in success.needs
    low: Any
    high: Any
    measured = evidence.rollout_success if by_rollouts else evidence.values
    if measured is not None and by_rollouts and evidence.rollouts is not None:
        measured = np.asarray(measured)[np.asarray(evidence.rollouts) > 0]
    if success.v_min == AUTO:
        low, high = 0.0, 1.0  # without a scale, rewards are taken to be 0 and 1
        known = evidence.scale is not None
    else:
        low, high = success.v_min, success.v_max
        # The bounds of outcomes are those of returns, not of the critic.
        known = low is None or "wins" in success.needs
    if known or measured is None or not len(measured):
        return True
    measured, span = np.asarray(measured), high - low
    if low - span <= measured.min() and measured.max() <= high + span:
        return True  # without the median, which takes long on a large pool
    middle = float(np.median(measured))
    if low - span <= middle <= high + span:
        return True
    log.warning(
        "%s of the pool are around %.3g, far from v_min=%g to v_max=%g: tasks look alike "
        "and are drawn evenly. Pass evidence.scale with the wins and losses of the "
        "episodes, as procurl's environments and engines do, or pass make_strategy the "
        "returns that count as failure and as success as v_min and v_max (discounted for "
        "procurl-val).",
        "returns" if by_rollouts else "the critic's values",
        middle,
        low,
        high,
    )
    return False
