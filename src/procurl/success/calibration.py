"""From the critic's values to probabilities, by a logistic fit to training episodes."""

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.success.counts import OutcomeCounts

PSEUDO = 0.1  # wins and losses at the mean value, each, so that the fit exists for few episodes
RIDGE = 0.1  # on the slope, in episodes at one standard deviation
ITERATIONS = 12  # of Newton's method, which converges in about six


def calibrated_values(evidence: Evidence, counts: OutcomeCounts) -> Array:
    """[n] success by the critic: its values as they are if rewards are 0 and 1, else calibrated.

    Evidence without a scale says nothing about rewards; they are taken to be 0 and 1. Non-finite
    values stay so.
    """
    if evidence.scale is None:
        return evidence.values
    return calibrate_unless(evidence.scale.unit, evidence.values, counts)


def calibrate_unless(unit: Array, values: Array, counts: OutcomeCounts) -> Array:
    """[n] `values` if `unit`, else calibrated by `counts`; under NumPy only what is needed."""
    xp = namespace(unit, values, counts.wins)
    if xp is np and unit:
        return values
    return xp.where(unit, values, calibrate(values, counts.wins, counts.losses))


def calibrate(values: Array, wins: Array, losses: Array) -> Array:
    """[n] success as a logistic function of the critic's values (Platt scaling).

    The critic lives on a scale of its own: its values are discounted, lag behind the agent, and
    hold a bonus for entropy in some algorithms. With z the standardized values and S, F the wins
    and losses of the tasks, p = σ(a + b·z) where a and b ≥ 0 maximize

        Σ S·log p + F·log(1 − p)  −  RIDGE·b²/2.

    Args:
        values: [n]; a non-finite one has a non-finite result and no part in the fit.
        wins: [n] recent training episodes won; parts of episodes count as well.
        losses: [n] lost.
    """
    xp = namespace(values, wins)
    finite = xp.isfinite(values)
    wins, losses = xp.where(finite, wins, 0.0), xp.where(finite, losses, 0.0)
    lost, values = values, xp.where(finite, values, 0.0)
    played = wins + losses
    total = xp.sum(played)
    weights = xp.where(total > 0, played / xp.where(total > 0, total, 1.0), 1.0 / values.shape[0])
    mean = xp.sum(weights * values)
    deviation = xp.sqrt(xp.sum(weights * (values - mean) ** 2))
    spread = deviation > 1e-6 * (xp.abs(mean) + 1e-6)
    z = xp.where(spread, (values - mean) / xp.where(spread, deviation, 1.0), 0.0)
    z = xp.clip(z, -10.0, 10.0)
    offset = xp.log((xp.sum(wins) + PSEUDO) / (xp.sum(losses) + PSEUDO))
    slope = xp.zeros_like(offset)
    for _ in range(ITERATIONS):
        offset, slope = _newton_step(z, wins, losses, offset, slope)
    return xp.where(finite, 1.0 / (1.0 + xp.exp(-(offset + slope * z))), lost)


def _newton_step(
    z: Array, wins: Array, losses: Array, offset: Array, slope: Array
) -> tuple[Array, Array]:
    """(a, b) after one damped step of Newton's method, with b ≥ 0."""
    xp = namespace(z, wins)
    p = 1.0 / (1.0 + xp.exp(-(offset + slope * z)))
    p0 = 1.0 / (1.0 + xp.exp(-offset))  # of the pseudo-episodes, at z = 0
    played = wins + losses
    curvature = played * p * (1.0 - p)
    error = wins - played * p
    down_a = xp.sum(error) + PSEUDO - 2.0 * PSEUDO * p0
    down_b = xp.sum(error * z) - RIDGE * slope
    aa = xp.sum(curvature) + 2.0 * PSEUDO * p0 * (1.0 - p0) + 1e-6
    ab = xp.sum(curvature * z)
    bb = xp.sum(curvature * z**2) + RIDGE
    determinant = xp.maximum(aa * bb - ab**2, 1e-9)
    step_b = (aa * down_b - ab * down_a) / determinant
    at_edge = (slope <= 0.0) & (step_b < 0.0)  # b stays 0, and a moves alone
    step_a = xp.where(at_edge, down_a / aa, (bb * down_a - ab * down_b) / determinant)
    offset = xp.clip(offset + xp.clip(step_a, -2.0, 2.0), -20.0, 20.0)
    return offset, xp.clip(slope + xp.clip(step_b, -2.0, 2.0), 0.0, 20.0)
