"""Figures of curricula and pools: the tasks played during training, and the tasks available."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.registry import make_host_env
from procurl.experiments.analysis.curve_statistics import smooth
from procurl.experiments.analysis.figures.curves import (
    COLORS,
    label_steps,
    line_styles,
    new_figure,
    point_marker,
)
from procurl.experiments.analysis.figures.legends import add_legend, legend_label, legend_size
from procurl.experiments.analysis.labels import short_name, step_label
from procurl.experiments.analysis.trends import Features, Trend, mean_trend, typical_task
from procurl.internals.arrays import Floats
from procurl.tasks.pool import TaskPool

POINTS = 120  # along training
Image = NDArray[np.uint8]  # [height, width, 3]


def draw_curriculum(
    found: Sequence[Trend],
    features: Features,
    path: Path,
    pictures: Mapping[str, Image] | None = None,
) -> None:
    """Draw the features of the picked tasks against training steps, a panel per feature.

    Lines are means over runs ± 1 standard error, smoothed like learning curves.

    Args:
        found: trends of all contenders, at least one.
        features: of the pool; constant features are left out.
        path: of the files.
        pictures: of tasks, drawn below the panels, keyed by caption.
    """
    shown = [j for j, column in enumerate(features.values.T) if np.ptp(column) > 0]
    wide = 2.15 * max(len(shown), 2)
    labels = list(dict.fromkeys(trend.label for trend in found))
    legend = legend_size(labels, wide)
    heights = [2.3 + legend.height] + ([_height_of(pictures, wide)] if pictures else [])
    with new_figure(path, (wide, sum(heights)), rows=0) as (figure, _):
        parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)
        axes = parts[0][0].subplots(1, len(shown), squeeze=False)[0]
        _draw_features(axes, found, features, labels, shown)
        add_legend(parts[0][0], axes[0], loc="outside upper center", ncols=legend.columns)
        if pictures:
            _draw_pictures(parts[1][0], pictures)


def typical_pictures(
    found: Sequence[Trend], features: Features, env: str, pool: TaskPool, steps: Sequence[int]
) -> dict[str, Image]:
    """A picture of a typical task at each step, keyed by caption."""
    dynamics = make_host_env(env)
    pool = dynamics.fit_pool(pool)
    pictures = {}
    for step in steps:
        task = typical_task(found, step, features)
        state = dynamics.initial(dynamics.context_of(pool[task])[None])
        pictures[f"played at {step_label(step)}"] = dynamics.draw([state])
    return pictures


def draw_pools(pools: Mapping[str, TaskPool], path: Path) -> None:
    """Draw the tasks of several pools: two context variables as a map, the third as color.

    Histograms of both variables are drawn above and to the right of each map.
    """
    first = next(iter(pools.values()))
    assert first.contexts is not None
    every = np.concatenate([pool.contexts for pool in pools.values() if pool.contexts is not None])
    low, high = every.min(axis=0), every.max(axis=0)
    k = len(pools)
    with new_figure(path, (3.3 * k + 0.7, 3.4), rows=0) as (figure, _):
        grid = figure.add_gridspec(
            2, 2 * k + 1, width_ratios=[4, 1] * k + [0.18], height_ratios=(1, 4)
        )
        for i, (title, pool) in enumerate(pools.items()):
            assert pool.contexts is not None
            above = figure.add_subplot(grid[0, 2 * i], title=f"{title}: {len(pool)} tasks")
            middle = figure.add_subplot(grid[1, 2 * i], sharex=above)
            right = figure.add_subplot(grid[1, 2 * i + 1], sharey=middle)
            dots = _draw_pool((above, middle, right), pool, low, high, COLORS[i % len(COLORS)])
        if len(first.names) > 2:
            bar = figure.colorbar(dots, cax=figure.add_subplot(grid[1, 2 * k]))
            bar.set_label(_words(first.names[2]))


def _draw_pool(axes: Any, pool: TaskPool, low: Floats, high: Floats, color: str) -> Any:
    """Draw a map with its two histograms and return the map's dots."""
    above, middle, right = axes
    assert pool.contexts is not None
    x, y, last = pool.contexts[:, 0], pool.contexts[:, 1], pool.contexts[:, -1]
    dots = middle.scatter(
        x, y, c=last, cmap="cividis", s=16, vmin=low[-1], vmax=high[-1], edgecolor="white", lw=0.3
    )
    middle.set(xlabel=_words(pool.names[0]), ylabel=_words(pool.names[1]))
    bins_x, bins_y = (np.linspace(low[j], high[j], 17) for j in (0, 1))
    above.hist(x, bins_x, color=color, alpha=0.8)
    right.hist(y, bins_y, color=color, alpha=0.8, orientation="horizontal")
    above.set_ylabel("tasks")
    right.set_xlabel("tasks")
    above.tick_params(labelbottom=False)
    right.tick_params(labelleft=False)
    for axis in (above, right):
        axis.grid(visible=False)
    return dots


def _draw_features(
    axes: Any,
    found: Sequence[Trend],
    features: Features,
    labels: Sequence[str],
    shown: Sequence[int],
) -> None:
    lines = line_styles(labels)
    for label in labels:
        mine = [trend for trend in found if trend.label == label]
        ends = [float(trend.steps[-1]) for trend in mine]
        steps = np.linspace(min(float(trend.steps[0]) for trend in mine), max(ends), POINTS)
        mean, error = mean_trend(mine, steps)
        mean = smooth(mean.T).T
        color, dash = lines[label]
        for axis, j in zip(axes, shown, strict=True):
            line, width = mean[:, j], error[:, j]
            name = legend_label(label)
            style = {"color": color, "linestyle": dash, "linewidth": 1.4}
            axis.plot(steps, line, **style, marker=point_marker(steps), label=name)
            axis.fill_between(steps, line - width, line + width, color=color, alpha=0.18, lw=0)
    axes[0].set_ylabel("mean of the tasks played\n(± 1 SE over runs, smoothed)")
    for axis, j in zip(axes, shown, strict=True):
        axis.set(title=_words(features.names[j]), xlabel="training steps")
        label_steps(axis)
        # Show at least one standard deviation of the pool, so that random changes look small.
        column = features.values[:, j]
        reach = column.mean() + column.std() / 2 * np.array([-1.0, 1.0])
        wanted = np.clip(reach, column.min(), column.max())
        low, high = axis.get_ylim()
        axis.set_ylim(min(low, wanted[0]), max(high, wanted[1]))


def _draw_pictures(part: Any, pictures: Mapping[str, Image]) -> None:
    axes = part.subplots(1, len(pictures), squeeze=False)[0]
    for axis, (caption, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture, interpolation="lanczos")
        axis.set_title(caption, fontsize=8.5)
        axis.set_axis_off()


def _height_of(pictures: Mapping[str, Image], wide: float) -> float:
    """Height in inches of a row of pictures with captions."""
    height, width = next(iter(pictures.values())).shape[:2]
    return float(0.95 * wide / len(pictures) * height / width + 0.35)


def _words(name: str) -> str:
    """`gate_width` as two words; underscores at the ends stay."""
    return short_name(re.sub(r"(?<=[^\W_])_(?=[^\W_])", " ", name))
