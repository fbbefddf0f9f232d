"""The short answer of a comparison: a table and a picture of the learning curves."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from procurl.experiments.records import Row

# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
STYLES = ("-", "--", ":")


class Curve(NamedTuple):
    """Performance over training of one contender's runs."""

    label: str
    steps: list[int]  # [k]
    performance: list[list[float]]  # [k] of the runs at each step
    env_steps: list[float]  # [k] mean
    seconds: list[float]  # [k] mean over batches


class Interval(NamedTuple):
    """A mean and the half-width of its 95% confidence interval, NaN for a single run."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        if np.isnan(self.half_width):
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} ± {self.half_width:.2f}"


def mean_interval(values: Iterable[float]) -> Interval:
    """Mean ± t·standard error at 95%, as in the paper.

    >>> str(mean_interval([0.1, 0.2, 0.3, 0.4]))
    '0.25 ± 0.21'
    """
    from scipy.stats import t

    sample = np.asarray(list(values), dtype=float)
    n = len(sample)
    if n < 2:
        return Interval(float(sample.mean()), float("nan"))
    error = sample.std(ddof=1) / np.sqrt(n)
    return Interval(float(sample.mean()), float(t.ppf(0.975, n - 1) * error))


def curves(rows: Iterable[Row]) -> list[Curve]:
    """The rows by contender, in their order, and by step."""
    by_label: dict[str, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        label = f"{row.strategy}:{row.setting}" if row.setting else row.strategy
        by_label[label][row.step].append(row)
    return [
        Curve(
            label,
            steps=list(steps),
            performance=[[row.performance for row in at] for at in steps.values()],
            env_steps=[float(np.mean([row.env_steps for row in at])) for at in steps.values()],
            seconds=[float(np.mean([row.seconds for row in at])) for at in steps.values()],
        )
        for label, steps in by_label.items()
    ]


def table(found: list[Curve]) -> str:
    """One line per contender: performance along training, environment steps and time."""
    steps = np.asarray(max((curve.steps for curve in found), key=len))
    quarters = (steps[-1] / 4, steps[-1] / 2, steps[-1])
    shown = list(dict.fromkeys(int(steps[np.argmin(np.abs(steps - at))]) for at in quarters))
    width = max(len("strategy"), *(len(curve.label) for curve in found))
    head = [f"{'strategy':{width}}", "runs"]
    head += [f"{f'at {_short(step)}':>13}" for step in shown]
    lines = ["  ".join([*head, f"{'env steps':>9}", f"{'seconds':>8}"])]
    for curve in found:
        cells = [f"{curve.label:{width}}", f"{len(curve.performance[-1]):>4}"]
        for step in shown:
            at = dict(zip(curve.steps, curve.performance, strict=True)).get(step)
            cells.append(f"{'–' if at is None else str(mean_interval(at)):>13}")
        cells += [f"{_short(curve.env_steps[-1]):>9}", f"{curve.seconds[-1]:>8.0f}"]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def draw_curves(found: list[Curve], path: Path, title: str) -> None:
    """Mean performance with its standard error against training steps, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'procurl[report]'") from error

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for i, curve in enumerate(found):
        steps = np.asarray(curve.steps) / 1e6
        mean = np.array([np.mean(at) for at in curve.performance])
        spread = np.array([_standard_error(at) for at in curve.performance])
        colour = COLOURS[i % len(COLOURS)]
        style = STYLES[i // len(COLOURS) % len(STYLES)]
        axes.plot(steps, mean, style, color=colour, label=curve.label)
        axes.fill_between(steps, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
    axes.set(xlabel="training steps (millions)", ylabel="mean return over the pool", title=title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _standard_error(values: list[float]) -> float:
    """Of the mean; 0 for a single value, so that a lone run draws a line."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _short(number: float) -> str:
    """250000 as 0.25M, 1500 as 1.5k."""
    if number >= 1e5:
        return f"{number / 1e6:.3g}M"
    return f"{number / 1e3:.3g}k" if number >= 1e3 else f"{number:.0f}"
