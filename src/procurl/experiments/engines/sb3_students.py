"""Students of Stable-Baselines3: the paper's PPO, or any algorithm with arguments of the user."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from stable_baselines3.common.vec_env import VecEnv

from procurl.envs import make_host_env
from procurl.experiments.algorithm_errors import settings_error
from procurl.experiments.algorithms import AlgorithmSettings, make_model
from procurl.experiments.engines.models import ModelWeights, RunModels, save_run_models
from procurl.experiments.engines.sb3_ppo import network_weights, paper_ppo
from procurl.experiments.engines.sb3_state import set_weights, weights_of
from procurl.internals.arrays import NamedArrays
from procurl.ppo.learning.settings import PPOSettings

CHUNK = 1_000  # training steps at a time, of algorithms with shorter updates


class KeptWeights(NamedTuple):
    """The weights of a policy at one moment, as Stable-Baselines3 names them."""

    weights: NamedArrays
    performance: float  # at the evaluation of that moment


class SB3Student(Protocol):
    """What differs between the algorithms that a run can train."""

    def make(self, env: VecEnv, seed: int) -> Any:
        """The model at its first step."""

    def blame_settings(self, error: Exception) -> None:
        """Raise ValueError if settings of the user may have caused an error of the algorithm."""

    def chunk(self, n_envs: int, at_most: int) -> int:
        """Training steps to take now: one update, or short ones up to about `at_most` steps."""

    def save(
        self, model: Any, path: Path, last: KeptWeights, best: KeptWeights, facts: Mapping[str, Any]
    ) -> None:
        """Write the last weights to `path` and the best ones to `path` with `-best` appended."""


class PaperStudent:
    """PPO with the network of the JAX engine, in one of our environments."""

    def __init__(self, env: str, settings: PPOSettings) -> None:
        self._env = env
        self._settings = settings

    def make(self, env: VecEnv, seed: int) -> Any:
        return paper_ppo(env, self._settings, seed)

    def blame_settings(self, error: Exception) -> None:
        """Settings of the paper's PPO are checked before training."""

    def chunk(self, n_envs: int, at_most: int) -> int:
        return self._settings.n_steps

    def save(
        self, model: Any, path: Path, last: KeptWeights, best: KeptWeights, facts: Mapping[str, Any]
    ) -> None:
        def kept(each: KeptWeights) -> ModelWeights:
            state = {name: torch.from_numpy(part) for name, part in each.weights.items()}
            return ModelWeights(network_weights(state), each.performance)

        dynamics = make_host_env(self._env)
        save_run_models(path, self._env, dynamics, RunModels(kept(last), kept(best)), facts)


class AlgorithmStudent:
    """Any algorithm in any environment; its models are the zip files of Stable-Baselines3."""

    def __init__(self, settings: AlgorithmSettings) -> None:
        self._settings = settings

    def make(self, env: VecEnv, seed: int) -> Any:
        return make_model(self._settings, env, seed)

    def blame_settings(self, error: Exception) -> None:
        algo, arguments = self._settings.algo, self._settings.arguments
        if arguments:
            raise settings_error(algo, "trained", arguments, error) from error

    def chunk(self, n_envs: int, at_most: int) -> int:
        update = self._settings.update_steps * n_envs
        return -(-min(CHUNK, at_most) // update) * update

    def save(
        self, model: Any, path: Path, last: KeptWeights, best: KeptWeights, facts: Mapping[str, Any]
    ) -> None:
        now = weights_of(model)
        for place, kept in ((path, last), (path.with_name(f"{path.name}-best"), best)):
            set_weights(model, kept.weights)
            model.save(place.with_name(f"{place.name}.zip"))
        set_weights(model, now)


def sb3_student(env: str, settings: PPOSettings | AlgorithmSettings) -> SB3Student:
    """The student with these settings in an environment."""
    if isinstance(settings, PPOSettings):
        return PaperStudent(env, settings)
    return AlgorithmStudent(settings)
