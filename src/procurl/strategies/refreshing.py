"""When to refresh a strategy: the one rule that every engine follows."""

from procurl.internals.arrays import Array
from procurl.strategies.strategy import Strategy
from procurl.success import EARLY

SLICE = 100_000  # tasks of a larger pool that the critic values at a refresh by default


def is_due(
    strategy: Strategy, step: Array, refreshed_at: Array, teacher_steps: Array, at_least: int = 1
) -> Array:
    """Whether to refresh `strategy` now: `Strategy.due`, but never twice at one step.

    A strategy that uses no evidence is never due.

    Args:
        strategy: its own `due` decides.
        step: [] training steps so far.
        refreshed_at: [] the value of `step` at the last refresh, 0 before the first.
        teacher_steps: [] environment steps that the teacher's rollouts have taken so far.
        at_least: training steps that must have passed in any case.
    """
    if not strategy.uses:
        return False
    waited = step - refreshed_at >= at_least
    return waited & strategy.due(step, refreshed_at, teacher_steps)


def is_always_due(strategy: Strategy) -> bool:
    """Whether `strategy` is due after every policy update, known beforehand.

    The default rule says so if it has neither an interval nor a budget that delays refreshes.
    """
    together = is_due_together(strategy) and strategy.refresh_every is None
    return bool(strategy.uses) and together


def is_due_together(strategy: Strategy) -> bool:
    """Whether all runs of `strategy` are due at the same steps.

    They are by the default rule, unless they wait until a budget allows rollouts.
    """
    plan = strategy.rollout_plan()
    return strategy.due_by_interval and (plan is None or plan.budget is None or plan.optional)


def rolls_out_together(strategy: Strategy) -> bool:
    """Whether all runs of `strategy` play rollouts at the same steps.

    They do without a budget, and with one that is spent early, except for the last few refreshes.
    """
    plan = strategy.rollout_plan()
    freely = plan is None or plan.budget is None or plan.spending == EARLY
    return is_due_together(strategy) and freely


def slice_size(strategy: Strategy, n: int) -> int | None:
    """How many of `n` tasks the critic values at a refresh after the first; None: all of them."""
    size = strategy.tasks_per_refresh or SLICE
    return size if size < n and "values" in strategy.uses else None
