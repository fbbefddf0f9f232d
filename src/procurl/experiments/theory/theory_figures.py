"""Figures of the theorems and of the simulated learners (extra `report`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from procurl.experiments.analysis.figures.curves import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    line_styles,
    new_figure,
)
from procurl.experiments.analysis.figures.legends import add_legend, legend_label
from procurl.experiments.theory.episodes_to_reach import Comparison
from procurl.theory.learners import AbstractLearner, Learner, ReinforceLearner

P_STARS: Mapping[float, str] = {0.4: PURPLE, 0.6: ORANGE, 0.8: GREEN, 1.0: BLUE}  # with colors
THEOREMS: Mapping[str, Learner] = {
    "Theorem 1: REINFORCE, η = 0.5\nC = 2η·p·(1 − p/p*)": ReinforceLearner(eta=0.5),
    "Theorem 2: abstract, α = 1, β = 0\nC = p·(p* − p)": AbstractLearner(alpha=1.0, beta=0.0),
    "Theorem 2: abstract, α = 1, β = 0.3\nC = (p + 0.3·(1 − p))·(p* − p)": AbstractLearner(
        alpha=1.0, beta=0.3
    ),
}


def draw_improvement(path: Path, learners: Mapping[str, Learner] = THEOREMS) -> None:
    """Draw the expected improvement against p for several p*: closed form and enumeration.

    Args:
        path: of the files, written as PNG and SVG.
        learners: one panel each, by its title.
    """
    with new_figure(path, (3.1 * len(learners) + 1.0, 3.0), 1, len(learners)) as (figure, axes):
        for axis, (title, learner) in zip(axes[0], learners.items(), strict=True):
            for p_star, color in P_STARS.items():
                _draw_improvement(axis, learner, p_star, color)
            axis.set(title=title, xlabel="probability of success p", xlim=(0, 1), ylim=(0, None))
        axes[0][0].set_ylabel("expected improvement C")
        add_legend(figure, axes[0][0], loc="outside right upper")


def draw_learning(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Draw mean performance ± 1 standard error against episodes, a panel per comparison."""
    learners = list(dict.fromkeys(comparison.learner for comparison in comparisons))
    starts = list(dict.fromkeys(comparison.start.name for comparison in comparisons))
    size = (2.1 * len(starts) + 0.6, 1.8 * len(learners) + 0.7)
    shape = len(learners), len(starts)
    with new_figure(path, size, *shape, sharex=True, sharey="col") as (figure, axes):
        for comparison in comparisons:
            row, column = learners.index(comparison.learner), starts.index(comparison.start.name)
            _draw_learning(axes[row][column], comparison)
        for axis, start in zip(axes[0], starts, strict=True):
            axis.set_title(f"start: {start}")
        for axis, learner in zip(axes[:, 0], learners, strict=True):
            axis.set_ylabel(f"{learner}\nmean p")
        for axis in axes[-1]:
            axis.set_xlabel("episodes")
        strategies = len(comparisons[0].training)
        add_legend(figure, axes[0][0], loc="outside lower center", ncols=strategies)


def _draw_improvement(axis: Any, learner: Learner, p_star: float, color: str) -> None:
    """Draw one curve: the closed form as a line, enumeration as dots, the best p as a diamond."""
    p = np.linspace(0.0, p_star, 401)
    curve = learner.closed_form(p, p_star)
    axis.plot(p, curve, color=color, label=legend_label(f"p* = {p_star:g}"))
    some = np.arange(0.05, p_star - 0.01, 0.1)
    exact = learner.expected_improvement(
        learner.knowledge(some, p_star), np.full(len(some), p_star)
    )
    axis.plot(some, exact, "o", color=color, markersize=3.5)
    best = int(np.argmax(curve))
    axis.plot(p[best], curve[best], "D", mfc="white", mec=color, clip_on=False)


def _draw_learning(axis: Any, comparison: Comparison) -> None:
    lines = line_styles(list(comparison.training))
    for strategy, training in comparison.training.items():
        color, dash = lines[strategy]
        runs, points = training.performance.shape
        episodes = np.arange(points)
        mean = training.performance.mean(axis=0)
        error = training.performance.std(axis=0, ddof=min(1, runs - 1)) / np.sqrt(runs)
        label = legend_label(strategy)
        axis.plot(episodes, mean, color=color, linestyle=dash, linewidth=1.4, label=label)
        axis.fill_between(episodes, mean - error, mean + error, color=color, alpha=0.2, lw=0)
        best = float(training.best.mean())
    axis.axhline(best, color="#999999", linewidth=0.8)
    axis.set_xlim(0, points - 1)
