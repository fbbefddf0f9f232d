"""The student's network: layers in common, then a policy and a value function of their own.

As in Stable-Baselines3: ReLU, orthogonal initialisation with gain √2 for hidden layers, 0.01 for
the policy's output and 1 for the value's, zero biases, and a log standard deviation that depends on
no observation and starts at 0.
"""

import math

import flax.linen as nn
import jax.numpy as jnp
from jax import lax

from procurl.arrays import Array
from procurl.ppo.distributions import Categorical, Gaussian, Policy
from procurl.ppo.settings import PPOSettings

HIDDEN_GAIN = math.sqrt(2.0)
POLICY_GAIN = 0.01
VALUE_GAIN = 1.0


class GaussianHead(nn.Module):
    """Continuous actions of `size` dimensions."""

    size: int

    @nn.compact
    def __call__(self, features: Array) -> Gaussian:
        mean = _dense(self.size, POLICY_GAIN, "output")(features)
        return Gaussian(mean, self.param("log_std", nn.initializers.zeros, (self.size,)))


class CategoricalHead(nn.Module):
    """`size` discrete actions."""

    size: int

    @nn.compact
    def __call__(self, features: Array) -> Categorical:
        return Categorical(_dense(self.size, POLICY_GAIN, "output")(features))


class ActorCritic(nn.Module):
    """Policy and value of observations [..., o], the value [...]."""

    head: GaussianHead | CategoricalHead
    shared_layers: tuple[int, ...]
    policy_layers: tuple[int, ...]
    value_layers: tuple[int, ...]

    @nn.compact
    def __call__(self, observations: Array) -> tuple[Policy, Array]:
        shared = _hidden(observations, self.shared_layers, "shared")
        policy = self.head(_hidden(shared, self.policy_layers, "policy"))
        values = _dense(1, VALUE_GAIN, "value")(_hidden(shared, self.value_layers, "value"))
        return policy, jnp.squeeze(values, axis=-1)


def actor_critic(settings: PPOSettings, head: GaussianHead | CategoricalHead) -> ActorCritic:
    """The network that `settings` describe, with `head` for the kind of actions."""
    return ActorCritic(head, settings.shared_layers, settings.policy_layers, settings.value_layers)


def init_params(network: ActorCritic, key: Array, observation_size: int) -> dict[str, Array]:
    """Fresh parameters, a nested dict of float32 arrays."""
    params: dict[str, Array] = network.init(key, jnp.zeros((1, observation_size)))["params"]
    return params


def forward(
    network: ActorCritic, params: dict[str, Array], observations: Array
) -> tuple[Policy, Array]:
    """The policy at observations [..., o] and their values [...]; what is unused costs nothing."""
    outputs: tuple[Policy, Array] = network.apply({"params": params}, observations)
    return outputs


def _dense(width: int, gain: float, name: str) -> nn.Dense:
    # Full single precision: a GPU would otherwise round the factors to ten bits.
    precision = lax.Precision.HIGHEST
    kernel_init = nn.initializers.orthogonal(gain)
    return nn.Dense(width, kernel_init=kernel_init, precision=precision, name=name)


def _hidden(features: Array, widths: tuple[int, ...], name: str) -> Array:
    """`features` after one ReLU layer per width; untouched where there is none."""
    for index, width in enumerate(widths):
        features = nn.relu(_dense(width, HIDDEN_GAIN, f"{name}_{index}")(features))
    return features
