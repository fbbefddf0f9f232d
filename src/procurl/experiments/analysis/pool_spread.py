"""How much the results of strategies differ between pools."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.labels import MISSING, TWO_DECIMALS
from procurl.experiments.analysis.samples import by_pool
from procurl.experiments.analysis.standings import BASELINE
from procurl.experiments.analysis.tables import Table
from procurl.internals.arrays import Floats


class PoolSpread(NamedTuple):
    """The results of one contender on each pool."""

    label: str
    means: Floats  # [p] mean performance on each pool, NaN without runs there
    between_pools: float  # standard deviation of the pools' expected performance
    between_runs: float  # standard deviation of runs on the same pool
    ahead: int | None  # pools on which its mean is above the baseline's; None for the baseline
    compared: int  # pools that both have played


def pool_spreads(curves: Sequence[Curve], step: int, baseline: str = BASELINE) -> list[PoolSpread]:
    """The results of every contender on each pool; empty if there is only one pool.

    Args:
        curves: of all contenders.
        step: at which to compare them.
        baseline: contender to compare the others with, if it is among them.
    """
    spread = [curve for curve in curves if curve.played_pools]
    if not spread:
        return []
    n = 1 + max(curve.played_pools[-1] for curve in spread)
    means = {curve.label: _means(curve, step, n) for curve in spread}
    base = means.get(baseline)
    rows = []
    for curve in spread:
        mine, others = means[curve.label], None if curve.label == baseline else base
        both = np.zeros(n, dtype=bool) if others is None else ~np.isnan(mine - others)
        ahead = None if others is None else int((mine > others)[both].sum())
        rows.append(
            PoolSpread(curve.label, mine, *_deviations(curve, step), ahead, int(both.sum()))
        )
    return rows


def pools_table(rows: Sequence[PoolSpread], baseline: str = BASELINE) -> Table:
    """A table of the mean on each pool, the spread of pools and runs, and the pools ahead."""
    n = len(rows[0].means)
    head = (
        "strategy",
        *(f"pool {pool}" for pool in range(n)),
        "SD between pools",
        "SD between runs",
        f"better than {baseline} on",
    )
    lines = (
        (
            row.label,
            *map(_number, row.means),
            _number(row.between_pools),
            _number(row.between_runs),
            pools_ahead(row),
        )
        for row in rows
    )
    return Table(head, tuple(lines))


def pools_ahead(row: PoolSpread) -> str:
    """On how many pools a contender is ahead of the baseline, in words."""
    if row.ahead is None or not row.compared:
        return MISSING
    return f"{row.ahead} of {row.compared} pools"


def _means(curve: Curve, step: int, n: int) -> Floats:
    means = np.full(n, np.nan)
    for pool, sample in by_pool(curve.at(step), curve.pools).items():
        if pool is not None:
            means[pool] = sample.mean()
    return means


def _deviations(curve: Curve, step: int) -> tuple[float, float]:
    """(standard deviation between pools, between runs on one pool), from an analysis of variance.

    The means of pools also vary because runs do; that part is subtracted. NaN without a pool that
    has two runs, or without a second pool.
    """
    samples = list(by_pool(curve.at(step), curve.pools).values())
    n, runs = len(samples), sum(map(len, samples))
    if n < 2 or runs <= n:
        return math.nan, math.nan
    within = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples) / (runs - n)
    mean = np.concatenate(samples).mean()
    between = sum(len(sample) * float(sample.mean() - mean) ** 2 for sample in samples) / (n - 1)
    usual = (runs - sum(len(sample) ** 2 for sample in samples) / runs) / (n - 1)
    return math.sqrt(max(0.0, (between - within) / usual)), math.sqrt(within)


def _number(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:{TWO_DECIMALS}}"
