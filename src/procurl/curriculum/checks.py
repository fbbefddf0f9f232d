"""What a curriculum requires of evidence, of a strategy's distributions and of saved state."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.evidence import Evidence
from procurl.evidence.checks import check_evidence
from procurl.strategies.registry import strategy_name
from procurl.strategies.strategy import Strategy

SUM_TOLERANCE = 1e-3  # of probabilities in single precision, over large pools


def require_evidence(strategy: Strategy, evidence: Evidence, n: int, step: float) -> Evidence:
    """`evidence` on n tasks as NumPy arrays; raises if it is bad or lacks what is needed.

    Args:
        strategy: that requires it.
        evidence: of the user.
        n: tasks in the pool.
        step: training steps so far.
    """
    checked = check_evidence(evidence, n, step)
    plan = strategy.rollout_plan() if checked.rollout_success is None else None
    not_required = {"noise", "rollout_success"} if plan and plan.optional else {"noise"}
    for name in strategy.needs:
        if getattr(checked, name, None) is None and name not in not_required:
            raise ValueError(
                f"evidence.{name} is missing: {strategy_name(strategy)} requires it "
                f"(it needs {', '.join(strategy.needs)})"
            )
    return checked


def checked_probabilities(strategy: Strategy, state: Any, n: int) -> NDArray[np.floating]:
    """[n] the strategy's probabilities; raises if they are not a distribution.

    Large pools stay in single precision, all else is in double precision.

    Args:
        strategy: bound to a pool of n tasks.
        state: of the strategy.
        n: tasks in the pool.
    """
    p: NDArray[np.floating] = np.asarray(strategy.probabilities(state))
    if p.dtype != np.float32:
        p = p.astype(np.float64, copy=False)
    if p.shape != (n,) or not p.min() >= 0 or abs(p.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"{type(strategy).__name__}.probabilities must return one probability for "
            f"each of the {n} tasks, which sum to 1, got {np.array2string(p, threshold=8)}"
        )
    return p


def in_double(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """[n] a copy of the probabilities that sums to 1 in double precision."""
    p = probabilities.astype(np.float64)
    return p / p.sum() if probabilities.dtype == np.float32 else p


def checked_rollout_weights(strategy: Strategy, state: Any, n: int) -> NDArray[np.float64] | None:
    """[n] the strategy's weights for rollouts, None for equal ones; raises if they are unusable."""
    given = strategy.rollout_weights(state)
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n,) or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"{type(strategy).__name__}.rollout_weights must return one weight for each "
            f"of the {n} tasks, none of them negative and not all 0, or None, "
            f"got {np.array2string(weights, threshold=8)}"
        )
    return weights


def require_format(saved: Any, reads: int) -> None:
    """Raise ValueError if a curriculum was saved in another format than this version reads."""
    if saved != reads:
        raise ValueError(
            f"the curriculum was saved in format {saved!r}, this version reads {reads}"
        )


def require_same(what: str, here: dict[str, Any], saved: dict[str, Any]) -> None:
    """Raise with the first setting in which the saved curriculum differs."""
    for name in {**saved, **here}:
        ours, theirs = here.get(name), saved.get(name)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            require_same(f"{what}.{name}", ours, theirs)
        elif ours != theirs:
            raise ValueError(
                f"the curriculum was saved with {what}.{name} = {theirs!r}, this one has {ours!r}; "
                "create it with the same strategy and pool to continue"
            )
