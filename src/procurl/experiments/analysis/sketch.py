"""A sketch of a comparison for the terminal: learning curves and curricula as lines of bars."""

from collections.abc import Sequence

import numpy as np

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.labels import MISSING, one_line, step_label
from procurl.experiments.analysis.standings import BASELINE
from procurl.experiments.analysis.statistics import mean_over_runs
from procurl.experiments.analysis.trends import features_of, mean_trend, trends
from procurl.internals.arrays import Floats
from procurl.records.results import Results

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32  # characters of a line
MOST = 6  # contenders and columns of tasks that are shown


def sketch_curves(curves: Sequence[Curve]) -> str:
    """A line for each contender: its mean performance from the first evaluation to the last.

    A line ends with the contender's last evaluation, and is empty if no return was measured.
    """
    shown = curves[:MOST]
    last = max(int(curve.steps[-1]) for curve in shown)
    means = [_mean_line(curve, last) for curve in shown]
    known = [line[~np.isnan(line)] for line in means]
    low = min((line.min() for line in known if line.size), default=0.0)
    high = max((line.max() for line in known if line.size), default=0.0)
    head = f"mean return, up to {step_label(last)} steps"
    ends = [_ends(line) for line in known]
    return _lines(head, [curve.label for curve in shown], [bars(x, low, high) for x in means], ends)


def sketch_curriculum(results: Results) -> str:
    """A line for each column of the tasks: its mean over what the first contender played.

    The baseline plays every task alike, so the first other contender is shown. Empty if tasks have
    no columns, or if there were too few of them.
    """
    chosen = next((label for label in results.labels if label != BASELINE), None)
    found = [] if chosen is None else trends(results, labels=[chosen])
    features = features_of(results.pool)
    if not found or not features.names:
        return ""
    means, _ = mean_trend(found, _grid(results.steps))
    spread = features.values.std(axis=0)
    middle = features.values.mean(axis=0)
    columns = range(min(len(features.names), MOST))
    lines = [bars(means[:, j], middle[j] - spread[j], middle[j] + spread[j]) for j in columns]
    ends = [_ends(means[:, j]) for j in columns]
    names = [features.names[j] for j in columns]
    head = f"average task that {chosen} played (bars span the pool's mean ± 1 SD)"
    return _lines(head, names, lines, ends)


def bars(values: Floats, low: float, high: float) -> str:
    """One bar per value, from the lowest at `low` to the highest at `high`; a space for NaN."""
    share = (values - low) / (high - low) if high > low else np.zeros(len(values))
    heights = np.clip(np.nan_to_num(share) * len(BARS), 0, len(BARS) - 1).astype(int)
    shown = zip(heights, np.isnan(values), strict=True)
    return "".join(" " if missing else BARS[height] for height, missing in shown)


def _mean_line(curve: Curve, last: int) -> Floats:
    """The mean performance at evenly spaced steps.

    It is constant before the first evaluation and NaN after the last.
    """
    means = mean_over_runs(curve.performance)
    known = ~np.isnan(means)
    if not known.any():
        return np.full(WIDTH, np.nan)
    at = curve.steps[known].astype(float)
    line: Floats = np.interp(_grid(last), at, means[known])
    line[np.searchsorted(_grid(last), at[-1]) + 1 :] = np.nan  # its last mean has a bar
    return line


def _grid(last: int) -> Floats:
    """Evenly spaced steps, as many as fit on a line."""
    return np.linspace(0.0, last, WIDTH)


def _lines(
    head: str, names: Sequence[str], lines: Sequence[str], ends: Sequence[tuple[str, str]]
) -> str:
    """A heading, and a line for each name: bars, and the numbers at both ends."""
    names = [one_line(label) for label in names]
    name = max(map(len, names))
    number = max(len(first) for first, _ in ends)
    rows = [
        f"  {label:<{name}}  {first:>{number}} {line} {last}"
        for label, line, (first, last) in zip(names, lines, ends, strict=True)
    ]
    return "\n".join([head, *rows])


def _ends(line: Floats) -> tuple[str, str]:
    """The first and the last number of a line."""
    return (_number(line[0]), _number(line[-1])) if line.size else (MISSING, MISSING)


def _number(value: float) -> str:
    """Three significant digits, or all digits before the point, up to a million."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e6 else f"{value:.3g}"
