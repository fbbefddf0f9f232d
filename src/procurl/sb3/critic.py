"""The values that an algorithm's critic gives to observations, in large batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import DDPG, DQN, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm

from procurl.sb3.envs.observations import Observations, count, rows

Values = NDArray[np.float64]
ValueFunction = Callable[[Observations], Any]  # m observations to m values
BATCH = 8_192  # observations per forward pass
BATCH_NUMBERS = 2**24  # and at most this many numbers, for large images


def critic_of(model: BaseAlgorithm) -> ValueFunction | None:
    """The value function of a supported algorithm; None for others.

    V if the algorithm has it. Otherwise Q of the deterministic action, the minimum over several
    critics, or the largest Q over discrete actions. No random numbers are drawn.
    """
    policy: Any = model.policy
    if hasattr(policy, "lstm_actor"):
        return lambda seen: _numpy(_recurrent_values(policy, policy.obs_to_tensor(seen)[0]))
    if hasattr(policy, "predict_values"):  # that of MaskablePPO is no ActorCriticPolicy
        return lambda seen: _numpy(policy.predict_values(policy.obs_to_tensor(seen)[0]))
    if hasattr(policy, "vf_state"):  # sbx, in JAX
        vf: Any = policy.vf
        return lambda seen: vf.apply(policy.vf_state.params, policy.prepare_obs(seen)[0])
    if isinstance(model, SAC | TD3 | DDPG):
        return lambda seen: _numpy(_action_values(policy, policy.obs_to_tensor(seen)[0]))
    if isinstance(model, DQN):
        return lambda seen: _numpy(policy.q_net(policy.obs_to_tensor(seen)[0]).max(dim=1).values)
    return None


def has_entropy_bonus(model: BaseAlgorithm) -> bool:
    """Whether the critic's values hold a bonus for the entropy of the policy, as SAC's do."""
    return hasattr(model, "log_ent_coef")


def values_of(value_fn: ValueFunction, observations: Observations) -> Values:
    """[m] the values of m observations, computed in batches."""
    total = count(observations)
    step = _batch_size(observations, total)
    parts = []
    with torch.no_grad():
        for start in range(0, total, step):
            part = rows(observations, slice(start, start + step))
            parts.append(_check_values(value_fn(part), count(part)))
    return np.concatenate(parts)


def _check_values(values: Any, m: int) -> Values:
    array = _numpy(values) if isinstance(values, torch.Tensor) else np.asarray(values)
    if array.size != m:
        raise ValueError(
            f"value_fn must return one value for each of the {m} observations it receives, "
            f"got an array of shape {array.shape}"
        )
    return array.reshape(m).astype(np.float64)


def _batch_size(observations: Observations, total: int) -> int:
    parts = observations.values() if isinstance(observations, dict) else [observations]
    numbers = sum(part.size for part in parts) / total
    return max(1, min(BATCH, int(BATCH_NUMBERS / numbers)))


def _numpy(values: torch.Tensor) -> NDArray[Any]:
    array: NDArray[Any] = values.detach().cpu().numpy()
    return array


def _recurrent_values(policy: Any, seen: Any) -> torch.Tensor:
    """The values at the start of an episode, when the recurrent state is zero."""
    lstm = policy.lstm_critic if policy.lstm_critic is not None else policy.lstm_actor
    m = len(next(iter(seen.values())) if isinstance(seen, dict) else seen)
    zeros = torch.zeros(lstm.num_layers, m, lstm.hidden_size, device=policy.device)
    started = torch.ones(m, device=policy.device)
    values: torch.Tensor = policy.predict_values(seen, (zeros, zeros), started)
    return values


def _action_values(policy: Any, seen: Any) -> torch.Tensor:
    """The minimum over the critics of Q for the deterministic action."""
    actions = policy._predict(seen, deterministic=True)
    return torch.cat(policy.critic(seen, actions), dim=1).min(dim=1).values
