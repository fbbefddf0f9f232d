"""Figures for papers and reports, each as a PNG and an SVG file (extra `report`).

A strategy has the same color and dash in every figure. The colors are Okabe and Ito's, which
color-blind readers can tell apart. Dashes tell lines apart in gray.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from procurl.experiments.analysis.curve_statistics import SMOOTHING_WINDOW, smooth
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.figures.legends import (
    add_legend,
    legend_label,
    place_legend,
)
from procurl.experiments.analysis.labels import short_name, step_label
from procurl.experiments.analysis.statistics import (
    Interval,
    mean_over_runs,
    standard_error,
)
from procurl.internals.arrays import Floats
from procurl.internals.files import write_bytes

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, OLIVE = "#E69F00", "#56B4E9", "#000000", "#8C8C36"
INDIGO = "#332288"
COLORS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, OLIVE, INDIGO)
SOLID, DASHED, DOTTED = "-", (0, (5, 1.5)), (0, (1, 1.2))
DPI = 160
CURVES_SIZE = (6.4, 3.6)  # inches
FEWEST_SMOOTHED = 2 * SMOOTHING_WINDOW  # evaluations: smoothing would flatten fewer

AXES: Mapping[str, str] = {
    "train": "training steps",
    "env": "environment steps, training and teacher",
    "seconds": "seconds of training",
}


class LineStyle(NamedTuple):
    """How a contender is drawn."""

    color: str
    dash: Any


STRATEGY_LINES: Mapping[str, LineStyle] = {
    "procurl": LineStyle(INDIGO, SOLID),
    "procurl-group": LineStyle(PURPLE, DOTTED),
    "procurl-env": LineStyle(BLUE, SOLID),
    "procurl-env-4": LineStyle(BLUE, DASHED),
    "procurl-env-2": LineStyle(BLUE, DOTTED),
    "procurl-val": LineStyle(VERMILLION, SOLID),
    "procurl-argmax": LineStyle(VERMILLION, DASHED),
    "procurl-out": LineStyle(GREEN, SOLID),
    "procurl-target": LineStyle(INDIGO, DASHED),
    "space": LineStyle(PURPLE, SOLID),
    "space-alt": LineStyle(PURPLE, DASHED),
    "spdl": LineStyle(ORANGE, SOLID),
    "plr": LineStyle(SKY, SOLID),
    "sfl": LineStyle(SKY, DASHED),
    "learning-progress": LineStyle(GREEN, DASHED),
    "alp-gmm": LineStyle(GREEN, DOTTED),
    "iid": LineStyle(BLACK, SOLID),
    "target": LineStyle(INDIGO, DOTTED),
    "currot": LineStyle(SKY, DOTTED),
    "easy": LineStyle(OLIVE, SOLID),
    "hard": LineStyle(OLIVE, DASHED),
    "stages": LineStyle(ORANGE, DASHED),
    "anneal": LineStyle(ORANGE, DOTTED),
    "mix": LineStyle(VERMILLION, DOTTED),
    "switch": LineStyle(BLACK, DASHED),
}
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "svg.fonttype": "none",
    "svg.hashsalt": "procurl",
    # Names of users are text: a `$` in them starts no formula.
    "text.parse_math": False,
    "text.usetex": False,
}


def line_styles(labels: Sequence[str]) -> dict[str, LineStyle]:
    """The style of each contender: known strategies have their own, others get unused ones."""
    known = {label: STRATEGY_LINES[label] for label in labels if label in STRATEGY_LINES}
    free = (
        line
        for line in (LineStyle(color, dash) for dash, color in product(_DASHES, COLORS))
        if line not in known.values()
    )
    others = [label for label in labels if label not in known]
    return known | dict(zip(others, _endless(free), strict=False))


_DASHES = (SOLID, DASHED, DOTTED, (0, (6, 1.5, 1, 1.5)))


def _endless(free: Iterator[LineStyle]) -> Iterator[LineStyle]:
    """The unused styles, then all styles over and over."""
    yield from free
    while True:
        yield from (LineStyle(color, dash) for dash, color in product(_DASHES, COLORS))


@contextmanager
def new_figure(
    path: Path, size: tuple[float, float], rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield (figure, axes `[rows][columns]`) in the common style, then save it as PNG and SVG.

    Args:
        path: of the files; the suffix is replaced.
        size: width and height in inches.
        rows, columns: of the axes; `rows=0` creates none.
        options: for `Figure.subplots`.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "figures need Matplotlib, which is not installed: pip install 'procurl[report]'"
        ) from error
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options) if rows else None
        yield figure, axes
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_figure(figure, path, "png", dpi=DPI, pil_kwargs={"optimize": True})
        figure.set_layout_engine("none")  # the layout stays: computing it is half of the work
        _write_figure(figure, path, "svg", metadata={"Date": None, "Creator": "procurl"})


def _write_figure(figure: Any, path: Path, kind: str, **options: Any) -> None:
    """Write a whole file or none; a full disk leaves the figure that was there before."""
    content = BytesIO()
    figure.savefig(content, format=kind, **options)
    write_bytes(path.with_suffix(f".{kind}"), content.getvalue())


def draw_curves(
    curves: Sequence[Curve], path: Path, title: str = "", x: str = "train", over: str = "the pool"
) -> None:
    """Learning curves: mean performance ± 1 standard error, smoothed over `smoothing_window`.

    Args:
        curves: to draw, one line each.
        path: of the files.
        title: above the figure.
        x: horizontal axis, `train` for training steps, `env` for environment steps, or `seconds`.
        over: the tasks that performance is averaged over.
    """
    legend = place_legend([curve.label for curve in curves], CURVES_SIZE)
    with new_figure(path, legend.size) as (figure, axes):
        plot_curves(axes[0][0], curves, x, over)
        axes[0][0].set_title(short_name(title))
        add_legend(figure, axes[0][0], **legend.options)


def plot_curves(
    axis: Any, curves: Sequence[Curve], x: str = "train", over: str = "the pool"
) -> None:
    """Draw the curves on `axis`. The legend lists the highest final value first."""
    if x not in AXES:
        raise ValueError(f"x must be one of {', '.join(AXES)}, got {x!r}")
    lines = line_styles([curve.label for curve in curves])
    ends: list[float] = []
    window = smoothing_window(curves)
    drawn = [(curve, *mean_curve(curve, window)) for curve in curves]
    for curve, mean, error in sorted(drawn, key=lambda line: _last(line[1]), reverse=True):
        color, dash = lines[curve.label]
        at = curve_axis(curve, x)
        style = {"color": color, "linestyle": dash, "linewidth": 1.5}
        style["marker"] = point_marker(at[~np.isnan(mean)])
        axis.plot(at, mean, **style, label=legend_label(curve.label))
        axis.fill_between(at, mean - error, mean + error, color=color, alpha=0.18, lw=0)
        ends.append(float(at[-1]))
    if x != "train" and max(ends) > 5 * min(ends) > 0:
        _log_scale(axis)
    if x == "seconds":
        axis.xaxis.set_major_formatter("{x:g}")
    else:
        label_steps(axis)
    axis.set(xlabel=AXES[x], ylabel=f"mean return over {over}\n({band_label(curves)})")


def point_marker(at: Floats) -> str:
    """The marker of a line at positions `at`: a dot if they are one point, which has no line."""
    return "o" if len(at) and np.ptp(at) == 0 else ""


def label_steps(axis: Any) -> None:
    """Write the ticks of the horizontal axis as tables write steps."""
    axis.xaxis.set_major_formatter(lambda steps, _: step_label(steps))


def _log_scale(axis: Any) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_xscale("log")
    low, high = axis.get_xlim()
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axis.xaxis.set_minor_formatter(NullFormatter())


def curve_axis(curve: Curve, x: str) -> Floats:
    """[k] horizontal positions of the evaluations: training steps, or means over runs."""
    if x == "train":
        return curve.steps.astype(np.float64)
    if x == "env":
        return mean_over_runs(curve.env_steps)
    return mean_over_runs(curve.seconds)


def smoothing_window(curves: Sequence[Curve]) -> int:
    """The number of evaluations that a figure of these curves is smoothed over.

    It is 1, which leaves them as they are, if none of them has ten evaluations.
    """
    most = max(len(curve.steps) for curve in curves)
    return SMOOTHING_WINDOW if most >= FEWEST_SMOOTHED else 1


def band_label(curves: Sequence[Curve], band: str = "± 1 SE over runs") -> str:
    """What the lines and bands of a figure show, for its axis or caption."""
    over = smoothing_window(curves)
    return f"{band}, smoothed over {over} evaluations" if over > 1 else band


def mean_curve(curve: Curve, over: int = SMOOTHING_WINDOW) -> tuple[Floats, Floats]:
    """([k] mean, [k] standard error) over runs of the smoothed curves; NaN without a value."""
    heights = smooth(curve.performance, over)
    error = np.array([standard_error(column, curve.pools) for column in heights.T])
    return mean_over_runs(heights), error


class Pair(NamedTuple):
    """Our number and the paper's."""

    label: str
    ours: Interval | None
    theirs: Interval | None


def draw_intervals(panels: Mapping[str, Sequence[Pair]], path: Path, x_label: str) -> None:
    """Draw means with 95% intervals: a row per label, ours filled, the paper's hollow."""
    names = [row.label for row in next(iter(panels.values()))]
    size = (1.6 + 1.75 * len(panels), 0.8 + 0.3 * len(names))
    with new_figure(path, size, 1, len(panels), sharey=True) as (figure, axes):
        lines = line_styles(names)
        for axis, (title, rows) in zip(axes[0], panels.items(), strict=True):
            for i, row in enumerate(rows):
                color = lines[row.label].color
                _interval(axis, row.ours, i - 0.13, color, "o", color)
                _interval(axis, row.theirs, i + 0.17, color, "s", "white")
            axis.set(title=title, xlabel=x_label, yticks=range(len(names)), yticklabels=names)
            axis.grid(axis="y", visible=False)
        axes[0][0].invert_yaxis()
        _ours_and_theirs(figure, axes[0][0])


def draw_ablation(
    panels: Mapping[str, Sequence[tuple[float, Pair]]], path: Path, x_label: str
) -> None:
    """Draw performance against a setting: a panel per step, ours filled, the paper's hollow.

    Values are evenly spaced, whatever their distance.
    """
    with new_figure(path, (2.4 * len(panels) + 0.5, 2.8), 1, len(panels), sharey=True) as (
        figure,
        axes,
    ):
        for axis, (title, rows) in zip(axes[0], panels.items(), strict=True):
            ours = [(i - 0.07, row.ours) for i, (_, row) in enumerate(rows)]
            theirs = [(i + 0.07, row.theirs) for i, (_, row) in enumerate(rows)]
            _against_setting(axis, theirs, "#555555", "s", "white", DASHED)
            _against_setting(axis, ours, VERMILLION, "o", VERMILLION, SOLID)
            ticks = [f"{value:g}" for value, _ in rows]
            axis.set(title=title, xlabel=x_label, xticks=range(len(ticks)), xticklabels=ticks)
        axes[0][0].set(ylabel="mean return over the pool", ylim=(0, None))
        _ours_and_theirs(figure, axes[0][0])


def _against_setting(
    axis: Any,
    rows: Sequence[tuple[float, Interval | None]],
    color: str,
    marker: str,
    fill: str,
    dash: Any,
) -> None:
    shown = [(value, interval) for value, interval in rows if interval is not None]
    if not shown:
        return
    axis.errorbar(
        [value for value, _ in shown],
        [interval.mean for _, interval in shown],
        yerr=np.nan_to_num([interval.half_width for _, interval in shown]),
        color=color,
        linestyle=dash,
        linewidth=1.1,
        marker=marker,
        markersize=5,
        mfc=fill,
        elinewidth=1.1,
    )


def _interval(
    axis: Any, shown: Interval | None, y: float, color: str, marker: str, fill: str
) -> None:
    if shown is None or np.isnan(shown.mean):
        return
    width = [np.nan_to_num(shown.half_width)]
    axis.errorbar(
        [shown.mean], [y], xerr=width, color=color, marker=marker, markersize=5, mfc=fill, lw=1.3
    )


def _ours_and_theirs(figure: Any, axis: Any) -> None:
    gray = "#555555"
    handles = [
        *axis.plot([], [], "o", color=gray, markersize=5),
        *axis.plot([], [], "s", color=gray, mfc="white", markersize=5),
    ]
    figure.legend(
        handles, ["ours", "the paper"], loc="outside lower center", ncols=2, handlelength=1
    )


def _last(mean: Floats) -> float:
    """The last point of a drawn curve, which sorts legends; curves without one come last."""
    return float(np.nan_to_num(mean[-1], nan=-np.inf))
