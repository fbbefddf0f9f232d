"""Curricula alone: draw the tasks of k episodes and record their outcomes, without training.

Turns alternate between one episode at a time and 64. A turn takes a third of a second, and ends
where a period ends from one update of the distribution to the next.
"""

import contextlib
import io
import itertools
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from contenders.success_rates import SuccessRates
from turns import Turn

SIZES = (100, 10_000, 1_000_000)
BATCHES = (1, 64)
TURN = 0.3  # seconds of the processor
SYLLABUS_INTERVAL = 100  # episodes between two updates of Syllabus' learning progress
LENGTH = 50  # steps of an episode

Play = Callable[[int], None]  # k episodes


class Choice(NamedTuple):
    """A curriculum, and how often `play` is called between two updates of its distribution."""

    play: Play
    period: Callable[[int], int] = lambda k: 1  # calls, of k episodes each


class Chooser(NamedTuple):
    """One curriculum of a library."""

    name: str
    package: str
    make: Callable[[int], Choice]  # from the number of tasks


def turn_of(chooser: Chooser, n: int) -> Turn:
    """Episodes for a while; the batch size changes from turn to turn."""
    choice, batches = chooser.make(n), itertools.cycle(BATCHES)

    def turn() -> int:
        k, calls, end = next(batches), 0, time.process_time() + TURN
        with contextlib.redirect_stdout(io.StringIO()):  # a curriculum of Syllabus prints
            while time.process_time() < end or calls % choice.period(k):
                choice.play(k)
                calls += 1
        return calls * k

    return turn


def outcomes(tasks: Any) -> Any:
    """Of made-up episodes: half of the tasks are solved."""
    return np.asarray(tasks) % 2


def procurl(strategy: str, n: int) -> Choice:
    from procurl import Curriculum, TaskPool
    from procurl.curriculum.outcomes import records_per_refresh

    curriculum = Curriculum(strategy, TaskPool(np.random.default_rng(0).random((n, 3))), seed=0)

    def play(k: int) -> None:
        tasks = curriculum.next(k)
        curriculum.record(tasks, outcomes(tasks))

    return Choice(play, lambda k: records_per_refresh(n))


def by_hand(n: int) -> Choice:
    rates = SuccessRates(n)

    def play(k: int) -> None:
        for task in rates.next(k):
            rates.record(task, float(task % 2))

    return Choice(play)


def syllabus(make: Callable[[Any], Any], n: int, interval: int = 1) -> Choice:
    from syllabus.task_space import DiscreteTaskSpace

    curriculum = make(DiscreteTaskSpace(n))

    def play(k: int) -> None:
        for task in curriculum.sample(k):
            solved = float(task % 2)
            curriculum.update_task_progress(task, solved)
            curriculum.update_on_episode(solved, LENGTH, task, solved)

    return Choice(play, lambda k: interval // math.gcd(interval, k))


def syllabus_uniform(n: int) -> Choice:
    from syllabus.curricula import DomainRandomization

    return syllabus(DomainRandomization, n)


def syllabus_sequential(n: int) -> Choice:
    """Two stages; the turns stay in the first, which has half of the tasks."""
    from syllabus.curricula import SequentialCurriculum

    stages = [list(range(n // 2)), list(range(n))]
    return syllabus(lambda space: SequentialCurriculum(stages, ["episodes>1000000000"], space), n)


def syllabus_progress(n: int) -> Choice:
    from syllabus.curricula import OnlineLearningProgress

    make = partial(OnlineLearningProgress, update_interval=SYLLABUS_INTERVAL)
    return syllabus(make, n, SYLLABUS_INTERVAL)


def syllabus_plr(n: int) -> Choice:
    """The sampler inside Syllabus' prioritized level replay, with a score for every task."""
    from syllabus.curricula import TaskSampler

    sampler = TaskSampler(list(range(n)), LENGTH, replay_schedule="fixed")
    for task, score in enumerate(np.random.default_rng(0).random(n)):
        sampler.update_task_score(0, task, score, score, LENGTH)

    def play(k: int) -> None:
        for _ in range(k):
            task = sampler.sample()
            sampler.update_task_score(0, task, float(task % 2), 1.0, LENGTH)

    return Choice(play)


CHOOSERS = {
    "procurl": Chooser("procurl, `procurl`", "procurl", partial(procurl, "procurl")),
    "procurl-progress": Chooser(
        "procurl, `learning-progress`", "procurl", partial(procurl, "learning-progress")
    ),
    "procurl-iid": Chooser("procurl, `iid`", "procurl", partial(procurl, "iid")),
    "by-hand": Chooser("by hand, NumPy", "numpy", by_hand),
    "syllabus-progress": Chooser("Syllabus, OnlineLearningProgress", "syllabus", syllabus_progress),
    "syllabus-plr": Chooser("Syllabus, PLR's TaskSampler", "syllabus", syllabus_plr),
    "syllabus-sequential": Chooser(
        "Syllabus, SequentialCurriculum", "syllabus", syllabus_sequential
    ),
    "syllabus-uniform": Chooser("Syllabus, DomainRandomization", "syllabus", syllabus_uniform),
}
