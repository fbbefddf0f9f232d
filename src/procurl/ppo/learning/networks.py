"""The student's network: shared layers, then separate layers for policy and value.

As in Stable-Baselines3: ReLU, orthogonal initialization with gain √2 for hidden layers, 0.01 for
the policy's output and 1 for the value's, zero biases, and a log standard deviation that does not
depend on the observation and starts at 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from procurl.internals.arrays import Array, Floats
from procurl.ppo.learning.distributions import ActionDistribution, Categorical, Gaussian
from procurl.ppo.learning.settings import PPOSettings

HIDDEN_GAIN = math.sqrt(2.0)
POLICY_GAIN = 0.01
VALUE_GAIN = 1.0
# Full single precision: a GPU would otherwise round factors to ten bits.
PRECISION = lax.Precision.HIGHEST
STREAM = 3  # of the weights: other random numbers than anything else that has the run's seed

Params: TypeAlias = dict[str, Any]  # layers by name, each a kernel [in, out] and a bias [out]


@dataclass(frozen=True)
class GaussianHead:
    """Continuous actions of `size` dimensions."""

    size: int

    def __call__(self, params: Params, features: Array) -> Gaussian:
        return Gaussian(_dense(params["output"], features), params["log_std"])


@dataclass(frozen=True)
class CategoricalHead:
    """`size` discrete actions."""

    size: int

    def __call__(self, params: Params, features: Array) -> Categorical:
        return Categorical(_dense(params["output"], features))


@dataclass(frozen=True)
class ActorCritic:
    """The widths of the layers, and the kind of policy."""

    head: GaussianHead | CategoricalHead
    shared_layers: tuple[int, ...]
    policy_layers: tuple[int, ...]
    value_layers: tuple[int, ...]


def actor_critic(settings: PPOSettings, head: GaussianHead | CategoricalHead) -> ActorCritic:
    """The network described by `settings`, with `head` for the action space."""
    return ActorCritic(head, settings.shared_layers, settings.policy_layers, settings.value_layers)


def init_params(network: ActorCritic, seed: int, observation_size: int) -> Params:
    """Initial parameters, arrays of float32.

    NumPy draws them: XLA would need seconds to compile a program that runs once.
    """
    rng = np.random.default_rng((seed, STREAM))
    params: Params = {}

    def add_hidden(name: str, size: int, widths: tuple[int, ...]) -> int:
        for index, width in enumerate(widths):
            params[f"{name}_{index}"] = _init_dense(rng, size, width, HIDDEN_GAIN)
            size = width
        return size

    shared = add_hidden("shared", observation_size, network.shared_layers)
    policy = add_hidden("policy", shared, network.policy_layers)
    value = add_hidden("value", shared, network.value_layers)
    params["head"] = {"output": _init_dense(rng, policy, network.head.size, POLICY_GAIN)}
    if isinstance(network.head, GaussianHead):
        params["head"]["log_std"] = np.zeros(network.head.size, np.float32)
    params["value"] = _init_dense(rng, value, 1, VALUE_GAIN)
    return params


def init_batch(network: ActorCritic, seeds: Sequence[int], observation_size: int) -> Params:
    """Initial parameters [w, …] of one run per seed."""
    each = [init_params(network, seed, observation_size) for seed in seeds]
    batch: Params = jax.tree.map(lambda *leaves: np.stack(leaves), *each)
    return batch


def forward(
    network: ActorCritic, params: Params, observations: Array
) -> tuple[ActionDistribution, Array]:
    """The policy at observations [..., o] and their values [...]; unused results cost nothing."""

    def hidden(name: str, widths: tuple[int, ...], features: Array) -> Array:
        for index in range(len(widths)):
            features = jax.nn.relu(_dense(params[f"{name}_{index}"], features))
        return features

    shared = hidden("shared", network.shared_layers, observations)
    policy = network.head(params["head"], hidden("policy", network.policy_layers, shared))
    values = _dense(params["value"], hidden("value", network.value_layers, shared))
    return policy, jnp.squeeze(values, axis=-1)


def _dense(layer: Params, features: Array) -> Array:
    """[..., out] of features [..., in]."""
    return jnp.dot(features, layer["kernel"], precision=PRECISION) + layer["bias"]


def _init_dense(rng: np.random.Generator, size: int, width: int, gain: float) -> Params:
    kernel = (gain * orthogonal(rng, size, width)).astype(np.float32)
    return {"kernel": kernel, "bias": np.zeros(width, np.float32)}


def orthogonal(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """A uniformly random matrix with orthonormal rows or columns, whichever are fewer."""
    normal = rng.standard_normal((max(rows, columns), min(rows, columns)))
    vectors, upper = np.linalg.qr(normal)
    vectors *= np.sign(np.diagonal(upper))  # without it, QR would favor some directions
    whole: Floats = vectors.T if rows < columns else vectors
    return whole
