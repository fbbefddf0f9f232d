"""`v_min` and `v_max`: the bounds of what is normalized, given or found during training."""

from typing import Any, TypeAlias

from procurl.internals.settings import AUTO

# A number, `auto` to find it during training, or None for the range over the pool at that moment.
Bound: TypeAlias = float | str | None


def complete_bounds(owner: Any) -> None:
    """Fill in a bound that was left out: if only one of the two is a number, they are 0 and 1."""
    v_min, v_max = owner.v_min, owner.v_max
    if isinstance(v_min, str) and v_min == AUTO:
        v_min = AUTO if v_max is None or isinstance(v_max, str) else 0.0
    if isinstance(v_max, str) and v_max == AUTO:
        v_max = AUTO if owner.v_min is None or isinstance(owner.v_min, str) else 1.0
    object.__setattr__(owner, "v_min", v_min)
    object.__setattr__(owner, "v_max", v_max)


def are_found(owner: Any) -> bool:
    """Whether the bounds are found during training."""
    return isinstance(owner.v_min, str)


def are_given(owner: Any) -> bool:
    """Whether the bounds are two numbers."""
    return not are_found(owner) and owner.v_min is not None and owner.v_max is not None
