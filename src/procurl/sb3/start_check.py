"""Warnings when training starts, about an environment that gives a curriculum nothing to work with.

They come from a copy of the environment and from observations that were recorded anyway, so they
change no number of a run.
"""

import logging

import numpy as np

from procurl.envs.checking.at_start import start_warnings
from procurl.envs.checking.player import digest
from procurl.envs.checking.student_spaces import shifted_spaces
from procurl.sb3.envs.observations import Observations, rows
from procurl.sb3.teacher import ModelTeacher

log = logging.getLogger(__name__)


def warn_at_start(teacher: ModelTeacher) -> None:
    """Log what would make training with this teacher pointless."""
    env = teacher.workers.env
    for message in env.env_method("on_copy", start_warnings, indices=0)[0] or ():
        log.warning("%s", message)
    for shifted in shifted_spaces(env.observation_space, env.action_space):
        log.warning("%s. %s.", *shifted)
    if teacher.values is None or "values" not in teacher.strategy.needs:
        return
    n = len(teacher.workers.pool)
    distinct = _count_distinct(teacher.values.observations, n, teacher.values.reset_samples)
    if 2 * distinct <= n:
        log.warning(
            "only %d of %d tasks differ in their first observation, and the critic gives equal "
            "values to the others. Add the task to the observation, or use a strategy that needs "
            "no critic, such as procurl.",
            distinct,
            n,
        )


def _count_distinct(starts: Observations, n: int, samples: int) -> int:
    """The number of different first observations; `starts` [n·samples] are in order of tasks."""
    first = (rows(starts, slice(task * samples, task * samples + 1)) for task in range(n))
    return len(np.unique(np.array([digest(each) for each in first], dtype="S16")))
