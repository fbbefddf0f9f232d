"""How many episodes each strategy needs, for several learners and starts, as one table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from procurl.strategies.registry import make_strategy
from procurl.strategies.strategy import Strategy
from procurl.theory.learners import AbstractLearner, Floats, Learner, ReinforceLearner
from procurl.theory.simulation import Training, simulate, steps_to_reach

STRATEGIES = ("procurl-val", "procurl-argmax", "iid", "easy", "hard")
TASKS = 30
EPISODES = 1500


@dataclass(frozen=True)
class Start:
    """How good a learner is before training, and how near to the best it has to come."""

    name: str
    draw: Callable[[np.random.Generator, int], Floats]  # (random numbers, n) -> [n] p/p*
    loose: float  # ε that leaves about half of the way to go
    tight: float = 0.1  # ε that leaves no room for unsolved tasks
    capped: float = 1.0  # p* of every other task; the rest have 1
    told: float = 1.0  # what ProCuRL takes for p* of the capped tasks

    def p_star(self, n: int) -> Floats:
        """[n] the success that each task can reach."""
        return _every_other(n, self.capped)

    def p(self, n: int, seeds: Sequence[int]) -> Floats:
        """[seeds, n] success before training."""
        shares = [self.draw(np.random.default_rng([seed, 2]), n) for seed in seeds]
        return np.stack(shares) * self.p_star(n)


def _mixed(rng: np.random.Generator, n: int) -> Floats:
    return rng.uniform(0.01, 0.99, n)


def _every_other(n: int, value: float) -> Floats:
    """[n] 1, value, 1, value, …"""
    return np.where(np.arange(n) % 2 == 0, 1.0, value)


LEARNERS: dict[str, Learner] = {
    "REINFORCE, η=1": ReinforceLearner(eta=1.0),
    "abstract, α=.2 β=0": AbstractLearner(alpha=0.2, beta=0.0),
    "abstract, α=.2 β=.02": AbstractLearner(alpha=0.2, beta=0.02),
}
STARTS = (
    Start("mixed", _mixed, loose=0.25),
    Start("mostly hard", lambda rng, n: 0.01 + 0.98 * rng.beta(1.0, 8.0, n), loose=0.45),
    Start("mostly easy", lambda rng, n: 0.01 + 0.98 * rng.beta(6.0, 3.0, n), loose=0.2),
    Start("half capped", _mixed, loose=0.2, capped=0.3, told=0.3),
    Start("caps unknown", _mixed, loose=0.2, capped=0.3),
)


class Comparison(NamedTuple):
    """Every strategy on one learner and one start."""

    learner: str
    start: Start
    trained: dict[str, Training]  # by strategy


def compare(
    seeds: Sequence[int], *, episodes: int = EPISODES, tasks: int = TASKS
) -> Iterator[Comparison]:
    """Train every learner from every start under every strategy, one comparison at a time."""
    for name, learner in LEARNERS.items():
        for start in STARTS:
            p, p_star = start.p(tasks, seeds), start.p_star(tasks)
            trained = {
                strategy: simulate(
                    learner,
                    strategy_for(strategy, start, tasks),
                    p,
                    p_star,
                    seeds=seeds,
                    episodes=episodes,
                )
                for strategy in STRATEGIES
            }
            yield Comparison(name, start, trained)


def strategy_for(name: str, start: Start, n: int) -> Strategy:
    """The strategy with its default settings, but for the p* that ProCuRL's equation asks for."""
    if name.startswith("procurl"):
        return make_strategy(name, p_star=_every_other(n, start.told))
    return make_strategy(name)


def interval(values: Floats) -> tuple[float, float]:
    """(mean, half the width of its 95% t interval) of independent values; 0 wide for one value."""
    from scipy.special import stdtrit

    count = len(values)
    if count == 1:
        return float(values[0]), 0.0
    width = stdtrit(count - 1, 0.975) * values.std(ddof=1) / np.sqrt(count)
    return float(values.mean()), float(width)


def hard_beside_procurl(comparison: Comparison, epsilon: float) -> str:
    """Whether Hard needs fewer or more episodes than ProCuRL, compared seed by seed.

    A difference whose 95% interval includes 0 counts as level. Runs that never get there count as
    if they did with their last episode, which is to their favor.
    """
    steps = {name: _within_budget(run, epsilon) for name, run in comparison.trained.items()}
    mean, width = interval(steps["hard"] - steps["procurl-val"])
    if abs(mean) <= width:
        return "level"
    return "faster" if mean < 0 else "slower"


def cells(comparison: Comparison, epsilon: float) -> list[str]:
    """Learner, start, ε, one 'mean ± interval' per strategy, and how Hard does beside ProCuRL.

    Where a seed never gets there, the cell holds a lower bound: its mean with the budget in place
    of the missing number. The lowest mean without misses has a star.
    """
    row, means = [], []
    for run in comparison.trained.values():
        steps = _within_budget(run, epsilon)
        mean, width = interval(steps)
        missed = np.isinf(steps_to_reach(run, epsilon)).any()
        means.append(np.inf if missed else mean)
        row.append(f"> {mean:.0f}" if missed else f"{mean:.0f} ± {width:.0f}")
    if np.isfinite(min(means)):
        row[int(np.argmin(means))] += " *"
    head = [comparison.learner, comparison.start.name, f"{epsilon:g}"]
    return [*head, *row, hard_beside_procurl(comparison, epsilon)]


def table(comparisons: Sequence[Comparison]) -> str:
    """The episodes to reach ε as an aligned Markdown table."""
    rows = [["learner", "start", "ε", *comparisons[0].trained, "hard is"]]
    for comparison in comparisons:
        for epsilon in (comparison.start.loose, comparison.start.tight):
            rows.append(cells(comparison, epsilon))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def _within_budget(training: Training, epsilon: float) -> Floats:
    """[seeds] episodes to reach ε, at most all that were played."""
    steps: Floats = np.minimum(steps_to_reach(training, epsilon), training.performance.shape[1] - 1)
    return steps
