"""Values and returns on the scale of a probability of success."""

import numpy as np

from procurl.internals.arrays import Array, namespace


def normalize(values: Array, v_min: Array | None, v_max: Array | None) -> Array:
    """(V − Vmin) / (Vmax − Vmin), with the pool's own finite range if the bounds are None.

    A zero range gives 0 everywhere, which makes the softmax strategies uniform.
    """
    xp = namespace(values, v_min, v_max)
    if v_min is None or v_max is None:
        v_min, v_max = value_range(values)
    span = v_max - v_min
    scale = xp.where(span > 0, 1.0 / xp.where(span > 0, span, 1.0), 0.0)
    return (values - v_min) * scale


def value_range(values: Array) -> tuple[Array, Array]:
    """Smallest and largest finite entry, 0 and 0 if there is none."""
    xp = namespace(values)
    if values.size == 0:
        return xp.zeros(()), xp.zeros(())
    finite = xp.isfinite(values)
    some = xp.any(finite)
    low = xp.where(some, xp.min(xp.where(finite, values, xp.inf)), 0.0)
    high = xp.where(some, xp.max(xp.where(finite, values, -xp.inf)), 0.0)
    return low, high


def outcomes_of(returns: Array, v_min: Array, v_max: Array) -> tuple[Array, Array]:
    """[m] (wins, losses) of episodes, each a share of a win by its normalized return."""
    wins = namespace(returns, v_min, v_max).clip(normalize(returns, v_min, v_max), 0.0, 1.0)
    return wins, 1.0 - wins


def keep_finite(new: Array, previous: Array) -> Array:
    """`new` where it is finite, else `previous`, in the type of `previous`."""
    xp = namespace(new, previous)
    if xp is np and np.shape(new) == previous.shape and np.isfinite(new).all():
        return np.array(new, dtype=previous.dtype)  # a copy, and faster on a large pool
    return xp.where(xp.isfinite(new), new, previous).astype(previous.dtype, copy=False)
