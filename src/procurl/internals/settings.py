"""Settings as data: read, replace and describe the fields of nested frozen dataclasses."""

import typing
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass, replace
from types import NoneType
from typing import Any

import numpy as np

from procurl.internals.checks import suggest

COMPILED_IN = {int, str, bool, NoneType}
CLOSED = {"closed": True}  # metadata of a field whose own settings are not its owner's

# Metadata of a setting that is described only if it is not None: saved runs from before there was
# such a setting continue.
ADDED = {"added": True}


class Auto(str):
    """The word `auto` in place of a number that is found during training.

    A type of its own, so that JAX can tell it from a number that a program is given.
    """


AUTO = Auto("auto")


def convert_setting(owner: Any, name: str, kinds: Any, convert: Callable[[Any], Any]) -> None:
    """Convert a setting that was given in another form; for `__post_init__` of a frozen dataclass.

    Values of other kinds stay as they are, among them the arrays from which JAX rebuilds settings.

    Args:
        owner: the dataclass.
        name: of the setting.
        kinds: a type or a union of types to convert.
        convert: from one of `kinds`.
    """
    value = getattr(owner, name)
    if isinstance(value, kinds):
        object.__setattr__(owner, name, convert(value))


def own_fields(owner: Any) -> list[Field[Any]]:
    """The fields that are settings; those derived from the pool are not compared and left out."""
    return [field for field in fields(owner) if field.compare]


def traced_fields(kind: type) -> tuple[list[str], list[str]]:
    """(traced, compiled in): the fields that are arrays in a JAX program, and those that are not.

    A field whose annotation names only `int`, `str`, `bool` and `None` is compiled in; every other
    field is a number, an array or settings with fields of their own.
    """
    hints = typing.get_type_hints(kind)
    traced: list[str] = []
    compiled: list[str] = []
    for field in fields(kind):
        kinds = set(typing.get_args(hints[field.name]) or (hints[field.name],))
        (compiled if kinds <= COMPILED_IN else traced).append(field.name)
    return traced, compiled


def flat_settings(owner: Any) -> dict[str, Any]:
    """Every setting by name, those of nested settings after their owner's."""
    own = {field.name: getattr(owner, field.name) for field in own_fields(owner)}
    nested = _nested_fields(owner)
    flat = {name: value for name, value in own.items() if name not in nested}
    for name in nested:
        flat |= {k: v for k, v in flat_settings(own[name]).items() if k not in flat}
    return flat


def _nested_fields(owner: Any) -> list[str]:
    """The fields that hold settings of their own, which count as the owner's."""
    return [
        field.name
        for field in own_fields(owner)
        if is_dataclass(getattr(owner, field.name)) and not field.metadata.get("closed")
    ]


def describe(owner: Any) -> Any:
    """Settings as plain JSON values, each dataclass with its `type`."""
    if is_dataclass(owner):
        own = {
            field.name: describe(getattr(owner, field.name))
            for field in own_fields(owner)
            if not (field.metadata.get("added") and getattr(owner, field.name) is None)
        }
        return {"type": type(owner).__name__} | own
    if isinstance(owner, np.generic) or hasattr(owner, "__array__"):
        return np.asarray(owner).tolist()
    if isinstance(owner, list | tuple):
        return [describe(item) for item in owner]
    if isinstance(owner, Mapping):
        return {key: describe(value) for key, value in owner.items()}
    return owner


def with_settings(name: str, owner: Any, settings: dict[str, Any]) -> Any:
    """`owner` with `settings` replaced, wherever in it or its nested settings they belong.

    Args:
        name: what the owner is called in errors.
        owner: a frozen dataclass.
        settings: by name.
    """
    changed, rest = _replace_nested(owner, settings)
    if rest:
        unknown = next(iter(rest))
        listed = flat_settings(owner)
        known = [*listed, *(field.name for field in own_fields(owner))]
        raise ValueError(
            f"setting {unknown!r} is not one of {name!r}.{suggest(unknown, known)} "
            f"Its settings: {', '.join(listed) or 'it has none'}"
        )
    return changed


def _replace_nested(owner: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """(`owner` with the settings that belong to it or inside it, the settings that do not)."""
    names = [field.name for field in own_fields(owner)]
    mine = {key: value for key, value in settings.items() if key in names}
    rest = {key: value for key, value in settings.items() if key not in names}
    changed = replace(owner, **mine)
    for name in _nested_fields(changed):
        if rest:
            nested, rest = _replace_nested(getattr(changed, name), rest)
            changed = replace(changed, **{name: nested})
    return changed, rest
