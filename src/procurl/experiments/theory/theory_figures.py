"""Pictures of the theorems and of the simulated learners, as PNG files (extra `report`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from procurl.experiments.theory.episodes_to_reach import Comparison
from procurl.theory.learners import AbstractLearner, Learner, ReinforceLearner

# Okabe and Ito's colors, told apart by color-blind readers; line styles tell them apart in gray.
STRATEGY_LINES: dict[str, tuple[str, Any]] = {
    "procurl-val": ("#0072B2", "-"),
    "procurl-argmax": ("#56B4E9", (0, (5, 1.5))),
    "iid": ("#000000", (0, (1, 1.2))),
    "easy": ("#E69F00", (0, (6, 1.5, 1, 1.5))),
    "hard": ("#D55E00", (0, (3, 1, 1, 1, 1, 1))),
}
TARGET_COLORS = {0.4: "#CC79A7", 0.6: "#E69F00", 0.8: "#009E73", 1.0: "#0072B2"}
IMPROVEMENT_PANELS: tuple[tuple[str, Learner], ...] = (
    ("Theorem 1: REINFORCE, η = 0.5\nC = 2η·p·(1 − p/p*)", ReinforceLearner(eta=0.5)),
    ("Theorem 2: abstract, α = 1, β = 0\nC = p·(p* − p)", AbstractLearner(alpha=1.0, beta=0.0)),
    (
        "Theorem 2: abstract, α = 1, β = 0.3\nC = (p + 0.3·(1 − p))·(p* − p)",
        AbstractLearner(alpha=1.0, beta=0.3),
    ),
)
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
}


def improvement_figure(path: Path) -> None:
    """Draw the expected improvement against p for several p*: closed form and enumeration."""
    with _page(path, 1, len(IMPROVEMENT_PANELS), size=(8.6, 3.3)) as (figure, axes):
        for axis, (title, learner) in zip(axes[0], IMPROVEMENT_PANELS, strict=True):
            for p_star, color in TARGET_COLORS.items():
                _draw_improvement(axis, learner, p_star, color)
            axis.set(title=title, xlabel="probability of success p", xlim=(0, 1), ylim=(0, None))
        axes[0][0].set_ylabel("expected improvement C")
        lines, labels = axes[0][0].get_legend_handles_labels()
        lines += axes[0][0].plot([], [], "o", color="#555555", markersize=3.5)
        lines += axes[0][0].plot([], [], "D", mfc="white", mec="#555555", markersize=6)
        labels += ["enumeration", "best p"]
        figure.legend(lines, labels, loc="outside lower center", ncols=len(labels))


def learning_figure(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Draw mean performance ± 1 standard error against episodes, a panel per comparison."""
    learners = list(dict.fromkeys(comparison.learner for comparison in comparisons))
    starts = list(dict.fromkeys(comparison.start.name for comparison in comparisons))
    shape = len(learners), len(starts)
    size = (2.1 * len(starts) + 0.6, 1.8 * len(learners) + 0.7)
    with _page(path, *shape, size, sharex=True, sharey="col") as (figure, axes):
        for comparison in comparisons:
            row, column = learners.index(comparison.learner), starts.index(comparison.start.name)
            _draw_learning(axes[row][column], comparison)
        for axis, start in zip(axes[0], starts, strict=True):
            axis.set_title(f"start: {start}")
        for axis, learner in zip(axes[:, 0], learners, strict=True):
            axis.set_ylabel(f"{learner}\nmean p")
        for axis in axes[-1]:
            axis.set_xlabel("episodes")
        lines, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=len(labels))


def _draw_improvement(axis: Any, learner: Learner, p_star: float, color: str) -> None:
    """Draw one curve: the closed form as a line, enumeration as dots, the best p as a diamond."""
    p = np.linspace(0.0, p_star, 401)
    curve = learner.closed_form(p, p_star)
    axis.plot(p, curve, color=color, label=f"p* = {p_star:g}")
    some = np.arange(0.05, p_star - 0.01, 0.1)
    exact = learner.expected_improvement(
        learner.knowledge(some, p_star), np.full(len(some), p_star)
    )
    axis.plot(some, exact, "o", color=color, markersize=3.5)
    best = int(np.argmax(curve))
    axis.plot(p[best], curve[best], "D", mfc="white", mec=color, markersize=6, clip_on=False)


def _draw_learning(axis: Any, comparison: Comparison) -> None:
    for strategy, trained in comparison.trained.items():
        color, line = STRATEGY_LINES[strategy]
        runs, points = trained.performance.shape
        episodes = np.arange(points)
        mean = trained.performance.mean(axis=0)
        error = trained.performance.std(axis=0, ddof=min(1, runs - 1)) / np.sqrt(runs)
        axis.plot(episodes, mean, color=color, linestyle=line, linewidth=1.4, label=strategy)
        axis.fill_between(episodes, mean - error, mean + error, color=color, alpha=0.2, lw=0)
        best = float(trained.best.mean())
    axis.axhline(best, color="#999999", linewidth=0.8)
    axis.set_xlim(0, points - 1)


@contextmanager
def _page(
    path: Path, rows: int, columns: int, size: tuple[float, float], **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Give (figure, axes `[rows][columns]`) in the common style and write it to `path` at the end.

    Raises ImportError where Matplotlib is missing.
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
        yield figure, figure.subplots(rows, columns, squeeze=False, **options)
        figure.savefig(path, dpi=140, pil_kwargs={"optimize": True})
