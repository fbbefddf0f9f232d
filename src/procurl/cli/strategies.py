"""`procurl strategies`: every strategy, grouped by what it needs, with its settings."""

import argparse
from collections.abc import Iterator
from typing import Any

from procurl.strategies import Strategy, make_strategy, strategy_names
from procurl.strategies.combined import Combination
from procurl.strategies.listing import listed_settings
from procurl.strategies.registry import when_to_use
from procurl.success import Success

CRITIC = "Need a critic, no extra environment steps"
OUTCOMES = "Need the outcomes of training episodes, no extra environment steps"
ROLLOUTS = "Need rollouts of their own, which take extra environment steps"
NOTHING = "Need nothing"
PARTS = "Need what the strategies in them need"
HEADINGS = (OUTCOMES, CRITIC, ROLLOUTS, NOTHING, PARTS)
# Fields of `Evidence` by heading. A strategy is listed under the first that has a field it needs:
# rollouts come first, since they cost the most.
FIELDS = {
    ROLLOUTS: {"rollout_success", "rollout_top"},
    CRITIC: {"values", "score"},
    OUTCOMES: {"wins", "losses", "played"},
}


def add_strategies_command(commands: Any) -> None:
    """Add `procurl strategies`."""
    command = commands.add_parser(
        "strategies",
        help="list the strategies by what they need, and when to use each",
        description="List the strategies by what they need, with a line on when to use each, the "
        "evidence they need, their settings and defaults.",
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="list only these (default: all)")
    command.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    """Print one block per strategy under the heading of its group."""
    strategies = {name: make_strategy(name) for name in parsed.names or strategy_names()}
    lines: list[str] = []
    for heading in HEADINGS:
        members = [name for name in strategies if _heading(strategies[name]) == heading]
        if members:
            lines += ["", f"{heading}:", ""]
        for name in members:
            lines += [name, *(f"  {line}" for line in _describe(name, strategies[name]))]
    print("\n".join(lines[1:]))
    return 0


def _heading(strategy: Strategy) -> str:
    """The heading under which a strategy is listed."""
    if isinstance(strategy, Combination):
        return PARTS
    needs = set(strategy.needs)
    return next((heading for heading, fields in FIELDS.items() if needs & fields), NOTHING)


def _describe(name: str, strategy: Strategy) -> Iterator[str]:
    """When to use it, its rule, its estimate of PoS, the evidence it needs and its settings."""
    if when := when_to_use(name):
        yield f"when: {when}"
    yield first_line(strategy)
    if isinstance(success := getattr(strategy, "success", None), Success):
        yield f"PoS: {first_line(success)}"
        if (budget := getattr(success, "budget", None)) is not None:
            yield f"budget: training and rollouts take {budget:g} times the training steps"
    yield f"evidence: {', '.join(strategy.needs) or 'none'}"
    if settings := listed_settings(strategy):
        yield "settings: " + ", ".join(f"{key}={value!r}" for key, value in settings.items())


def first_line(documented: object) -> str:
    """The first line of the docstring of an object's class."""
    return (type(documented).__doc__ or "").strip().partition("\n")[0]
