"""What goes wrong while an environment plays a task, with the task and the remedy."""

import logging
import textwrap
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from procurl.envs.adapters.task_reading import columns_remedy, options_remedy
from procurl.tasks.pool import TaskPool

LONG_EPISODE = 30_000  # steps without an end after which a user is warned
LONGEST_EPISODE = 300_000  # steps after which an evaluation stops waiting for the end
END_EPISODES = (
    "return gymnasium.wrappers.TimeLimit(env, max_episode_steps=…) from the function that makes "
    "the environment, inside TaskEnv if you use it"
)
NOTE = "TaskEnv: "  # how a note of `add_task` begins
SET_TASK = "in set_task for "  # how it continues for an error of `set_task`
CALLERS = (  # files that call the methods of an environment
    Path(__file__).with_name("task_env.py"),
    Path(__file__).with_name("closing.py"),
    Path(__file__).parents[1] / "checking" / "player.py",
)
RAISED = (Exception, SystemExit)  # by an environment, of which no other error ends the process
SHOWN = 100  # characters of a task
SEARCHED = 10_000  # tasks, for one that was passed instead of its id
log = logging.getLogger(__name__)
_warned_of: set[str] = set()  # fingerprints of pools with an episode that did not end


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
    return f"task {task} ({_shorten_text(content)})"


def shorten(task: Any) -> str:
    """A task, or what was passed as one, in few characters."""
    return _shorten_text(repr(task))


def _shorten_text(text: str) -> str:
    return textwrap.shorten(text, SHOWN, placeholder="…")


def hint_of_id(pool: TaskPool, task: Any) -> str:
    """'; this is task 3: pass {"task": 3}' if `task` is itself a task of the pool; else nothing."""
    for i in range(min(len(pool), SEARCHED)):
        try:
            same = bool(np.all(pool[i] == task))
        except Exception:  # whatever objects do that cannot be compared
            same = False
        if same and np.shape(pool[i]) == np.shape(task):
            return f"; this is the content of task {i}: pass {{'task': {i}}}"
    return ""


def describe_place(pool: TaskPool, task: int, step: int) -> str:
    """Where in an episode something occurred, for a message; step 0 is the reset."""
    return f"{f'step {step}' if step else 'the reset'} of {describe_task(pool, task)}"


def add_task(
    error: BaseException, pool: TaskPool, task: int, step: int, has_set_task: bool = False
) -> None:
    """Add a note to an error of the environment: where it occurred, and what to do.

    Args:
        error: raised by the environment.
        pool: the tasks.
        task: id of the task that was played.
        step: of the episode, from 1; 0 is the reset.
        has_set_task: whether a function has set the task, in place of an argument of `reset`.
    """
    remedy = _interface_remedy(error, step)
    if not step:
        remedy = remedy or _reading_remedy(error, pool, has_set_task)
    remedy = remedy or _repeat(task)
    error.add_note(f"{NOTE}in {describe_place(pool, task, step)}; {remedy}")


def add_set_task(error: BaseException, pool: TaskPool, task: int) -> None:
    """As `add_task`, for an error of `set_task`."""
    remedy = columns_remedy(error, pool) or _repeat(task, "env, pool, set_task")
    error.add_note(f"{NOTE}{SET_TASK}{describe_task(pool, task)}; {remedy}")


class EnvironmentFailure(NamedTuple):
    """An error that an environment raised while it played a task."""

    text: str  # what was raised, with file and line, and the task
    remedy: str
    in_reset: bool = False  # which is where the environment receives the task


def environment_failure(error: BaseException) -> EnvironmentFailure | None:
    """What the notes of an error say; None if no environment raised it."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(NOTE)]
    if not notes:
        return None
    where, _, remedy = notes[0].removeprefix(NOTE).rpartition("; ")
    who = "the environment"
    if where.startswith(SET_TASK):
        who, where = "set_task", f"on {where.removeprefix(SET_TASK)}"
    text = f"{who} raised {describe_error(error)}, {where}"
    return EnvironmentFailure(text, remedy, where.startswith("in the reset"))


def describe_error(error: BaseException) -> str:
    """An error of an environment in one line: its type, message, file and line."""
    message = str(error).strip().partition("\n")[0]
    kind = type(error).__name__ + (f": {message}" if message else "")
    return f"{kind}{_line_of(error)}"


def environment_error(error: BaseException) -> ValueError | None:
    """An error that an environment raised while it played a task, in one line; None for others."""
    failure = environment_failure(error)
    return None if failure is None else ValueError(f"{failure.text}; {failure.remedy}")


def _repeat(task: int, arguments: str = "env, pool") -> str:
    return (
        f"repeat it with TaskEnv({arguments}).reset(options={{'task': {task}}}), and fix the "
        "environment or leave the task out of the pool"
    )


def _interface_remedy(error: BaseException, step: int) -> str:
    """What to do if the methods of the environment have another signature than Gymnasium's."""
    message = str(error)
    if isinstance(error, TypeError) and "reset() got an unexpected keyword" in message:
        return (
            "reset must accept seed= and options=: define reset(self, *, seed=None, options=None)"
        )
    # A wrapper of Gymnasium unpacks what the environment inside it returns.
    in_wrapper = "gymnasium" in traceback.extract_tb(error.__traceback__)[-1].filename
    if in_wrapper and "to unpack (expected 5" in message and step:
        return "step must return 5 values: observation, reward, terminated, truncated, info"
    if in_wrapper and "to unpack (expected 2" in message and not step:
        return "reset must return 2 values: observation, info"
    return ""


def _reading_remedy(error: BaseException, pool: TaskPool, has_set_task: bool) -> str:
    """What to do if `reset` reads its task in another way than it is passed."""
    columns = "" if has_set_task else columns_remedy(error, pool)
    return columns or options_remedy(error, pool, has_set_task)


def _line_of(error: BaseException) -> str:
    """' (FILE, line N)' of the user's code that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    calls = [i for i, frame in enumerate(frames) if Path(frame.filename) in CALLERS]
    inside = frames[calls[-1] + 1 :] if calls else frames
    own = [frame for frame in inside if "site-packages" not in frame.filename] or inside
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def warn_of_long_episode(pool: TaskPool, task: int, step: int) -> None:
    """Log that an episode does not end, once for all environments that play this pool."""
    if pool.fingerprint in _warned_of:
        return
    _warned_of.add(pool.fingerprint)
    log.warning(
        "an episode has not ended after %s steps, on %s: the curriculum learns nothing from it "
        "until it does, and evaluations wait for it. %s.",
        f"{step:,}",
        describe_task(pool, task),
        END_EPISODES[0].upper() + END_EPISODES[1:],
        extra={"about": "an episode without end"},
    )


def endless_error(pool: TaskPool, task: int, steps: int) -> ValueError:
    """The error for an episode of an evaluation or rollout that has not ended after `steps`."""
    return ValueError(
        f"an episode of an evaluation or rollout has not ended after {steps:,} steps, on "
        f"{describe_task(pool, task)}: {END_EPISODES}"
    )
