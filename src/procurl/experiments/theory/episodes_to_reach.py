"""How many episodes each strategy needs to train each simulated learner, as one table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.statistics import mean_interval
from procurl.experiments.analysis.tables import Table
from procurl.internals.arrays import Floats
from procurl.strategies.registry import make_strategy
from procurl.strategies.strategy import Strategy
from procurl.theory.learners import AbstractLearner, Learner, ReinforceLearner
from procurl.theory.simulation import Simulation, episodes_to_reach, simulate

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
    cap: float = 1.0  # p* of every other task; the rest have 1
    assumed_cap: float = 1.0  # p* of the capped tasks as ProCuRL knows it

    def p_star(self, n: int) -> Floats:
        """[n] the success that each task can reach."""
        return _every_other(n, self.cap)

    def p(self, n: int, seeds: Sequence[int]) -> Floats:
        """[seeds, n] success before training."""
        shares = [self.draw(np.random.default_rng([seed, 2]), n) for seed in seeds]
        return np.stack(shares) * self.p_star(n)


def _uniform(rng: np.random.Generator, n: int) -> Floats:
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
    Start("mixed", _uniform, loose=0.25),
    Start("mostly hard", lambda rng, n: 0.01 + 0.98 * rng.beta(1.0, 8.0, n), loose=0.45),
    Start("mostly easy", lambda rng, n: 0.01 + 0.98 * rng.beta(6.0, 3.0, n), loose=0.2),
    Start("half capped", _uniform, loose=0.2, cap=0.3, assumed_cap=0.3),
    Start("caps unknown", _uniform, loose=0.2, cap=0.3),
)


class Comparison(NamedTuple):
    """Every strategy on one learner and one start."""

    learner: str
    start: Start
    training: dict[str, Simulation]  # by strategy


def compare_strategies(
    seeds: Sequence[int], *, episodes: int = EPISODES, tasks: int = TASKS
) -> Iterator[Comparison]:
    """Train every learner from every start under every strategy, one comparison at a time."""
    for name, learner in LEARNERS.items():
        for start in STARTS:
            p, p_star = start.p(tasks, seeds), start.p_star(tasks)
            training = {
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
            yield Comparison(name, start, training)


def strategy_for(name: str, start: Start, n: int) -> Strategy:
    """The strategy with its default settings, but for the p* that ProCuRL's equation asks for."""
    if name.startswith("procurl-"):
        return make_strategy(name, p_star=_every_other(n, start.assumed_cap))
    return make_strategy(name)


def hard_against_procurl(comparison: Comparison, epsilon: float) -> str:
    """Whether Hard needs fewer or more episodes than ProCuRL, compared seed by seed.

    A difference whose 95% interval includes 0 counts as level. Runs that never reach ε count as if
    they reached it with their last episode, which favors them.
    """
    steps = {name: _within_budget(run, epsilon) for name, run in comparison.training.items()}
    mean, width, _ = mean_interval(steps["hard"] - steps["procurl-val"])
    if abs(mean) <= np.nan_to_num(width):
        return "level"
    return "faster" if mean < 0 else "slower"


def cells(comparison: Comparison, epsilon: float) -> list[str]:
    """Learner, start, ε, one 'mean ± interval' per strategy, and how Hard compares with ProCuRL.

    If a seed never reaches ε, the cell holds a lower bound: the mean with that seed counted at the
    full budget. A star marks the lowest mean among strategies whose seeds all reach ε.
    """
    row, means = [], []
    for run in comparison.training.values():
        steps = _within_budget(run, epsilon)
        mean, width, _ = mean_interval(steps)
        missed = np.isinf(episodes_to_reach(run, epsilon)).any()
        means.append(np.inf if missed else mean)
        row.append(f"> {mean:.0f}" if missed else f"{mean:.0f} ± {np.nan_to_num(width):.0f}")
    if np.isfinite(min(means)):
        row[int(np.argmin(means))] += " *"
    head = [comparison.learner, comparison.start.name, f"{epsilon:g}"]
    return [*head, *row, hard_against_procurl(comparison, epsilon)]


def episodes_table(comparisons: Sequence[Comparison]) -> Table:
    """The episodes to reach ε, a row per learner, start and ε."""
    head = ("learner", "start", "ε", *comparisons[0].training, "hard is")
    rows = (
        tuple(cells(comparison, epsilon))
        for comparison in comparisons
        for epsilon in (comparison.start.loose, comparison.start.tight)
    )
    return Table(head, tuple(rows))


def _within_budget(training: Simulation, epsilon: float) -> Floats:
    """[seeds] episodes to reach ε, at most all that were played."""
    steps: Floats = np.minimum(
        episodes_to_reach(training, epsilon), training.performance.shape[1] - 1
    )
    return steps
