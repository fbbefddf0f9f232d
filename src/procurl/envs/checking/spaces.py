"""Judge the spaces of an environment: which of them students can use."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from procurl.envs.checking.finding import Finding
from procurl.envs.checking.student_spaces import default_policy, obstacles


def judge_spaces(
    observations: gymnasium.Space[Any], actions: gymnasium.Space[Any]
) -> Iterator[Finding]:
    """What Stable-Baselines3 cannot use."""
    for obstacle in obstacles(observations, actions, default_policy(observations)):
        yield Finding("problem", "spaces", obstacle.text, f"{obstacle.remedy}.")
    if isinstance(actions, Box):
        yield from _bounds(actions)


def _bounds(actions: Box) -> Iterator[Finding]:
    bounds = np.stack([actions.low, actions.high])
    infinite = int(np.isinf(bounds).sum())
    if not infinite:
        return
    text = f"{infinite} of the {bounds.size} bounds of the actions are infinite"
    yield Finding(
        "note",
        "spaces",
        "actions are unbounded" if infinite == bounds.size else text,
        "Stable-Baselines3 refuses such actions: give the Box finite bounds, best of −1 and 1. "
        "procurl's PPO (--engine host) takes them.",
    )
