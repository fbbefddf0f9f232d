"""Check what an environment's reset and step return; errors name the task and the step."""

import math
from typing import Any

import numpy as np

from procurl.envs.adapters.task_errors import describe_place
from procurl.tasks.pool import TaskPool

RESET_VALUES = ("observation", "info")
STEP_VALUES = ("observation", "reward", "terminated", "truncated", "info")
SEQUENCES = (tuple, list)  # `tuple | list` would be built anew in every step


class ResultError(TypeError):
    """Reset or step returned what Gymnasium's interface does not allow."""


def require_values(result: Any, pool: TaskPool, task: int, step: int) -> Any:
    """`result` if it has as many values as Gymnasium requires; raises otherwise.

    Args:
        result: what reset or step returned.
        pool: the tasks.
        task: id of the current task.
        step: of the episode, from 1; 0 is the reset.
    """
    names = STEP_VALUES if step else RESET_VALUES
    several = isinstance(result, SEQUENCES)
    if several and len(result) == len(names):
        return result
    count = len(result) if several else 1
    values = f"{count} value{'' if count == 1 else 's'}"
    kind = "" if several else f" of type {type(result).__name__}"
    raise ResultError(
        f"{describe_place(pool, task, step)} returned {values}{kind}; Gymnasium's "
        f"{'step' if step else 'reset'} returns {len(names)}: {', '.join(names)}"
    )


def require_info(info: Any, pool: TaskPool, task: int, step: int) -> None:
    """Raise unless `info` is a dict."""
    if not isinstance(info, dict):
        raise ResultError(
            f"info must be a dict, got {info!r} in {describe_place(pool, task, step)}: return {{}} "
            "if there is nothing to report"
        )


def require_shape(
    observation: Any, shape: tuple[int, ...], pool: TaskPool, task: int, step: int
) -> None:
    """Raise unless an observation has the shape of its space; leading ones do not matter."""
    if getattr(observation, "shape", None) == shape:  # `np.shape` is slow
        return
    own = np.shape(observation)
    if _without_leading_ones(own) != _without_leading_ones(shape):
        raise ResultError(
            f"the observation in {describe_place(pool, task, step)} has shape {own}, its space "
            f"{shape}: correct the environment or its observation_space"
        )


def require_reward(reward: Any, pool: TaskPool, task: int, step: int) -> float:
    """The reward as a number, which may be NaN; raises if it is not a number."""
    if isinstance(reward, float):
        return float(reward)
    if not getattr(reward, "ndim", 0):
        try:
            return float(reward)
        except (TypeError, ValueError):
            pass
    raise ResultError(
        f"the reward must be a number, got {reward!r} in {describe_place(pool, task, step)}: "
        "return a float"
    )


def require_finite_reward(reward: Any, pool: TaskPool, task: int, step: int) -> float:
    """The reward as a number; raises if it is not a finite one."""
    number = require_reward(reward, pool, task, step)
    if not math.isfinite(number):
        raise ValueError(
            f"the reward must be finite, got {number} in {describe_place(pool, task, step)}: fix "
            "the environment or leave the task out of the pool"
        )
    return number


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape
