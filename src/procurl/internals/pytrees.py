"""Settings as JAX pytrees, so that a batch of runs can be vmapped over β, ε or a threshold."""

from dataclasses import is_dataclass
from typing import Any

from procurl.internals.settings import AUTO, Auto, own_fields, traced_fields

_REGISTERED: set[type] = set()


def register_settings(owner: Any) -> None:
    """Register a strategy, and all settings nested in it, with JAX; doing so twice is harmless.

    Numbers and arrays become leaves. Integers, strings and flags are part of the program, so
    changing one recompiles it.
    """
    import jax

    if Auto not in _REGISTERED:
        jax.tree_util.register_pytree_node(Auto, lambda _: ((), None), lambda *_: AUTO)
        _REGISTERED.add(Auto)
    kind = type(owner)
    if kind not in _REGISTERED:
        traced, compiled = traced_fields(kind)
        jax.tree_util.register_dataclass(kind, traced, compiled)
        _REGISTERED.add(kind)
    for field in own_fields(owner):
        value = getattr(owner, field.name)
        for nested in value if isinstance(value, tuple) else (value,):
            if is_dataclass(nested):
                register_settings(nested)
