"""Close an environment of a user; an error of its `close` ends nothing else."""

import logging
from typing import Any

from procurl.envs.adapters.task_errors import RAISED, describe_error

log = logging.getLogger(__name__)


def closing_error(env: Any) -> str | None:
    """Close an environment; what its `close` raised, in one line, or None.

    Args:
        env: with a method `close`, such as a vector environment.
    """
    try:
        env.close()
    except RAISED as error:
        return f"close() of the environment raised {describe_error(error)}"
    return None


def close_env(env: Any) -> None:
    """Close an environment that is no longer needed, whatever its `close` raises.

    Users learn of that error from the check before training.
    """
    if (error := closing_error(env)) is not None:
        log.debug("%s", error)
