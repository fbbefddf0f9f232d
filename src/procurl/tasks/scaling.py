"""Contexts on a common scale, so that distances do not depend on units."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def scaled_columns(contexts: NDArray[np.floating]) -> NDArray[Any]:
    """Each column scaled to [0, 1] over the pool; a constant column is 0.

    Args:
        contexts: [n, d], or one column [n].
    """
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    with np.errstate(over="ignore"):
        span = high - low
    if not np.isfinite(span).all():  # the distance between the largest numbers
        contexts, low, high = contexts / 2, low / 2, high / 2
        span = high - low
    scaled: NDArray[Any] = (contexts - low) / np.where(high > low, span, 1.0)
    return scaled
