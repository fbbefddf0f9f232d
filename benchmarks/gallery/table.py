"""Where a curriculum helps and where it hurts: areas against `iid`, and calibration."""

from collections.abc import Mapping, Sequence

import numpy as np

from gallery.problem import Problem, Run
from gallery.sweep import Job
from procurl.experiments import area_under_curve, mean_interval
from procurl.experiments.analysis.statistics import Interval
from procurl.experiments.analysis.tables import Table

BASELINE = "iid"
TARGET = 0.15  # of the calibration

Runs = Mapping[Job, Run]


def comparison(problems: Sequence[Problem], runs: Runs) -> Table:
    """One line per problem and strategy.

    The area is the mean height of the learning curve, that is, of the mean success over the pool.
    Differences are paired by seed. Calibration is the mean over the pool of the difference between
    estimated and achieved success, in the second half of training.
    """
    area = ("area", f"minus {BASELINE}", "verdict")
    head = ("problem", "role", "strategy", "seeds", *area, "calibration", f"at most {TARGET}")
    return Table(
        head,
        tuple(
            _line(problem, strategy, runs)
            for problem in problems
            for strategy in problem.contenders
            if any(job[:2] == (problem.name, strategy) for job in runs)
        ),
    )


def summary(problems: Sequence[Problem], runs: Runs) -> str:
    """How often each strategy helps and hurts, and where calibration misses its target."""
    lines = []
    strategies = dict.fromkeys(name for problem in problems for name in problem.contenders)
    for strategy in strategies:
        found: dict[str, list[str]] = {}
        for problem in problems:
            difference = _difference(problem.name, strategy, runs)
            if strategy != BASELINE and not np.isnan(difference.half_width):
                found.setdefault(verdict(difference), []).append(problem.name)
        parts = [f"{word} on {', '.join(names)}" for word, names in sorted(found.items())]
        if parts:
            lines.append(f"{strategy}: {'; '.join(parts)}")
    for problem in problems:
        for strategy in problem.calibrated:
            error = _calibration(problem.name, strategy, runs)
            if error.mean > TARGET:
                lines.append(f"{strategy} on {problem.name}: calibration {error} misses {TARGET}")
    return "\n".join(lines)


def verdict(difference: Interval) -> str:
    """What an interval of differences says: `helps`, `hurts` or `no difference`."""
    if np.isnan(difference.half_width):  # too few seeds
        return "–"
    if difference.mean - difference.half_width > 0:
        return "helps"
    return "hurts" if difference.mean + difference.half_width < 0 else "no difference"


def _line(problem: Problem, strategy: str, runs: Runs) -> tuple[str, ...]:
    area = mean_interval([*_areas(problem.name, strategy, runs).values()])
    difference = _difference(problem.name, strategy, runs)
    error = _calibration(problem.name, strategy, runs)
    bound = strategy in problem.calibrated and not np.isnan(error.mean)
    kept = ("yes" if error.mean <= TARGET else "no") if bound else ""
    against = ("", "") if strategy == BASELINE else (_signed(difference), verdict(difference))
    shown = "" if np.isnan(error.mean) else f"{error.mean:.3f}"
    cells = (problem.name, problem.role, strategy, str(area.runs), f"{area.mean:.3f}")
    return (*cells, *against, shown, kept)


def _signed(interval: Interval) -> str:
    if not interval.runs:
        return "–"
    width = "" if np.isnan(interval.half_width) else f" ± {interval.half_width:.3f}"
    return f"{interval.mean:+.3f}{width}"


def _areas(problem: str, strategy: str, runs: Runs) -> dict[int, float]:
    """The area of every seed."""
    return {
        job.seed: float(area_under_curve(run.steps, run.performance)[0])
        for job, run in runs.items()
        if (job.problem, job.strategy) == (problem, strategy)
    }


def _difference(problem: str, strategy: str, runs: Runs) -> Interval:
    """Area minus that of the baseline with the same seed."""
    ours, theirs = _areas(problem, strategy, runs), _areas(problem, BASELINE, runs)
    return mean_interval([ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()])


def _calibration(problem: str, strategy: str, runs: Runs) -> Interval:
    """The mean over the second half of each run."""
    return mean_interval(
        [
            float(np.mean(run.calibration[len(run.calibration) // 2 - 1 :]))
            for job, run in runs.items()
            if (job.problem, job.strategy) == (problem, strategy)
        ]
    )
