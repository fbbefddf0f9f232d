"""One step of SPDL on a pool: two small convex problems, solved through their dual variables.

Every solution is a tilt of the current distribution q, with scaled values v in [−1, 0]:

    log p = (1 − α)·log q + τ·v + const,   τ ≥ 0,   0 ≤ α ≤ 1.

τ raises the expected value, α moves towards the uniform distribution. For a fixed α the expected
value rises with τ; along the τ that just meets the threshold, KL(p‖q) rises with α. Both are
therefore roots of increasing functions of one variable, found by Newton steps inside a bracket.
The largest value is 0 so that no τ, however large, rounds away what q says of those that have it.
"""

from collections.abc import Callable
from typing import NamedTuple

from procurl.internals.arrays import Array, namespace, while_loop
from procurl.strategies.baselines.early_climb import early_climb
from procurl.strategies.baselines.tilting import Pull, moments, positive

MAX_TILT = 1e10  # separates values that differ by a billionth of their range
MAX_SPREAD = 60.0  # of log p: every task keeps e^-60 of the largest probability, so it can return
MAX_ITERATIONS = 80


def self_paced_step(
    log_q: Array,
    values: Array,
    threshold: Array,
    max_kl: Array,
    *,
    full_step: bool = False,
    early_stop: bool = False,
) -> Array:
    """[n] log-probabilities of SPDL's next distribution (Klink et al. 2021).

    With δ the threshold and ε the largest KL divergence, both from the current distribution q:

    1. While E_q[V] < δ, maximize E_p[V] subject to KL(p‖q) ≤ ε; done if E_p[V] < δ still.
    2. Otherwise minimize KL(p‖uniform) subject to E_p[V] ≥ δ and KL(p‖q) ≤ ε.

    Args:
        log_q: [n] current log-probabilities.
        values: [n] finite.
        threshold: δ.
        max_kl: ε, positive.
        full_step: stop after problem 1 whenever E_q[V] < δ, as the paper's code mostly does.
        early_stop: solve problem 1 as the paper's code does, by a climb that stops early
            (`early_climb`), and stop after it.
    """
    xp = namespace(log_q, values, threshold, max_kl)
    low, high = xp.min(values), xp.max(values)
    span = xp.where(high > low, high - low, 1.0)
    goal = xp.where(high > low, (threshold - high) / span, xp.where(threshold > low, 1.0, -1.0))
    pull = Pull(log_q, (values - high) / span, goal, xp.sqrt(max_kl))

    below = moments(pull, 0.0, 0.0).mean < pull.goal
    if early_stop:
        on_own_scale = pull._replace(values=values - high)
        best_alpha, best_tilt = early_climb(on_own_scale, below)
        best_tilt, stay = best_tilt * span, below
    else:
        best_alpha, best_tilt = 0.0, _largest_tilt(pull, below)
        best_mean = moments(pull, 0.0, best_tilt).mean
        stay = below & (full_step | (best_mean < pull.goal))
    alpha, tilt = _widest(pull, ~stay)

    log_p = (1.0 - xp.where(stay, best_alpha, alpha)) * log_q
    log_p = log_p + xp.where(stay, best_tilt, tilt) * pull.values
    log_p = xp.maximum(log_p - xp.max(log_p), -MAX_SPREAD)
    return log_p - xp.log(xp.sum(xp.exp(log_p)))


def _largest_tilt(pull: Pull, active: Array) -> Array:
    """Problem 1: the τ at which KL(p‖q) = ε, or the largest one where p is concentrated before."""
    xp = namespace(pull.log_q, pull.values, pull.root_kl)

    def excess(tilt: Array, _: Array) -> tuple[Array, Array, Array]:
        at = moments(pull, 0.0, tilt)
        slope = 0.5 * tilt * at.variance / positive(at.root_kl)
        return at.root_kl - pull.root_kl, slope, tilt

    at_q = moments(pull, 0.0, 0.0)
    guess = pull.root_kl * xp.sqrt(2.0 / positive(at_q.variance))
    return _increasing_root(excess, guess, MAX_TILT, guess, active)[0]


def _widest(pull: Pull, active: Array) -> tuple[Array, Array]:
    """Problem 2: (α, τ) with the largest α, and for it the smallest τ, that both bounds allow."""

    def shortfall(alpha: Array) -> Callable[[Array, Array], tuple[Array, Array, Array]]:
        def excess(tilt: Array, _: Array) -> tuple[Array, Array, Array]:
            at = moments(pull, alpha, tilt)
            return at.mean - pull.goal, at.variance, tilt

        return excess

    def smallest_tilt(alpha: Array, guess: Array) -> Array:
        xp = namespace(pull.log_q, pull.values, alpha, guess)
        needed = active & (moments(pull, alpha, 0.0).mean < pull.goal)
        tilt, _ = _increasing_root(shortfall(alpha), guess, MAX_TILT, guess, needed)
        return xp.where(needed, tilt, 0.0)

    def excess(alpha: Array, guess: Array) -> tuple[Array, Array, Array]:
        xp = namespace(pull.log_q, pull.values, alpha, guess)
        tilt = smallest_tilt(alpha, xp.where(guess > 0, guess, 1.0))
        at = moments(pull, alpha, tilt)
        explained = xp.where(tilt > 0, at.covariance**2 / positive(at.variance), 0.0)
        slope = 0.5 * alpha * (at.log_q_variance - explained) / positive(at.root_kl)
        return at.root_kl - pull.root_kl, slope, tilt

    return _increasing_root(excess, 1.0, 1.0, 1.0, active)


class _Search(NamedTuple):
    """State of a root search."""

    low: Array  # the root is at least this
    high: Array  # and at most this
    x: Array  # where to look next, and at last the root
    excess: Array  # size of the function where we looked last
    carried: Array  # what the function passes to its next call
    iterations: Array
    done: Array


def _increasing_root(
    function: Callable[[Array, Array], tuple[Array, Array, Array]],
    guess: Array,
    upper: float,
    carried: Array,
    active: Array,
) -> tuple[Array, Array]:
    """The x in [0, upper] at which an increasing function is 0, `upper` if it is negative there.

    Args:
        function: (x, carried) to (value, slope, carried).
        guess: where to start, above 0.
        carried: passed from call to call, so that an inner search can start where the last ended.
        active: False does nothing and returns `guess`.
    """
    xp = namespace(guess, active, carried)
    kind = xp.asarray(active, dtype=bool)
    zero = xp.zeros_like(xp.asarray(guess) * 1.0)
    tolerance = 8.0 * xp.finfo(zero.dtype).eps
    start = _Search(
        low=zero,
        high=zero + 2.0 * upper,  # beyond `upper`: nothing above 0 was met yet
        x=xp.minimum(zero + guess, upper),
        excess=zero + xp.inf,
        carried=zero + carried,
        iterations=xp.zeros(kind.shape, dtype="int32"),
        done=~kind,
    )

    def advance(search: _Search) -> _Search:
        value, slope, carried = function(search.x, search.carried)
        low = xp.where(value < 0, search.x, search.low)
        high = xp.where(value < 0, search.high, search.x)
        newton = search.x - value / positive(slope)
        unbounded = high > upper
        newton = xp.where(unbounded, xp.minimum(newton, 4.0 * search.x), newton)
        middle = xp.where(unbounded, xp.minimum(4.0 * search.x, upper), 0.5 * (low + high))
        shrinking = xp.abs(value) < 0.5 * search.excess
        x = xp.where((newton > low) & (newton < high) & shrinking, newton, middle)
        done = (
            (xp.abs(value) <= tolerance)
            | (high - low <= tolerance * high)
            | ((value < 0) & (search.x >= upper))
            | (search.iterations + 1 >= MAX_ITERATIONS)
        )
        return _Search(
            low=low,
            high=high,
            x=xp.where(done, search.x, x),
            excess=xp.abs(value),
            carried=carried,
            iterations=search.iterations + 1,
            done=done,
        )

    found = while_loop(xp, lambda search: ~search.done, advance, start)
    return found.x, found.carried
