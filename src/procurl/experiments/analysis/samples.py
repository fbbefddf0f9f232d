"""The values of runs without those that were not measured, together or by environment or pool."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from procurl.internals.arrays import Floats


def sample_of(values: ArrayLike) -> Floats:
    """[n] the values without NaN; raises on infinite ones."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(f"values must have the shape [runs], got {list(sample.shape)}")
    if np.isinf(sample).any():
        raise ValueError("values must not be infinite: their mean is not defined")
    return sample[~np.isnan(sample)]


def by_environment(strata: ArrayLike | Sequence[ArrayLike]) -> list[Floats]:
    """The values of each environment, whether one or several are given."""
    if isinstance(strata, np.ndarray):
        return [sample_of(row) for row in np.atleast_2d(strata)]
    given: Any = strata
    nested = [value for value in given if np.ndim(value)]
    return [sample_of(stratum) for stratum in (nested or [given])]


def by_pool(values: Any, pools: ArrayLike | None) -> dict[Any, Floats]:
    """The values of each pool that has any; all of them under one key if `pools` is None.

    Args:
        values: [r] of the runs of one environment.
        pools: [r] which pool each run played; None for a single one.
    """
    if pools is None:
        return {None: sample_of(values)}
    everything, played = np.asarray(values, dtype=np.float64), np.asarray(pools)
    if played.shape != everything.shape or everything.ndim != 1:
        raise ValueError(
            "pools must have one entry for each run of one environment, got the shape "
            f"{list(played.shape)} for values of the shape {list(everything.shape)}"
        )
    found = {pool: sample_of(everything[played == pool]) for pool in np.unique(played).tolist()}
    return {pool: sample for pool, sample in found.items() if len(sample)} or {None: np.zeros(0)}


def pairs_by_pool(
    ours: Any, theirs: Any, pools: tuple[ArrayLike, ArrayLike] | None
) -> list[tuple[Floats, Floats]]:
    """The values of both sides on each pool that both have played; one pair for a single pool."""
    mine, other = (
        by_pool(values, played)
        for values, played in zip((ours, theirs), pools or (None, None), strict=True)
    )
    both = [(mine[pool], other[pool]) for pool in mine if pool in other]
    return both or [(np.zeros(0), np.zeros(0))]
