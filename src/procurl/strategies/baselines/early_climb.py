"""SPDL's first problem as the paper's program solves it: a climb that stops early.

The program calls SciPy's `trust-constr` on two numbers (η, α), from (1, 1), for

    log p = α·(log u + η·V) + (1 − α)·log q + const,

and maximizes E_p[V] subject to KL(p‖q) ≤ ε. The method stops as soon as the expected value gains
less than 1e-4 per unit of η and α. With w = η·V − log q, the gain is α·Var(V) by η and Cov(V, w) by
α; on the bound of the KL divergence, where only η is free, it is α·Var(V)·(1 − corr(V, w)²). So p
stops short of the solution if values hardly differ: near the uniform distribution, or close to q.

This is a model of the method, not a copy: a climb along the gradient with small steps, and then
along the bound. Where SciPy reaches the bound, the climb mostly ends at the same distribution. Its
log barrier keeps both numbers positive; the constants below are the barrier and the point at which
SciPy's first steps, which follow the barrier alone, usually end.
"""

from typing import NamedTuple

from procurl.internals.arrays import Array, namespace, while_loop
from procurl.strategies.baselines.tilting import Moments, Pull, moments, positive

SMALLEST_GAIN = 1e-4  # the program's `gtol`
BARRIER = 1.6e-4  # SciPy's barrier when it stops: 0.1 · 0.2⁴
FIRST_ETA, FIRST_ALPHA = 3.0, 1.0
LOWEST, HIGHEST = 1e-3, 1e4  # the program's bounds of η and α
LONGEST_STRIDE = 0.1  # length of a step, relative to (η, α)
BOUND_TOLERANCE = 1e-3  # of √KL, relative
MAX_STEPS = 300


class _Climb(NamedTuple):
    """Where the climb is."""

    eta: Array
    alpha: Array
    bound: Array  # whether it follows the bound of the KL divergence
    stride: Array  # length of the next step inside, relative to (η, α)
    rising: Array  # whether the last step raised α
    steps: Array
    done: Array


def early_climb(pull: Pull, active: Array) -> tuple[Array, Array]:
    """(α, τ) with τ = α·η at which the climb stops; `pull` has values on their own scale.

    Args:
        pull: q, the values and √ε.
        active: False does nothing.
    """
    xp = namespace(pull.log_q, pull.values, active)
    inactive = ~xp.asarray(active, dtype=bool)
    one = xp.ones_like(pull.root_kl * xp.max(pull.values))
    start = _Climb(
        eta=FIRST_ETA * one,
        alpha=FIRST_ALPHA * one,
        bound=xp.zeros(inactive.shape, dtype=bool),
        stride=LONGEST_STRIDE * one,
        rising=xp.ones(inactive.shape, dtype=bool),
        steps=xp.zeros(inactive.shape, dtype="int32"),
        done=inactive,
    )
    end = while_loop(xp, lambda climb: ~climb.done, lambda climb: _advance(pull, climb), start)
    return end.alpha, end.alpha * end.eta


def _advance(pull: Pull, climb: _Climb) -> _Climb:
    """One step: back onto the bound, along it, or along the gradient inside it."""
    eta, alpha = climb.eta, climb.alpha
    xp = namespace(pull.log_q, pull.values, eta, alpha)
    at = moments(pull, alpha, alpha * eta)
    by_alpha = eta * at.variance - at.covariance + BARRIER / alpha
    by_eta = alpha * at.variance + BARRIER / eta
    rising = by_alpha > 0.0

    beyond = at.root_kl > pull.root_kl * (1.0 + BOUND_TOLERANCE)
    below = at.root_kl < pull.root_kl * (1.0 - BOUND_TOLERANCE)
    back = beyond | (climb.bound & rising & below & (alpha < HIGHEST))
    along = ~back & ~below & rising
    gain = xp.where(along, _gain_on_bound(at, eta, alpha), xp.maximum(by_eta, xp.abs(by_alpha)))
    steps = climb.steps + 1
    done = (~back & (gain <= SMALLEST_GAIN)) | (steps >= MAX_STEPS) | (eta >= HIGHEST)

    # Halved where α turns back, so that it settles between the barrier and a falling value.
    turned = rising != climb.rising
    stride = xp.where(turned, 0.5, 1.2) * climb.stride
    stride = xp.where(back | along, climb.stride, xp.minimum(stride, LONGEST_STRIDE))
    scale = stride * xp.hypot(eta, alpha) / positive(xp.hypot(by_eta, by_alpha))
    inside_alpha = xp.maximum(alpha + scale * by_alpha, 0.5 * alpha)
    grown = 1.0 + LONGEST_STRIDE
    next_eta = xp.where(back, eta, xp.where(along, eta * grown, eta + scale * by_eta))
    next_alpha = xp.where(along, alpha / grown, inside_alpha)
    next_alpha = xp.where(back, _alpha_on_bound(pull, at, eta, alpha), next_alpha)
    return _Climb(
        eta=xp.where(done, eta, xp.minimum(next_eta, HIGHEST)),
        alpha=xp.where(done, alpha, xp.clip(next_alpha, LOWEST, HIGHEST)),
        bound=(along | beyond | climb.bound) & rising,
        stride=stride,
        rising=rising,
        steps=steps,
        done=done,
    )


def _gain_on_bound(at: Moments, eta: Array, alpha: Array) -> Array:
    """α·Var(V)·(1 − corr(V, w)²): the gain by η if α keeps the KL divergence as it is."""
    left = at.variance * at.log_q_variance - at.covariance**2
    return alpha * left / positive(_variance_of_w(at, eta))


def _alpha_on_bound(pull: Pull, at: Moments, eta: Array, alpha: Array) -> Array:
    """A Newton step in α toward √KL = √ε, by a factor of at most 4."""
    xp = namespace(at.root_kl, eta, alpha)
    slope = 0.5 * alpha * _variance_of_w(at, eta) / positive(at.root_kl)
    step = alpha - (at.root_kl - pull.root_kl) / positive(slope)
    return xp.clip(step, 0.25 * alpha, 4.0 * alpha)


def _variance_of_w(at: Moments, eta: Array) -> Array:
    return at.variance * eta**2 - 2.0 * eta * at.covariance + at.log_q_variance
