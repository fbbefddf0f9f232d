"""What a run is given: its strategy, its evaluations, the settings of PPO and its seed, checked."""

from collections.abc import Sequence
from typing import Any

from procurl.internals.checks import require_integer
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.learning.settings import PPOSettings
from procurl.strategies.registry import as_strategy
from procurl.strategies.strategy import Strategy

LAST_SEED = 2**32 - 1  # random keys are made from 32 bits


def require_seed(argument: str, seed: Any) -> None:
    """Raise unless `seed` is an integer that random keys can be made from."""
    require_integer(argument, seed, at_least=0)
    if seed > LAST_SEED:
        raise ValueError(f"{argument} must be at most {LAST_SEED}, got {seed}")


def require_ppo(argument: str, settings: object) -> None:
    """Raise unless `settings` are those of PPO, each within its range."""
    if not isinstance(settings, PPOSettings):
        raise TypeError(
            f"{argument} must be PPOSettings, as from paper_settings, got {settings!r:.80}"
        )
    settings.check()


def require_plan(argument: str, plan: object) -> None:
    """Raise unless `plan` is one of evaluations, each of its fields within its range."""
    if not isinstance(plan, EvaluationPlan):
        raise TypeError(f"{argument} must be an EvaluationPlan, got {plan!r:.80}")
    plan.check()


def require_one_per_run(**settings: Any) -> None:
    """Raise unless each of `settings`, by argument, has one entry per run, and at least one."""
    for argument, given in settings.items():
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise TypeError(
                f"{argument} must be a list with one entry per run, got {given!r:.80}: "
                "for a single run, pass a list of one"
            )
    counts = {argument: len(given) for argument, given in settings.items()}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        listed = ", ".join(f"{count} {argument}" for argument, count in counts.items())
        raise ValueError(f"there must be one entry per run, and at least one run, got {listed}")


def checked_strategies(
    strategies: Sequence[Strategy | str], ppo: Sequence[PPOSettings], seeds: Sequence[int]
) -> list[Strategy]:
    """[w] the strategies of w runs, made if they are names; raises on any bad setting."""
    require_one_per_run(strategies=strategies, ppo=ppo, seeds=seeds)
    for settings in ppo:
        require_ppo("every entry of ppo", settings)
    for seed in seeds:
        require_seed("every seed", seed)
    return [as_strategy(strategy) for strategy in strategies]
