"""Data of the page's charts over all runs: learning curves and cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from procurl.experiments.analysis.curve_intervals import interval_of
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.figures.curves import COLORS, LineStyle, line_styles
from procurl.experiments.analysis.statistics import mean_over_runs
from procurl.experiments.report.encoding import column, round_digits
from procurl.internals.arrays import Floats
from procurl.records.results import Results

SINGLE_RUNS = 20  # of each strategy that can be drawn individually
SINGLE_VALUES = 100_000  # in total


def curves_payload(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """One entry per contender: positions, means and intervals of its evaluations, single runs."""
    lines = line_styles([curve.label for curve in curves])
    single = single_runs(curves)
    return [_payload(curve, lines[curve.label], single) for curve in curves]


def single_runs(curves: Sequence[Curve]) -> int:
    """How many runs of each contender the page can draw individually."""
    evaluations = sum(len(curve.steps) for curve in curves)
    return min(SINGLE_RUNS, max(1, SINGLE_VALUES // max(1, evaluations)))


def cost_payload(results: Results, curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Environment steps of training and teacher at the last evaluation, averaged over runs."""
    train: dict[str, list[int]] = {}
    total: dict[str, list[int]] = {}
    for run in results.runs:
        if evaluations := results.evaluations.get(run):
            last = evaluations[-1]
            train.setdefault(run.label, []).append(last.train_steps)
            total.setdefault(run.label, []).append(last.env_steps)
    return [
        {
            "label": curve.label,
            "train": round(float(np.mean(train[curve.label]))),
            "teacher": round(float(np.mean(total[curve.label]) - np.mean(train[curve.label]))),
            "seconds": round_digits(mean_over_runs(curve.seconds)[-1]),
        }
        for curve in curves
    ]


def unit_returns(curves: Sequence[Curve]) -> bool:
    """Whether every return lies between 0 and 1, as with binary rewards."""
    heights = _finite_returns(curves)
    return all(bool(((values >= 0) & (values <= 1)).all()) for values in heights)


def return_range(curves: Sequence[Curve]) -> float:
    """The range of returns, which decides how many decimals are shown."""
    heights = _finite_returns(curves)
    together = np.concatenate(heights) if heights else np.zeros(0)
    return 1.0 if unit_returns(curves) or not together.size else float(np.ptp(together)) or 1.0


def _finite_returns(curves: Sequence[Curve]) -> list[Floats]:
    """The returns on both pools, without NaN."""
    both = [of for curve in curves for of in (curve.performance, curve.test_performance)]
    return [values[np.isfinite(values)] for values in both]


def _payload(curve: Curve, line: LineStyle, single: int) -> dict[str, Any]:
    test = {"test": _heights(curve.on_test, single)} if curve.has_test else {}
    return {
        "label": curve.label,
        "color": COLORS.index(line.color),
        "dash": _dashes(line.dash),
        "steps": curve.steps.tolist(),
        "env": column(mean_over_runs(curve.env_steps)),
        "seconds": column(mean_over_runs(curve.seconds)),
        **_heights(curve, single),
        **test,
    }


def _heights(curve: Curve, single: int) -> dict[str, Any]:
    """Means and intervals of a curve, and single runs."""
    intervals = [interval_of(curve, at) for at in curve.performance.T]
    return {
        "mean": column([interval.mean for interval in intervals]),
        "half": column([interval.half_width for interval in intervals]),
        "counts": [interval.runs for interval in intervals],
        "runs": [column(run) for run in curve.performance[:single]],
    }


def _dashes(dash: Any) -> str:
    """Matplotlib's dashes, in line widths, as dashes of an SVG line 2 pixels wide."""
    return "" if isinstance(dash, str) else " ".join(f"{2 * length:g}" for length in dash[1])
