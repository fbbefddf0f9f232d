"""Judge the spaces of an environment: which of them students can use."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete

from procurl.envs.checking.findings import Finding

PLAIN = (Box, Discrete, MultiBinary, MultiDiscrete)


def judge_spaces(
    observations: gymnasium.Space[Any], actions: gymnasium.Space[Any]
) -> Iterator[Finding]:
    """What Stable-Baselines3 cannot use, or uses badly."""
    if isinstance(observations, Dict):
        usable = [name for name, part in observations.items() if isinstance(part, PLAIN)]
        for name, part in observations.items():
            if name not in usable:
                yield Finding(
                    "note",
                    "spaces",
                    f"Stable-Baselines3 does not take the {type(part).__name__} {name!r} in a Dict",
                    f"Leave it out with gymnasium.wrappers.FilterObservation(env, {usable}), or "
                    "convert it.",
                )
    elif not isinstance(observations, PLAIN):
        yield Finding(
            "note",
            "spaces",
            f"Stable-Baselines3 does not take {type(observations).__name__} observations",
            "Flatten them with gymnasium.wrappers.FlattenObservation(env).",
        )
    if not isinstance(actions, PLAIN):
        yield Finding(
            "note",
            "spaces",
            f"Stable-Baselines3 does not take {type(actions).__name__} actions",
            "Give the environment an action space of type Box, Discrete, MultiBinary or "
            "MultiDiscrete.",
        )
    elif isinstance(actions, Box) and not np.isfinite([actions.low, actions.high]).all():
        yield Finding(
            "note",
            "spaces",
            "actions are unbounded",
            "Random actions are large, and off-policy algorithms refuse them: give the Box finite "
            "bounds, best of −1 and 1.",
        )
