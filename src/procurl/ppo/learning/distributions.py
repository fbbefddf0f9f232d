"""Policies: a distribution over actions for each observation of a batch.

Both kinds have the same methods and receive their noise as an argument, so that a rollout can draw
all of it at once.
"""

import math
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from procurl.internals.arrays import Array

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Gaussian(NamedTuple):
    """Continuous actions, each dimension independent: a ~ N(mean, exp(log_std)²)."""

    mean: Array  # [..., a]
    log_std: Array  # [a], the same for every observation

    def log_prob(self, actions: Array) -> Array:
        """[...] log density of `actions` [..., a]."""
        scaled = (actions - self.mean) * jnp.exp(-self.log_std)
        return jnp.sum(-0.5 * scaled**2 - self.log_std - HALF_LOG_TWO_PI, axis=-1)

    def entropy(self) -> Array:
        """[...]"""
        entropy = jnp.sum(self.log_std + (0.5 + HALF_LOG_TWO_PI))
        return jnp.broadcast_to(entropy, self.mean.shape[:-1])

    def mode(self) -> Array:
        """[..., a] the most likely action."""
        return self.mean

    def sample(self, noise: Array) -> Array:
        """[..., a] the action for `noise` [..., a] from `draw_noise`."""
        return self.mean + jnp.exp(self.log_std) * noise

    @staticmethod
    def draw_noise(key: Array, shape: tuple[int, ...]) -> Array:
        """`shape` [..., a] of standard normal noise."""
        return jax.random.normal(key, shape)


class Categorical(NamedTuple):
    """Discrete actions 0 … n−1: P(a) ∝ exp(logits_a)."""

    logits: Array  # [..., n]

    def log_prob(self, actions: Array) -> Array:
        """[...] log probability of `actions` [...], integers."""
        # A masked sum instead of indexing: its gradient is a product, not a scatter.
        chosen = actions[..., None] == jnp.arange(self.logits.shape[-1])
        return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(self.logits), 0.0), axis=-1)

    def entropy(self) -> Array:
        """[...]"""
        log_p = jax.nn.log_softmax(self.logits)
        return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)

    def mode(self) -> Array:
        """[...] the most likely action, the first if several tie."""
        return jnp.argmax(self.logits, axis=-1)

    def sample(self, noise: Array) -> Array:
        """[...] the action for `noise` [..., n] from `draw_noise`."""
        return jnp.argmax(self.logits + noise, axis=-1)

    @staticmethod
    def draw_noise(key: Array, shape: tuple[int, ...]) -> Array:
        """`shape` [..., n] of Gumbel noise: the argmax of logits + noise is a sample."""
        return jax.random.gumbel(key, shape)


ActionDistribution: TypeAlias = Gaussian | Categorical
