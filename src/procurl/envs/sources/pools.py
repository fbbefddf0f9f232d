"""The pool that a text names: a file, a number of seeds, or a function of the user."""

import re
from os import PathLike
from pathlib import Path

from procurl.envs.registry import environment_names, make_host_env
from procurl.envs.sources.functions import (
    failure,
    is_file_address,
    require_no_arguments,
    split_address,
    user_function,
)
from procurl.envs.sources.source import EnvSource
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import require_fixed_pool

SEEDS = re.compile(r"seeds:(.*)")
MOST_SEEDS = 100_000_000  # which take about 10 GB
MISTYPED_SEEDS = re.compile(r"seeds?\W*(\d+)", re.IGNORECASE)


def read_pool(text: str | PathLike[str], env: str | None = None) -> TaskPool:
    """The tasks that a text names; raises ValueError if it names none.

    >>> read_pool("seeds:1000")
    TaskPool(1000 seeds)

    Args:
        text: a CSV file, `seeds:N` for the seeds 0 to N − 1, or `FILE.py:function` that returns a
            `TaskPool`.
        env: name of the environment; those of ours have file formats of their own.
    """
    text = str(text)
    if found := SEEDS.fullmatch(text):
        return TaskPool.from_seeds(_count(text, found[1]))
    if (found := MISTYPED_SEEDS.fullmatch(text)) and not Path(text).exists():
        raise ValueError(f"pool {text!r} is not a file; for seeds write seeds:{found[1]}")
    if is_file_address(text) and split_address(text)[0].endswith(".py"):
        return _function_pool(text)
    if env in environment_names():
        return make_host_env(env).read_pool(text)
    return TaskPool.from_csv(text)


def pool_of(source: EnvSource, text: str | PathLike[str] | None) -> TaskPool:
    """The pool of an environment: the one that `text` names, or else its own.

    Raises ValueError, with what to do, if there is neither.
    """
    if text is not None:
        return read_pool(text, source.name)
    pool = source.own_pool()
    if pool is None:
        raise ValueError(
            f"{source.name} has no pool of tasks: pass --pool FILE.csv with a row of context "
            "numbers per task, or --pool seeds:1000 if its levels depend on reset(seed=…)"
        )
    return pool


def _count(text: str, number: str) -> int:
    if not number.isdecimal() or int(number) == 0:
        hint = _count_hint(number)
        raise ValueError(f"the number of seeds must be a positive integer, got {text!r}{hint}")
    if int(number) > MOST_SEEDS:
        raise ValueError(
            f"the number of seeds must be at most {MOST_SEEDS:,}, got {text!r}: write fewer, such "
            "as seeds:1000, for a pool that fits in memory"
        )
    return int(number)


def _count_hint(number: str) -> str:
    """What to write for a count in another notation, such as 1e3 or 10,000; else nothing."""
    try:
        count = float(number.replace(",", ""))
    except ValueError:
        return ""
    if not (count.is_integer() and 0 < count <= MOST_SEEDS):
        return ""
    return f"; write seeds:{count:.0f}"


def _function_pool(text: str) -> TaskPool:
    function = user_function(text, "that returns the pool")
    require_no_arguments(text, function)
    try:
        pool: TaskPool = function()
    except Exception as error:
        raise ValueError(f"{text} failed: {failure(error, function.place)}") from error
    require_fixed_pool(f"{text} must return", pool)
    return pool
