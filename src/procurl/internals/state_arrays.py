"""The arrays inside a state of nested tuples, by name."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from procurl.internals.arrays import NamedArrays


def state_arrays(state: Any, prefix: str = "") -> NamedArrays:
    """The arrays of nested tuples by dotted name; None has no array."""
    if state is None:
        return {}
    if not isinstance(state, tuple):
        return {prefix: np.asarray(state)}
    arrays: NamedArrays = {}
    for name, part in _named_parts(state, prefix):
        arrays |= state_arrays(part, name)
    return arrays


def with_arrays(state: Any, arrays: NamedArrays, prefix: str = "") -> Any:
    """`state` with its arrays replaced by copies of those in `arrays`, by dotted name."""
    if state is None:
        return None
    if not isinstance(state, tuple):
        return np.array(arrays[prefix])
    parts = [with_arrays(inner, arrays, name) for name, inner in _named_parts(state, prefix)]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)


def restore_arrays(state: Any, saved: NamedArrays) -> Any:
    """`state` with the arrays of `saved`, which must match it by name, shape and type."""
    here = state_arrays(state)
    if here.keys() != saved.keys():
        raise ValueError(f"the saved state holds {sorted(saved)}, expected {sorted(here)}")
    for name, array in here.items():
        given = np.asarray(saved[name])
        if given.shape != array.shape or given.dtype != array.dtype:
            raise ValueError(
                f"the saved {name} has {given.dtype}{list(given.shape)}, "
                f"expected {array.dtype}{list(array.shape)}"
            )
    return with_arrays(state, saved)


def add_prefix(prefix: str, arrays: NamedArrays) -> NamedArrays:
    """The arrays with `prefix` in front of their names."""
    return {prefix + name: array for name, array in arrays.items()}


def take_prefix(prefix: str, arrays: NamedArrays) -> NamedArrays:
    """The arrays whose names start with `prefix`, by the rest of their names; removes them."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _named_parts(state: tuple[Any, ...], prefix: str) -> list[tuple[str, Any]]:
    """The parts of a tuple by dotted name: its fields, or 0, 1, … if they have no names."""
    names: Iterable[Any] = getattr(state, "_fields", range(len(state)))
    return [
        (f"{prefix}.{name}" if prefix else str(name), part)
        for name, part in zip(names, state, strict=True)
    ]
