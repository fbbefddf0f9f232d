"""Saving the policies of a run, the same for every engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from procurl.policy import make_policy, save_policy


class ModelWeights(NamedTuple):
    """The weights of a policy at one moment of a run."""

    params: Mapping[str, Any]  # nested as in `procurl.ppo.learning.networks`, NumPy arrays
    performance: float  # at the evaluation of that moment


class RunModels(NamedTuple):
    """The weights that are kept of a run."""

    last: ModelWeights
    best: ModelWeights


def save_run_models(
    path: Path, env: str, dynamics: Any, models: RunModels, facts: Mapping[str, Any]
) -> None:
    """Write the last weights to `path` and the best ones to `path` with `-best` appended.

    Args:
        path: without a suffix; the directory must exist.
        env: name of the environment.
        dynamics: the environment, for the bounds of its actions.
        models: to save.
        facts: of the run, saved with the weights.
    """
    places = {path: models.last, path.with_name(f"{path.name}-best"): models.best}
    for place, (params, performance) in places.items():
        training = {**facts, "performance": performance}
        policy = make_policy(params, env, dynamics.action_low, dynamics.action_high, training)
        save_policy(place, policy)
