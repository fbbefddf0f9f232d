"""Stable-Baselines3's PPO with the settings and the network of the JAX engine."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from procurl.ppo.learning.settings import PPOSettings


class SharedLayers(BaseFeaturesExtractor):
    """Layers that policy and value have in common: a features extractor, as SB3 has it now."""

    def __init__(self, observation_space: spaces.Box, widths: tuple[int, ...]) -> None:
        size = int(np.prod(observation_space.shape))
        sizes = (size, *widths)
        super().__init__(observation_space, sizes[-1])
        layers = [(nn.Linear(*pair), nn.ReLU()) for pair in pairwise(sizes)]
        self.layers = nn.Sequential(nn.Flatten(), *(part for pair in layers for part in pair))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.layers(observations)
        return features


def paper_ppo(env: VecEnv, settings: PPOSettings, seed: int) -> PPO:
    """PPO on the CPU, whose updates take `settings.n_steps` steps of all environments together."""
    settings.check()
    if settings.n_steps % env.num_envs:
        raise ValueError(
            f"the number of environments must divide the {settings.n_steps} steps of an update, "
            f"got {env.num_envs}"
        )
    return PPO(
        "MlpPolicy",
        env,
        learning_rate=float(settings.learning_rate),
        n_steps=settings.n_steps // env.num_envs,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        gamma=float(settings.gamma),
        gae_lambda=float(settings.gae_lambda),
        clip_range=float(settings.clip_range),
        ent_coef=float(settings.ent_coef),
        vf_coef=float(settings.vf_coef),
        max_grad_norm=float(settings.max_grad_norm),
        policy_kwargs={
            "activation_fn": nn.ReLU,
            "features_extractor_class": SharedLayers,
            "features_extractor_kwargs": {"widths": settings.shared_layers},
            "net_arch": {"pi": list(settings.policy_layers), "vf": list(settings.value_layers)},
        },
        seed=seed,
        device="cpu",
    )


def network_weights(state: dict[str, torch.Tensor]) -> dict[str, Any]:
    """A policy's `state_dict` as the weights of the JAX engine's network, nested by layer."""
    params: dict[str, Any] = {}
    places = {
        "features_extractor.layers": "shared",
        "mlp_extractor.policy_net": "policy",
        "mlp_extractor.value_net": "value",
    }
    for prefix, name in places.items():
        found = sorted(
            {int(key[len(prefix) + 1 :].partition(".")[0]) for key in state if _under(prefix, key)}
        )
        for number, index in enumerate(found):
            params[f"{name}_{number}"] = _layer(state, f"{prefix}.{index}")
    params["value"] = _layer(state, "value_net")
    params["head"] = {"output": _layer(state, "action_net")}
    if "log_std" in state:
        params["head"]["log_std"] = state["log_std"].numpy().copy()
    return params


def _under(prefix: str, key: str) -> bool:
    return key.startswith(f"{prefix}.")


def _layer(state: dict[str, torch.Tensor], name: str) -> dict[str, NDArray[np.float32]]:
    return {
        "kernel": state[f"{name}.weight"].numpy().T.copy(),
        "bias": state[f"{name}.bias"].numpy().copy(),
    }
