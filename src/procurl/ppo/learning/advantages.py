"""Generalized advantage estimation: how much better than expected each step was."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from procurl.internals.arrays import Array

UNROLLED = 16  # steps


class Advantages(NamedTuple):
    """Learning targets for a rollout of T steps in b environments."""

    advantages: Array  # [T, b] for the policy
    returns: Array  # [T, b] advantage + value, the critic's target


def estimate_advantages(
    rewards: Array,
    values: Array,
    dones: Array,
    last_values: Array,
    gamma: Array,
    gae_lambda: Array,
) -> Advantages:
    """Generalized advantage estimates (Schulman et al. 2016), computed backward in time:

        δ_t = r_t + γ·V_{t+1}·(1 − done_t) − V_t,   A_t = δ_t + γ·λ·(1 − done_t)·A_{t+1}.

    Nothing flows back across the end of an episode. If an episode was truncated, add γ·V of its
    final observation to its last reward beforehand, as Stable-Baselines3 does.

    Args:
        rewards: [T, b].
        values: [T, b] the critic's values of the observations before each step.
        dones: [T, b] bool, whether the episode ended at the step.
        last_values: [b] the critic's values of the observations after the last step.
        gamma: γ.
        gae_lambda: λ.
    """
    next_values = jnp.concatenate([values[1:], last_values[None]])
    discounts = jnp.where(dones, 0.0, gamma).astype(values.dtype)
    deltas = rewards + discounts * next_values - values

    def backwards(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, decay = step
        advantage = delta + decay * later
        return advantage, advantage

    start = jnp.zeros_like(last_values)
    # Unrolled, because a GPU takes longer to start a step than to compute it.
    _, advantages = jax.lax.scan(
        backwards, start, (deltas, gae_lambda * discounts), reverse=True, unroll=UNROLLED
    )
    return Advantages(advantages, advantages + values)
