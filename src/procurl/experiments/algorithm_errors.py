"""Settings with which an algorithm of Stable-Baselines3 cannot be made or trained."""

import textwrap
import traceback
from collections.abc import Mapping
from itertools import dropwhile
from pathlib import Path
from typing import Any

from procurl.internals.checks import require_flag, require_integer, require_number
from procurl.internals.setting_text import setting_text

PROCURL = Path(__file__).parents[1]
COUNTS = (  # settings that are positive integers in every algorithm that has them
    "n_steps",
    "batch_size",
    "n_epochs",
    "buffer_size",
    "train_freq",
    "policy_delay",
    "target_update_interval",
)
SHOWN = 200  # characters of an error
REMEDY = "Correct these settings, or leave one out at a time to find the one it rejects"


def require_usable(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise on a number that is not finite, a count that is no positive integer, and a wrong flag.

    Everything else is left to the algorithm.

    Args:
        arguments: of the algorithm's constructor.
        defaults: of all of its arguments.
    """
    for name, value in arguments.items():
        if isinstance(defaults.get(name), bool):
            require_flag(name, value)
        elif name in COUNTS and value is not None:
            require_integer(name, value, at_least=1)
        elif isinstance(value, float):
            require_number(name, value)


def settings_error(
    algo: str, done: str, arguments: Mapping[str, Any], error: Exception
) -> ValueError:
    """The error of an algorithm that has settings of the user, in one sentence with all of them.

    Args:
        algo: its class.
        done: what the algorithm cannot be: `made` or `trained`.
        arguments: the settings.
        error: what it raised.
    """
    given = ", ".join(f"{name}={_text(value)}" for name, value in arguments.items())
    message = textwrap.shorten(str(error).strip().partition("\n")[0], SHOWN, placeholder="…")
    kind = type(error).__name__ + (f": {message}" if message else "")
    return ValueError(f"{algo} cannot be {done} with {given}: it raised {kind}. {REMEDY}")


def is_of_algorithm(error: Exception) -> bool:
    """Whether an algorithm raised the error while it learned: no environment, and no callback.

    Environments are called by vector environments of Stable-Baselines3, and callbacks are ours.
    """
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    inside = list(dropwhile(lambda file: file.is_relative_to(PROCURL), files))
    called = any(file.is_relative_to(PROCURL) or "vec_env" in file.parts for file in inside)
    return bool(inside) and not called


def _text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else setting_text(value)
