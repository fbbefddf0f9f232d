"""The student's network: shared layers, then separate layers for policy and value.

As in Stable-Baselines3: ReLU, orthogonal initialization with gain √2 for hidden layers, 0.01 for
the policy's output and 1 for the value's, zero biases, and a log standard deviation that does not
depend on the observation and starts at 0.
"""

import math
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax

from procurl.internals.arrays import Array
from procurl.ppo.learning.distributions import ActionDistribution, Categorical, Gaussian
from procurl.ppo.learning.settings import PPOSettings

HIDDEN_GAIN = math.sqrt(2.0)
POLICY_GAIN = 0.01
VALUE_GAIN = 1.0
# Full single precision: a GPU would otherwise round factors to ten bits.
PRECISION = lax.Precision.HIGHEST


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
    def __call__(self, observations: Array) -> tuple[ActionDistribution, Array]:
        shared = _hidden(observations, self.shared_layers, "shared")
        policy = self.head(_hidden(shared, self.policy_layers, "policy"))
        values = _dense(1, VALUE_GAIN, "value")(_hidden(shared, self.value_layers, "value"))
        return policy, jnp.squeeze(values, axis=-1)


def actor_critic(settings: PPOSettings, head: GaussianHead | CategoricalHead) -> ActorCritic:
    """The network described by `settings`, with `head` for the action space."""
    return ActorCritic(head, settings.shared_layers, settings.policy_layers, settings.value_layers)


def init_params(network: ActorCritic, key: Array, observation_size: int) -> dict[str, Array]:
    """Initial parameters, a nested dict of float32 arrays."""
    params: dict[str, Array] = network.init(key, jnp.zeros((1, observation_size)))["params"]
    return params


def forward(
    network: ActorCritic, params: dict[str, Array], observations: Array
) -> tuple[ActionDistribution, Array]:
    """The policy at observations [..., o] and their values [...]; unused results cost nothing."""
    outputs: tuple[ActionDistribution, Array] = network.apply({"params": params}, observations)
    return outputs


def _dense(width: int, gain: float, name: str) -> nn.Dense:
    def kernel_init(key: Array, shape: tuple[int, int], dtype: Any) -> Array:
        return gain * orthogonal(key, shape).astype(dtype)

    return nn.Dense(width, kernel_init=kernel_init, precision=PRECISION, name=name)


@partial(jax.jit, static_argnames="shape")
def orthogonal(key: Array, shape: tuple[int, int]) -> Array:
    """A uniformly random matrix with orthonormal rows or columns, whichever are fewer.

    Gram–Schmidt, each vector orthogonalized twice against rounding. The result equals that of a QR
    decomposition, for which JAX would call LAPACK: on a CPU its threads wait for each other, for
    seconds on a busy machine and forever if several runs are vmapped (jaxlib 0.10). Compiled, so
    that it is traced once per shape: Flax traces the initializer again whenever a layer is applied.
    """
    vectors = jax.random.normal(key, (max(shape), min(shape))).T
    numbers = jnp.arange(len(vectors))

    def straighten(i: Array, vectors: Array) -> Array:
        vector = vectors[i]
        for _ in range(2):
            shares = jnp.where(numbers < i, jnp.dot(vectors, vector, precision=PRECISION), 0.0)
            vector = vector - jnp.dot(shares, vectors, precision=PRECISION)
        return vectors.at[i].set(vector / jnp.linalg.norm(vector))

    vectors = lax.fori_loop(0, len(vectors), straighten, vectors)
    return vectors if shape[0] < shape[1] else vectors.T


def _hidden(features: Array, widths: tuple[int, ...], name: str) -> Array:
    """`features` after one ReLU layer per width; unchanged if there are none."""
    for index, width in enumerate(widths):
        features = nn.relu(_dense(width, HIDDEN_GAIN, f"{name}_{index}")(features))
    return features
