"""How long the runs of an entry take on this machine, from measured rates."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from procurl.envs.registry import make_host_env
from procurl.experiments.paper.published import published_number
from procurl.experiments.paper.sweeps import Sweep
from procurl.experiments.presets import paper_strategy
from procurl.internals.hardware import cores as usable_cores
from procurl.records.experiment import Contender

PAPER_STEPS = 1_000_000  # at which the paper counts environment steps


class Rate(NamedTuple):
    """Steps per second on one core."""

    training: float
    rollouts: float  # the teacher's own episodes


# Printed by benchmarks/paper_rates.py, see docs/paper.md. Others were not measured.
RATES: Mapping[tuple[str, str], Rate] = {
    ("pointmass-s", "jax"): Rate(69_700, 535_000),
    ("pointmass-d", "jax"): Rate(69_300, 429_000),
    ("basickarel", "jax"): Rate(3_920, 172_000),
    ("ballcatching", "jax"): Rate(2_790, 22_700),
    ("antgoal", "jax"): Rate(784, 2_650),
}


def estimate(needs: Iterable[tuple[Sweep, Iterable[str], int]], cores: int | None = None) -> float:
    """Seconds for all runs on this machine's cores, NaN if a rate is unknown.

    Args:
        needs: sweeps with their contenders and number of seeds.
        cores: to use; by default those that this process may use.
    """
    cores = cores or usable_cores()
    total = 0.0
    for sweep, contenders, seeds in needs:
        rate = RATES.get((sweep.env, sweep.engine))
        if rate is None:
            return math.nan
        for contender in contenders:
            teacher = teacher_steps(sweep, contender)
            total += seeds * (sweep.steps / rate.training + teacher / rate.rollouts)
    return total / cores


def teacher_steps(sweep: Sweep, contender: str) -> float:
    """Environment steps that a run's teacher is expected to take.

    Uses the paper's count if it has one, otherwise episodes that last until the horizon.
    """
    name = Contender.parse(contender)
    made = paper_strategy(sweep.env, name.strategy, **name.settings())
    strategy = made.for_training(sweep.steps)
    plan = strategy.rollout_plan()
    if plan is None:
        return 0.0
    counted = published_number("metrics", sweep.env, name.strategy, PAPER_STEPS, "env_steps").mean
    if not math.isnan(counted):
        return (counted - PAPER_STEPS) * sweep.steps / PAPER_STEPS
    if plan.budget is not None:
        return float((plan.budget - 1) * sweep.steps)
    episodes = plan.episodes * plan.tasks_of(len(sweep.training_pools()[0]))
    refreshes = sweep.steps / (strategy.refresh_every or 1)
    return float(refreshes * episodes * make_host_env(sweep.env).horizon)


def duration(seconds: float) -> str:
    """An approximate duration in words.

    >>> duration(5400.0)
    '1.5 hours'
    """
    if math.isnan(seconds):
        return "not measured"
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * unit:
            count = seconds / unit
            return f"{count:.0f} {name}" if count >= 10 else f"{count:.1f} {name}"
    return f"{seconds:.0f} seconds"
