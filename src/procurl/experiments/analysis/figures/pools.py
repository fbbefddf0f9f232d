"""The figure of the results on each pool."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from procurl.experiments.analysis.figures.curves import line_styles, new_figure
from procurl.experiments.analysis.labels import short_name, step_label
from procurl.experiments.analysis.pool_spread import PoolSpread


def draw_pool_means(rows: Sequence[PoolSpread], path: Path, env: str, step: int) -> None:
    """Draw the mean on each pool as a dot, and the mean over pools as a bar.

    Args:
        rows: a row per contender.
        path: of the figure, without a suffix.
        env: name of the environment.
        step: training steps of the means.
    """
    lines = line_styles([row.label for row in rows])
    with new_figure(path, (6.4, 0.9 + 0.28 * len(rows))) as (_, axes):
        axis = axes[0][0]
        for i, row in enumerate(rows):
            shown = row.means[~np.isnan(row.means)]
            if not shown.size:
                continue
            color = lines[row.label].color
            axis.plot(shown, np.full(len(shown), i), "o", color=color, markersize=5, alpha=0.65)
            axis.plot([shown.mean()] * 2, [i - 0.3, i + 0.3], color=color, linewidth=2)
        names = [short_name(row.label) for row in rows]
        axis.set(yticks=range(len(rows)), yticklabels=names, title=short_name(env))
        axis.set(xlabel=f"mean return at {step_label(step)}, a dot per pool, a bar for their mean")
        axis.grid(axis="y", visible=False)
        axis.invert_yaxis()
