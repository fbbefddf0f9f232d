"""Stable-Baselines3's own PPO with our weights, rollouts and permutations: what ours is held to."""

from itertools import pairwise
from typing import Any, NamedTuple
from unittest import mock

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.logger import configure
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl.ppo.learning.settings import TRACED, PPOSettings

OBSERVATION_SIZE = 5


class Recording(NamedTuple):
    """A rollout of T steps in b environments. Every number is exact in float32."""

    observations: np.ndarray  # [T, b, o]
    actions: np.ndarray  # [T, b, a] float, or [T, b] int
    rewards: np.ndarray  # [T, b]
    dones: np.ndarray  # [T, b] bool
    last_observations: np.ndarray  # [b, o]


def record(rng: np.random.Generator, steps: int, n_envs: int, discrete: bool) -> Recording:
    """Smooth random observations, random actions, and an episode end every ten steps or so."""
    walk = np.cumsum(rng.normal(size=(steps + 1, n_envs, OBSERVATION_SIZE)), axis=0) / 4
    walk = np.clip(walk, -3, 3).astype(np.float32).astype(np.float64)
    shape = (steps, n_envs) if discrete else (steps, n_envs, 2)
    actions = rng.integers(3, size=shape) if discrete else rng.normal(size=shape)
    kind = np.int64 if discrete else np.float32
    rewards = rng.normal(size=(steps, n_envs)).astype(np.float32).astype(np.float64)
    dones = rng.uniform(size=(steps, n_envs)) < 0.1
    return Recording(walk[:-1], actions.astype(kind), rewards, dones, walk[-1])


class SharedLayers(BaseFeaturesExtractor):
    """Layers in common, which Stable-Baselines3 now keeps in a features extractor."""

    def __init__(self, space: gym.spaces.Box, widths: tuple[int, ...]):
        sizes = (int(space.shape[0]), *widths)
        super().__init__(space, features_dim=sizes[-1])
        layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
        self.net = torch.nn.Sequential(
            *(part for layer in layers for part in (layer, torch.nn.ReLU()))
        )
        self.double_precision = False

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        # The library casts observations to float32 before they come here.
        inputs = observations.double() if self.double_precision else observations
        features: torch.Tensor = self.net(inputs)
        return features


class _Spaces(gym.Env[np.ndarray, Any]):
    """An environment that only says what goes in and out of it."""

    def __init__(self, discrete: bool):
        self.observation_space = gym.spaces.Box(-10, 10, (OBSERVATION_SIZE,), np.float32)
        self.action_space = (
            gym.spaces.Discrete(3) if discrete else gym.spaces.Box(-10, 10, (2,), np.float32)
        )


def make_model(settings: PPOSettings, n_envs: int, *, discrete: bool, double: bool) -> PPO:
    """Stable-Baselines3's PPO with these settings, in float32 or float64."""
    torch.set_num_threads(1)  # its threads would only wait for each other over such small matrices
    model = PPO(
        "MlpPolicy",
        DummyVecEnv([lambda: _Spaces(discrete)] * n_envs),
        n_steps=settings.n_steps // n_envs,
        policy_kwargs={
            "activation_fn": torch.nn.ReLU,
            "net_arch": {
                "pi": list(settings.policy_layers),
                "vf": list(settings.value_layers),
            },
            "features_extractor_class": SharedLayers,
            "features_extractor_kwargs": {"widths": settings.shared_layers},
        },
        seed=0,
        device="cpu",
        n_epochs=settings.n_epochs,
        batch_size=settings.batch_size,
        **{name: getattr(settings, name) for name in TRACED},
    )
    model.set_logger(configure(None, []))
    if double:
        model.policy.double()
        extractor = model.policy.features_extractor
        assert isinstance(extractor, SharedLayers)
        extractor.double_precision = True
    return model


def learn(model: PPO, recording: Recording, permutations: np.ndarray) -> None:
    """Fill the model's buffer with `recording`, by its own policy, and let it train."""
    fill_buffer(model, recording)
    with mock.patch("numpy.random.permutation", side_effect=list(permutations)):
        model.train()


def fill_buffer(model: PPO, recording: Recording) -> None:
    """Values, log-probabilities and advantages of `recording`, as the model sees it."""
    steps, n_envs = recording.rewards.shape
    kind = next(model.policy.parameters()).detach().numpy().dtype
    with torch.no_grad():
        values, log_probs, _ = model.policy.evaluate_actions(
            torch.tensor(recording.observations.reshape(steps * n_envs, -1)),
            torch.tensor(recording.actions.reshape(steps * n_envs, *recording.actions.shape[2:])),
        )
        last_values = model.policy.predict_values(torch.tensor(recording.last_observations))
    buffer = model.rollout_buffer
    buffer.reset()
    buffer.observations = recording.observations.astype(kind)
    buffer.actions = recording.actions.reshape(steps, n_envs, -1)
    buffer.rewards = recording.rewards.astype(kind)
    buffer.episode_starts = np.concatenate([np.ones((1, n_envs)), recording.dones[:-1]])
    buffer.episode_starts = buffer.episode_starts.astype(kind)
    buffer.values = values.numpy().reshape(steps, n_envs)
    buffer.log_probs = log_probs.numpy().reshape(steps, n_envs)
    buffer.advantages = np.zeros((steps, n_envs), dtype=kind)
    buffer.compute_returns_and_advantage(last_values, recording.dones[-1])
    buffer.full = True


def params_of(model: PPO) -> dict[str, Any]:
    """The model's weights, laid out as ours."""
    # The features extractor is known under three names; parameters are listed under the first.
    named = model.policy.named_parameters()
    weights = {name: value.detach().numpy().copy() for name, value in named}

    def layer(name: str) -> dict[str, np.ndarray]:
        return {"kernel": weights[f"{name}.weight"].T, "bias": weights[f"{name}.bias"]}

    params: dict[str, Any] = {"head": {"output": layer("action_net")}, "value": layer("value_net")}
    if "log_std" in weights:
        params["head"]["log_std"] = weights["log_std"]
    stacks = {
        "shared": "features_extractor.net",
        "policy": "mlp_extractor.policy_net",
        "value": "mlp_extractor.value_net",
    }
    for ours, theirs in stacks.items():
        # Every second entry is a ReLU.
        depth = sum(name.startswith(f"{theirs}.") and "weight" in name for name in weights)
        params |= {f"{ours}_{i}": layer(f"{theirs}.{2 * i}") for i in range(depth)}
    return params
