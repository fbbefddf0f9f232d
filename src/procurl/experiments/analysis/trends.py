"""Features of the tasks that a curriculum picked during training, block by block."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats
from procurl.records.evaluation import Evaluation
from procurl.records.experiment import pool_index
from procurl.records.results import Results
from procurl.tasks.pool import TaskPool

BLOCK = 100  # picked tasks per point
BLOCKS = {"basickarel": 500}  # as in the paper
MIRRORED = frozenset({"gate_position"})  # left and right are equivalent: shown as |value|


class Features(NamedTuple):
    """Numbers that describe the tasks of a pool in plots."""

    names: tuple[str, ...]  # f of them
    values: Floats  # [n, f]


class Trend(NamedTuple):
    """The tasks that one run played, averaged over blocks."""

    label: str
    seed: int
    steps: Floats  # [b] training steps in the middle of each block
    means: Floats  # [b, f] of the features
    typical: NDArray[np.int64]  # [b] the played task nearest to the block's means


def features_of(pool: TaskPool) -> Features:
    """The pool's contexts and features, with gate positions as distances from the middle."""
    columns: dict[str, Floats] = {}
    for j, name in enumerate(pool.names):
        assert pool.contexts is not None
        column = pool.contexts[:, j]
        if name in MIRRORED:
            name, column = f"|{name}|", np.abs(column)
        columns[name] = column
    columns |= {name: column for name, column in pool.features.items() if name not in columns}
    values = np.stack(list(columns.values()), axis=1) if columns else np.zeros((len(pool), 0))
    return Features(tuple(columns), values)


def trends(
    results: Results, labels: Iterable[str] | None = None, seeds: int | None = None
) -> list[Trend]:
    """The trend of every run that has played at least one block of tasks.

    Of several pools, those whose tasks have other columns than the first pool's are left out.

    Args:
        results: with the picks of each run.
        labels: contenders to include; all by default.
        seeds: number of runs per contender; all by default.
    """
    wanted = set(results.labels if labels is None else labels)
    features = [features_of(pool) for pool in results.pools]
    size = BLOCKS.get(results.env, BLOCK)
    followed: dict[str, int] = {}
    found = []
    for run in results.runs:
        count = followed.get(run.label, 0)
        own = features[pool_index(run.seed, len(features))]
        if run.label not in wanted or own.names != features[0].names:
            continue
        if seeds is not None and count >= seeds:
            continue
        followed[run.label] = count + 1
        trend = trend_of(run.label, run.seed, results.detail(run), own, size)
        if len(trend.steps):
            found.append(trend)
    return found


def trend_of(
    label: str, seed: int, evaluations: Sequence[Evaluation], features: Features, size: int
) -> Trend:
    """The picks of one run in blocks of `size`; an incomplete last block is left out.

    An evaluation says which tasks were played since the previous one, but not when. They are spread
    evenly over the steps between the two.
    """
    picks, steps, before = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], 0
    for at in evaluations:
        count = len(at.picks)
        picks.append(at.picks)
        steps.append(before + (np.arange(count) + 0.5) / max(count, 1) * (at.train_steps - before))
        before = at.train_steps
    played, when = np.concatenate(picks), np.concatenate(steps)
    blocks = len(played) // size
    played = played[: blocks * size].reshape(blocks, size)
    described = features.values[played]  # [b, size, f]
    means = described.mean(axis=1) if blocks else np.zeros((0, len(features.names)))
    nearest = distance(described, means[:, None], features).argmin(axis=1) if blocks else []
    typical = played[np.arange(blocks), np.asarray(nearest, dtype=np.int64)]
    return Trend(
        label, seed, when[: blocks * size].reshape(blocks, size).mean(axis=1), means, typical
    )


def distance(values: Floats, means: Floats, features: Features) -> Floats:
    """[...] distance of features [..., f] from `means`, each in units of its standard deviation."""
    spread = features.values.std(axis=0)
    scaled = (values - means) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.sqrt((scaled**2).sum(axis=-1)), dtype=np.float64)


def mean_trend(found: Sequence[Trend], steps: Floats) -> tuple[Floats, Floats]:
    """([k, f] mean over runs, [k, f] its standard error) of block means at `steps` [k].

    A run's means are interpolated linearly between the middles of its blocks and constant outside.
    """
    lines = np.stack(
        [
            np.stack([np.interp(steps, trend.steps, column) for column in trend.means.T], axis=1)
            for trend in found
        ]
    )
    n = len(lines)
    error = lines.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(lines.shape[1:])
    return lines.mean(axis=0), error


def typical_task(found: Sequence[Trend], step: float, features: Features) -> int:
    """A typical task of these runs around `step`.

    Of the typical tasks of each run's block there, the one nearest to the mean over runs.
    """
    blocks = [int(np.abs(trend.steps - step).argmin()) for trend in found]
    tasks = np.array([trend.typical[b] for trend, b in zip(found, blocks, strict=True)])
    means = np.stack([trend.means[b] for trend, b in zip(found, blocks, strict=True)]).mean(axis=0)
    return int(tasks[distance(features.values[tasks], means, features).argmin()])
