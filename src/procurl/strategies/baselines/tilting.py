"""Tilts of a distribution by values and toward uniform, and what SPDL's solvers ask of them."""

from typing import NamedTuple

from procurl.internals.arrays import Array, namespace


class Pull(NamedTuple):
    """The distribution to tilt, and the bounds."""

    log_q: Array  # [n]
    values: Array  # [n] at most 0
    goal: Array  # []  the threshold, on the scale of the values
    root_kl: Array  # []  √ε


class Moments(NamedTuple):
    """What the solvers need to know of the tilted distribution p."""

    mean: Array  # E_p[v]
    variance: Array  # Var_p(v)
    root_kl: Array  # √KL(p‖q), close to linear in both variables where KL is close to quadratic
    log_q_variance: Array  # Var_p(log q)
    covariance: Array  # Cov_p(v, log q)


def moments(pull: Pull, alpha: Array, tilt: Array) -> Moments:
    """Moments of log p = (1 − α)·log q + τ·v + const, with τ = `tilt`."""
    xp = namespace(pull.log_q, pull.values)
    log_q, values = pull.log_q, pull.values
    logits = (1.0 - alpha) * log_q + tilt * values
    logits = logits - xp.max(logits)
    weights = xp.exp(logits)
    total = xp.sum(weights)
    p = weights / total
    mean, mean_log_q = xp.sum(p * values), xp.sum(p * log_q)
    off_mean, off_log_q = values - mean, log_q - mean_log_q
    kl = xp.sum(p * logits) - xp.log(total) - mean_log_q
    return Moments(
        mean,
        xp.sum(p * off_mean**2),
        xp.sqrt(xp.maximum(kl, 0.0)),
        xp.sum(p * off_log_q**2),
        xp.sum(p * off_mean * off_log_q),
    )


def positive(x: Array) -> Array:
    """`x`, kept away from 0 so that one can divide by it."""
    xp = namespace(x)
    return xp.maximum(x, xp.finfo(xp.asarray(x).dtype).tiny ** 0.5)
