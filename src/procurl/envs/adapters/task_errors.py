"""What goes wrong while an environment plays a task, with the task and the remedy."""

import logging
import math
import textwrap
import traceback
from typing import Any
from weakref import WeakSet

from procurl.tasks.pool import TaskPool

LONG_EPISODE = 30_000  # steps without an end after which a user is warned
LONGEST_EPISODE = 300_000  # steps after which an evaluation stops waiting for the end
NOTE = "TaskEnv: "  # how a note of `add_task` begins
SHOWN = 100  # characters of a task
log = logging.getLogger(__name__)
_warned_of: WeakSet[TaskPool] = WeakSet()  # pools with an episode that did not end


def describe_task(pool: TaskPool, task: int) -> str:
    """A task for a message: its id and what it is.

    >>> describe_task(TaskPool([[0.5, 2.0]], names=["length", "mass"]), 0)
    'task 0 (length=0.5, mass=2)'
    """
    if pool.contexts is not None:
        names = zip(pool.names, pool.contexts[task], strict=True)
        content = ", ".join(f"{name}={value:g}" for name, value in names)
    elif pool.seeds is not None:
        content = f"seed {pool.seeds[task]}"
    else:
        content = repr(pool[task])
    return f"task {task} ({textwrap.shorten(content, SHOWN, placeholder='…')})"


def add_task(error: Exception, pool: TaskPool, task: int, step: int) -> None:
    """Add a note to an error of the environment: where it occurred, and what to do.

    Args:
        error: raised by the environment.
        pool: the tasks.
        task: id of the task that was played.
        step: of the episode, from 1; 0 is the reset.
    """
    place = f"step {step}" if step else "the reset"
    remedy = (
        f"repeat it with env.reset(options={{'task': {task}}}), and fix the environment or leave "
        "the task out of the pool"
    )
    if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
        remedy = (
            "define reset(self, *, seed=None, options=None) in the environment, or pass TaskEnv a "
            "function set_task(env, task)"
        )
    error.add_note(f"{NOTE}in {place} of {describe_task(pool, task)}; {remedy}")


def environment_error(error: BaseException) -> ValueError | None:
    """An error that an environment raised while it played a task, in one line; None for others."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(NOTE)]
    if not notes:
        return None
    frames = traceback.extract_tb(error.__traceback__)
    line = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    message = str(error).strip().partition("\n")[0]
    where = notes[0].removeprefix(NOTE)
    return ValueError(f"the environment raised {type(error).__name__}: {message}{line}, {where}")


def finite_reward(reward: Any, pool: TaskPool, task: int, step: int) -> float:
    """The reward as a number; raises if it is not a finite one."""
    try:
        number = float(reward)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the reward must be a number, got {reward!r} in step {step} of "
            f"{describe_task(pool, task)}"
        ) from error
    if not math.isfinite(number):
        raise ValueError(
            f"the reward must be finite, got {number} in step {step} of "
            f"{describe_task(pool, task)}: fix the environment or leave the task out of the pool"
        )
    return number


def warn_of_long_episode(pool: TaskPool, task: int, step: int) -> None:
    """Log that an episode does not end, once for all environments that play this pool."""
    if pool in _warned_of:
        return
    _warned_of.add(pool)
    log.warning(
        "an episode has not ended after %s steps, on %s: the curriculum learns nothing from it "
        "until it does, and evaluations wait for it. Wrap the environment in "
        "gymnasium.wrappers.TimeLimit inside TaskEnv.",
        f"{step:,}",
        describe_task(pool, task),
    )


def endless_error(pool: TaskPool, task: int, steps: int) -> ValueError:
    """The error for an episode of an evaluation or rollout that has not ended after `steps`."""
    return ValueError(
        f"an episode of an evaluation or rollout has not ended after {steps:,} steps, on "
        f"{describe_task(pool, task)}: wrap the environment in gymnasium.wrappers.TimeLimit inside "
        "TaskEnv"
    )
