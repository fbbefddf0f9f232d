"""Groups with a signal: how often the rewards of one prompt's completions differ."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from procurl.experiments.analysis.curves import Curve, learning_curves
from procurl.experiments.analysis.figures.curves import (
    CURVES_SIZE,
    band_label,
    new_figure,
    plot_curves,
)
from procurl.experiments.analysis.figures.legends import add_legend, place_legend
from procurl.experiments.analysis.labels import short_name
from procurl.records.results import Results


def signal_curves(results: Results) -> list[Curve]:
    """One curve per contender: the share of groups with a signal in place of performance.

    Empty if the students do not learn from groups.
    """
    found = {
        run: [at._replace(performance=at.signal) for at in evaluations if at.signal is not None]
        for run, evaluations in results.evaluations.items()
    }
    return learning_curves(replace(results, evaluations=found))


def draw_signal(curves: Sequence[Curve], path: Path, title: str = "") -> None:
    """Draw the shares of `signal_curves` against samples, means ± 1 standard error."""
    legend = place_legend([curve.label for curve in curves], CURVES_SIZE)
    with new_figure(path, legend.size) as (figure, axes):
        plot_curves(axes[0][0], curves)
        label = f"share of groups with a signal\n({band_label(curves)})"
        axes[0][0].set(xlabel="samples", ylabel=label, ylim=(0, 1))
        axes[0][0].set_title(short_name(title))
        add_legend(figure, axes[0][0], **legend.options)
