"""Learning curves: every evaluation of a contender's runs, as arrays over runs and steps."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Floats
from procurl.records.evaluation import Evaluation
from procurl.records.experiment import TARGETS, TEST, pool_index
from procurl.records.export import ExportRow
from procurl.records.results import Results, RunId


class Curve(NamedTuple):
    """Every evaluation of one contender's runs; NaN if a run has none at that step."""

    label: str
    seeds: NDArray[np.int64]  # [r] ascending
    steps: NDArray[np.int64]  # [k] ascending
    performance: Floats  # [r, k] mean return over the pool
    test_performance: Floats  # [r, k] over the test pool
    env_steps: Floats  # [r, k] training and teacher
    seconds: Floats  # [r, k] of training
    test_name: str = TEST  # what tables call the test pool
    pools: NDArray[np.int64] | None = None  # [r] which of several pools each run played

    def at(self, step: int) -> Floats:
        """[r] performance at that step, NaN for runs not evaluated there."""
        return self._column(self.performance, step)

    def test_at(self, step: int) -> Floats:
        """[r] performance on the test pool at that step, NaN for runs not evaluated there."""
        return self._column(self.test_performance, step)

    @property
    def has_test(self) -> bool:
        """Whether any run was evaluated on a test pool."""
        return not np.isnan(self.test_performance).all()

    @property
    def on_test(self) -> "Curve":
        """This curve with the test pool in place of the training pool."""
        return self._replace(performance=self.test_performance)

    @property
    def test_tasks(self) -> str:
        """The tasks of the test pool, in words."""
        return test_tasks(self.test_name)

    def env_steps_at(self, step: int) -> Floats:
        """[r] environment steps up to that step, NaN for runs not evaluated there."""
        return self._column(self.env_steps, step)

    def seconds_at(self, step: int) -> Floats:
        """[r] seconds of training up to that step, NaN for runs not evaluated there."""
        return self._column(self.seconds, step)

    @property
    def final(self) -> Floats:
        """[r] performance at the last step."""
        return self.performance[:, -1]

    def best(self, until: int | None = None) -> tuple[Floats, Floats]:
        """([r] best performance on the training pool, [r] test performance at that evaluation).

        Ties go to the earliest evaluation. A run without evaluations has NaN.
        """
        shown = self.performance[:, : self._until(until)]
        there = np.where(np.isnan(shown), -np.inf, shown)
        row = np.arange(len(shown))
        where = there.argmax(axis=1)
        return shown[row, where], self.test_performance[row, where]

    def cut(self, until: int) -> "Curve":
        """This curve without the evaluations after step `until`."""
        k = self._until(until)
        return self._replace(
            steps=self.steps[:k],
            performance=self.performance[:, :k],
            test_performance=self.test_performance[:, :k],
            env_steps=self.env_steps[:, :k],
            seconds=self.seconds[:, :k],
        )

    @property
    def played_pools(self) -> list[int]:
        """The pools that its runs played, ascending; empty if there is only one."""
        return [] if self.pools is None else sorted(set(self.pools.tolist()))

    def on_pool(self, pool: int) -> "Curve":
        """The runs on one of several pools only."""
        assert self.pools is not None
        there = self.pools == pool
        return self._replace(
            seeds=self.seeds[there],
            performance=self.performance[there],
            test_performance=self.test_performance[there],
            env_steps=self.env_steps[there],
            seconds=self.seconds[there],
            pools=None,
        )

    def _column(self, values: Floats, step: int) -> Floats:
        where = np.flatnonzero(self.steps == step)
        return values[:, where[0]] if len(where) else np.full(len(self.seeds), np.nan)

    def _until(self, until: int | None) -> int:
        if until is None:
            return len(self.steps)
        return int(np.searchsorted(self.steps, until, side="right"))


class Point(NamedTuple):
    """The part of one evaluation that curves need."""

    label: str
    seed: int
    pool: int | None  # which of several; None if there is only one
    step: int
    values: tuple[float, float, float, float]  # performance, test performance, env steps, seconds


def learning_curves(results: Results) -> list[Curve]:
    """One curve per contender, in the order of the results, over all runs with evaluations."""
    found = _gather(
        _point(run.label, run.seed, _pool(run, results), at)
        for run in results.runs
        for at in results.evaluations.get(run, ())
    )
    return [curve._replace(test_name=results.test_name) for curve in found]


def curves_from_rows(rows: Iterable[ExportRow]) -> list[Curve]:
    """One curve per contender, from rows of `procurl export`."""
    return _gather(
        _point(
            f"{row.strategy}:{row.setting}" if row.setting else row.strategy,
            row.seed,
            row.pool,
            row.evaluation,
        )
        for row in rows
    )


def test_tasks(name: str) -> str:
    """The tasks of the test pool with that name, in words."""
    return "the targets" if name == TARGETS else "the test pool"


def by_label(curves: Iterable[Curve]) -> Mapping[str, Curve]:
    """The curves, keyed by contender."""
    return {curve.label: curve for curve in curves}


def _pool(run: RunId, results: Results) -> int | None:
    return pool_index(run.seed, len(results.pools)) if results.other_pools else None


def _point(label: str, seed: int, pool: int | None, at: Evaluation) -> Point:
    values = (at.performance, _number(at.test_performance), at.env_steps, at.seconds)
    return Point(label, seed, pool, at.step, values)


def _gather(points: Iterable[Point]) -> list[Curve]:
    by_contender: dict[str, list[Point]] = {}
    for point in points:
        by_contender.setdefault(point.label, []).append(point)
    return [_curve(label, mine) for label, mine in by_contender.items()]


def _curve(label: str, points: list[Point]) -> Curve:
    seeds, row = np.unique([point.seed for point in points], return_inverse=True)
    steps, column = np.unique([point.step for point in points], return_inverse=True)
    values = np.full((4, len(seeds), len(steps)), np.nan)
    values[:, row, column] = np.array([point.values for point in points], dtype=np.float64).T
    pools = {point.seed: point.pool for point in points if point.pool is not None}
    played = np.array([pools[seed] for seed in seeds.tolist()]) if pools else None
    return Curve(label, seeds, steps, *values)._replace(pools=played)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
