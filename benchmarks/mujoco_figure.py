"""Plot the results of `mujoco_learning.py`, one panel per environment.

    python benchmarks/mujoco_figure.py docs/results/mujoco/h200.csv docs/figures/mujoco_h200

Means with a band of one standard error over seeds, not smoothed.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from procurl.experiments.analysis.figures.curves import COLORS

Points = dict[int, list[float]]  # performance of every seed by step


def read(path: Path) -> dict[str, dict[str, Points]]:
    """Performance by environment and strategy."""
    found: dict[str, dict[str, Points]] = defaultdict(lambda: defaultdict(dict))
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            points = found[row["env"]][row["strategy"]]
            points.setdefault(int(row["step"]), []).append(float(row["performance"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("out", type=Path, help="without an ending")
    given = parser.parse_args()
    found = read(given.records)
    figure = Figure(figsize=(4.2 * len(found), 3.2), layout="constrained")
    for axes, (env, by_strategy) in zip(
        figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True
    ):
        for color, (strategy, points) in zip(COLORS, by_strategy.items(), strict=False):
            steps = np.array(sorted(points)) / 1e6
            runs = [np.asarray(points[step]) for step in sorted(points)]
            mean = np.array([values.mean() for values in runs])
            error = np.array([values.std(ddof=1) / np.sqrt(len(values)) for values in runs])
            axes.plot(steps, mean, color=color, label=f"{strategy}, {len(runs[0])} runs")
            axes.fill_between(steps, mean - error, mean + error, color=color, alpha=0.2, lw=0)
        axes.set(title=env, xlabel="training steps (millions)", ylabel="mean return over the pool")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    for ending in ("png", "svg"):
        figure.savefig(given.out.with_suffix(f".{ending}"), dpi=150)


if __name__ == "__main__":
    main()
