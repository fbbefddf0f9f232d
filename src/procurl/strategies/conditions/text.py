"""Conditions as short text, for the command line: `above:0.7`, `above:0.7+steps:5000`."""

from dataclasses import fields

from procurl.internals.checks import require_known
from procurl.strategies.conditions.condition import And, Condition, Or
from procurl.strategies.conditions.measured import NoProgress, Steps, SuccessAbove

NAMES: dict[str, type[Condition]] = {
    "above": SuccessAbove,
    "steps": Steps,
    "no-progress": NoProgress,
}


def as_condition(argument: str, given: object) -> Condition:
    """`given` itself if it is a condition, or the one that the text describes.

    A condition is its name and its settings in order, separated by colons. `+` joins conditions
    that must hold together, `/` alternatives; `+` binds more tightly.

    >>> as_condition("until", "above:0.7+steps:5000/no-progress:20000") == (
    ...     SuccessAbove(0.7) & Steps(5000.0) | NoProgress(20000.0)
    ... )
    True

    Args:
        argument: what the condition is called in errors.
        given: a condition or text.
    """
    if isinstance(given, Condition):
        return given
    if not isinstance(given, str):
        raise TypeError(
            f"{argument} must be a condition, such as SuccessAbove(0.7), or text, such as "
            f"'above:0.7', got {given!r}"
        )
    alternatives = [_all_of(argument, part) for part in given.split("/")]
    joined = alternatives[0]
    for alternative in alternatives[1:]:
        joined = joined | alternative
    return joined


def condition_text(condition: Condition) -> str | None:
    """The text that `as_condition` reads, None if there is none."""
    if isinstance(condition, Or):
        return _join(condition, "/")
    if isinstance(condition, And):
        if isinstance(condition.left, Or) or isinstance(condition.right, Or):
            return None  # the text has no parentheses
        return _join(condition, "+")
    name = next((name for name, kind in NAMES.items() if type(condition) is kind), None)
    if name is None:
        return None
    values = [float(getattr(condition, field.name)) for field in fields(condition)]  # type: ignore[arg-type]
    defaults = [field.default for field in fields(condition)]  # type: ignore[arg-type]
    while len(values) > 1 and values[-1] == defaults[-1]:
        values, defaults = values[:-1], defaults[:-1]
    return ":".join([name, *(_number_text(value) for value in values)])


def _all_of(argument: str, text: str) -> Condition:
    parts = [_single(argument, part) for part in text.split("+")]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return joined


def _single(argument: str, text: str) -> Condition:
    name, *settings = text.split(":")
    require_known(f"{argument}: condition", name, NAMES, "conditions")
    kind = NAMES[name]
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    form = f"{name}:{':'.join(each.upper() for each in names)}"
    if not 1 <= len(settings) <= len(names):
        raise ValueError(f"{argument}: {text!r} is not a condition; write {form}")
    try:
        return kind(*(float(setting) for setting in settings))
    except ValueError as error:
        raise ValueError(f"{argument}: {text!r} is not a condition; write {form}") from error


def _join(pair: And | Or, sign: str) -> str | None:
    left, right = condition_text(pair.left), condition_text(pair.right)
    return None if left is None or right is None else f"{left}{sign}{right}"


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
