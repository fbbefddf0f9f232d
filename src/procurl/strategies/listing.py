"""The settings of a strategy as a user would write them."""

import hashlib
import json
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from procurl.internals.setting_text import setting_text
from procurl.internals.settings import describe, flat_settings
from procurl.strategies.conditions import Condition, condition_text
from procurl.strategies.handmade.ranges import ranges_text
from procurl.strategies.handmade.stage import Stage, stages_text
from procurl.strategies.registry import make_strategy, strategy_name, strategy_names
from procurl.strategies.strategy import Strategy


def listed_settings(strategy: Strategy) -> dict[str, Any]:
    """Every setting by name; strategies, conditions and ranges inside it as text.

    >>> listed_settings(make_strategy("mix"))
    {'strategies': 'procurl-val+iid', 'weights': None}
    """
    return {name: _written(value) for name, value in flat_settings(strategy).items()}


def changed_settings(strategy: Strategy) -> str:
    """The settings that differ from the defaults of the strategy's name, as text.

    >>> changed_settings(make_strategy("procurl-val", beta=10, floor=0.1))
    'beta=10,floor=0.1'
    """
    defaults = listed_settings(make_strategy(strategy_name(strategy)))
    listed = listed_settings(strategy)
    changed = {k: v for k, v in listed.items() if k not in defaults or v != defaults[k]}
    return ",".join(f"{k}={setting_text(v)}" for k, v in changed.items())


def _written(value: Any) -> Any:
    """`value` as text if it is made of parts that have a text, else `value` itself."""
    if isinstance(value, Strategy):
        return _strategy_text(value)
    if isinstance(value, Condition):
        return condition_text(value) or _digest(value)
    if isinstance(value, Mapping):
        return ranges_text(value)
    if isinstance(value, list | np.ndarray):  # one number per task
        return _digest(np.asarray(value, dtype=np.float64))
    if not isinstance(value, tuple):
        return value
    if all(isinstance(each, Stage) for each in value):
        return stages_text(value) or _digest(value)
    return "+".join(
        setting_text(each) if isinstance(each, Real) else str(_written(each)) for each in value
    )


def _strategy_text(strategy: Strategy) -> str:
    name = strategy_name(strategy)
    if name not in strategy_names():
        return f"{name}[{_digest(strategy)}]"
    settings = changed_settings(strategy)
    return f"{name}[{settings}]" if settings else name


def _digest(value: Any) -> str:
    """A few digits that tell two values without text apart."""
    described = json.dumps(describe(value), sort_keys=True, default=repr)
    return hashlib.sha256(described.encode()).hexdigest()[:8]
