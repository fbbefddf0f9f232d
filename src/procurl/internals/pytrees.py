"""Settings as JAX pytrees, so that a batch of runs can be vmapped over β, ε or a threshold."""

from dataclasses import is_dataclass
from typing import Any

from procurl.internals.settings import own_fields, traced_fields

_REGISTERED: set[type] = set()


def register_settings(owner: Any) -> None:
    """Make a strategy, and all settings nested in it, known to JAX; doing so twice is harmless.

    Numbers and arrays become leaves; integers, strings and flags are part of the program, so that
    changing one compiles anew.
    """
    import jax

    kind = type(owner)
    if kind not in _REGISTERED:
        traced, compiled = traced_fields(kind)
        jax.tree_util.register_dataclass(kind, traced, compiled)
        _REGISTERED.add(kind)
    for field in own_fields(owner):
        nested = getattr(owner, field.name)
        if is_dataclass(nested):
            register_settings(nested)
