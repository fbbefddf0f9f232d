"""Strategies inside a strategy, written as text: `procurl-val[beta=10]+iid`."""

from collections.abc import Callable, Mapping
from typing import Any

from procurl.internals.setting_text import read_settings, split_outside_brackets
from procurl.strategies.strategy import Strategy

MakeStrategy = Callable[..., Strategy]  # of a name and settings, such as `make_strategy`


def read_parts(owner: Any, settings: Mapping[str, Any], make: MakeStrategy) -> dict[str, Any]:
    """`settings` of `owner` with strategies in place of their text.

    A name stands for the strategy with its default settings; others follow in square brackets. A
    setting that holds several strategies joins them with `+`.

    Args:
        owner: a strategy with default settings, which show where it holds others.
        settings: by name.
        make: the strategy of a name and settings.
    """
    read = dict(settings)
    for name, given in settings.items():
        inside = getattr(owner, name, None)
        if isinstance(inside, Strategy) and isinstance(given, str):
            read[name] = _read_part(given, make)
        elif _holds_strategies(inside):
            listed = split_outside_brackets(given, "+") if isinstance(given, str) else given
            if isinstance(listed, list | tuple):
                read[name] = tuple(
                    _read_part(each, make) if isinstance(each, str) else each for each in listed
                )
    return read


def parts_of(owner: Any) -> dict[str, Strategy | tuple[Strategy, ...]]:
    """The settings of `owner` that hold strategies, by name."""
    return {
        name: value
        for name, value in vars(owner).items()
        if isinstance(value, Strategy) or _holds_strategies(value)
    }


def _holds_strategies(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) > 0
        and all(isinstance(each, Strategy) for each in value)
    )


def _read_part(text: str, make: MakeStrategy) -> Strategy:
    name, bracket, settings = text.partition("[")
    if bool(bracket) != text.endswith("]"):
        raise ValueError(
            f"{text!r} is not a strategy: write NAME, or NAME[SETTING=VALUE,...] with both brackets"
        )
    return make(name, **read_settings(settings.removesuffix("]"), f"strategy {text!r}"))
