"""How an environment receives its task, and what to do if it reads it in another way."""

import inspect
import re
from collections.abc import Callable
from typing import Any

from procurl.tasks.pool import TaskPool

TOO_FEW = re.compile(r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)")
TOO_MANY = re.compile(r"too many values to unpack \(expected (\d+)")
OUT_OF_BOUNDS = re.compile(r"index (\d+) is out of bounds for axis 0 with size (\d+)")
NO_OPTIONS = "'NoneType' object is not subscriptable"


def how_passed(pool: TaskPool) -> str:
    """The call of `reset` that passes a task of the pool.

    >>> how_passed(TaskPool.from_seeds(3))
    'reset(seed=task)'
    """
    if pool.seeds is not None:
        return "reset(seed=task)"
    return f"reset(options={{{option_name(pool)!r}: task}})"


def option_name(pool: TaskPool) -> str:
    """The option of `reset` that holds a task, unless the tasks are seeds."""
    return "task" if pool.contexts is None else "context"


def columns_remedy(error: BaseException, pool: TaskPool) -> str:
    """What to do if an environment reads more or fewer numbers than a context has; else nothing."""
    if pool.contexts is None:
        return ""
    wanted = _numbers_read(str(error), len(pool.names))
    if wanted is None:
        return ""
    n = len(pool.names)
    given = f"{n} number{'s' * (n > 1)} ({', '.join(pool.names)})"
    if wanted < n:
        remedy = f"{wanted}: read all of them, or leave the other columns out of the pool"
    else:
        remedy = f"at least {wanted}: add the missing columns to the pool, or read fewer numbers"
    return f"a task of this pool has {given}, and the environment reads {remedy}"


def options_remedy(error: BaseException, pool: TaskPool, has_set_task: bool) -> str:
    """What to do if `reset` looks for its task where it is not; else nothing."""
    missing = isinstance(error, KeyError) and error.args in {("context",), ("task",)}
    if not missing and not (isinstance(error, TypeError) and NO_OPTIONS in str(error)):
        return ""
    if has_set_task:
        return (
            "with set_task, the task is passed to set_task(env, task) and reset has no options: "
            "store it there, and let reset use what is stored"
        )
    return (
        f"the task is passed as {how_passed(pool)}: let reset read it from there, or use a pool of "
        "another kind of tasks"
    )


def require_task_setter(set_task: Callable[..., Any], name: str = "set_task") -> None:
    """Raise if the function cannot be called as `set_task(env, task)`."""
    try:
        signature = inspect.signature(set_task)
    except (TypeError, ValueError):  # some built-in callables have no signature
        return
    try:
        signature.bind("env", "task")
    except TypeError as error:
        raise TypeError(
            f"{name} is called as set_task(env, task), but takes {signature}: define it with these "
            "two arguments"
        ) from error


def _numbers_read(message: str, n: int) -> int | None:
    """How many of n numbers an environment reads, by an error's message; None if it is unknown."""
    if (found := TOO_FEW.fullmatch(message)) and int(found[2]) == n:
        return int(found[1])
    if (found := TOO_MANY.match(message)) and int(found[1]) < n:
        return int(found[1])
    if (found := OUT_OF_BOUNDS.fullmatch(message)) and int(found[2]) == n:
        return int(found[1]) + 1
    return None
