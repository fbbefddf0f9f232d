"""Advantages worked by hand, and against the rollout buffer of Stable-Baselines3."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from stable_baselines3.common.buffers import RolloutBuffer

from procurl.ppo.learning.advantages import estimate_advantages


def column(*values):
    return jnp.array(values)[:, None]


def test_three_steps_worked_by_hand():
    """γ = λ = 0.5, rewards 1, 2, 3, values 4, 2, 6, and 8 after the last step.

    δ_2 = 3 + 0.5·8 − 6 = 1      A_2 = 1
    δ_1 = 2 + 0.5·6 − 2 = 3      A_1 = 3 + 0.25·1 = 3.25
    δ_0 = 1 + 0.5·2 − 4 = −2     A_0 = −2 + 0.25·3.25 = −1.1875
    """
    no = column(False, False, False)
    found = estimate_advantages(
        column(1.0, 2.0, 3.0), column(4.0, 2.0, 6.0), no, jnp.array([8.0]), 0.5, 0.5
    )
    assert found.advantages[:, 0].tolist() == [-1.1875, 3.25, 1.0]
    assert found.returns[:, 0].tolist() == [2.8125, 5.25, 7.0]


def test_nothing_flows_back_over_the_end_of_an_episode():
    """As above with an end after the second step: A_1 = 2 − 2 = 0, A_0 = δ_0 = −2."""
    ends = column(False, True, False)
    found = estimate_advantages(
        column(1.0, 2.0, 3.0), column(4.0, 2.0, 6.0), ends, jnp.array([8.0]), 0.5, 0.5
    )
    assert found.advantages[:, 0].tolist() == [-2.0, 0.0, 1.0]


def test_an_episode_that_ends_with_the_rollout_is_not_bootstrapped():
    """A = 3 − 6 whatever the value of what comes next."""
    found = estimate_advantages(
        column(3.0), column(6.0), column(True), jnp.array([1e9]), 0.99, 0.95
    )
    assert found.advantages.tolist() == [[-3.0]]


@pytest.mark.parametrize("seed", range(3))
def test_advantages_equal_those_of_stable_baselines3(seed):
    rng = np.random.default_rng(seed)
    steps, n_envs = 200, 3
    rewards, values = rng.normal(size=(2, steps, n_envs))
    dones = rng.uniform(size=(steps, n_envs)) < 0.1
    last_values = rng.normal(size=n_envs)

    box = gym.spaces.Box(-1, 1, (1,))
    buffer = RolloutBuffer(steps, box, box, "cpu", gae_lambda=0.9, gamma=0.97, n_envs=n_envs)
    buffer.rewards, buffer.values = rewards, values
    buffer.advantages = np.zeros((steps, n_envs))
    buffer.episode_starts = np.concatenate([np.ones((1, n_envs)), dones[:-1]])
    buffer.compute_returns_and_advantage(torch.tensor(last_values), dones[-1])

    with jax.enable_x64(True):
        arrays = (jnp.asarray(part) for part in (rewards, values, dones, last_values))
        found = jax.jit(estimate_advantages)(*arrays, 0.97, 0.9)
    assert_allclose(found.advantages, buffer.advantages, atol=1e-12)
    assert_allclose(found.returns, buffer.returns, atol=1e-12)


def test_runs_may_differ_in_gamma_and_lambda():
    key = jax.random.key(0)
    rewards, values = jax.random.normal(key, (2, 3, 20, 2))
    dones = rewards > 1.5
    gammas, lambdas = jnp.array([0.9, 0.95, 0.99]), jnp.array([0.0, 0.5, 1.0])
    together = jax.vmap(estimate_advantages)(rewards, values, dones, values[:, 0], gammas, lambdas)
    for i in range(3):
        alone = estimate_advantages(
            rewards[i], values[i], dones[i], values[i, 0], gammas[i], lambdas[i]
        )
        assert_allclose(together.advantages[i], alone.advantages, atol=1e-6)
    assert together.advantages.dtype == jnp.float32
