"""Policies against PyTorch's distributions, and against the frequencies they promise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from procurl.ppo.learning.distributions import Categorical, Gaussian


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gaussian_log_prob_and_entropy_equal_torch(rng):
    mean, actions = rng.normal(size=(2, 50, 3))
    log_std = np.array([-2.0, 0.0, 0.7])
    theirs = torch.distributions.Normal(torch.tensor(mean), torch.tensor(np.exp(log_std)))
    with jax.enable_x64(True):
        ours = Gaussian(jnp.asarray(mean), jnp.asarray(log_std))
        log_prob, entropy = ours.log_prob(jnp.asarray(actions)), ours.entropy()
    assert_allclose(log_prob, theirs.log_prob(torch.tensor(actions)).sum(1), atol=1e-12)
    assert_allclose(entropy, theirs.entropy().sum(1), atol=1e-12)


def test_categorical_log_prob_and_entropy_equal_torch(rng):
    logits = 3 * rng.normal(size=(50, 6))
    actions = rng.integers(6, size=50)
    theirs = torch.distributions.Categorical(logits=torch.tensor(logits))
    with jax.enable_x64(True):
        ours = Categorical(jnp.asarray(logits))
        log_prob, entropy = ours.log_prob(jnp.asarray(actions)), ours.entropy()
    assert_allclose(log_prob, theirs.log_prob(torch.tensor(actions)), atol=1e-12)
    assert_allclose(entropy, theirs.entropy(), atol=1e-12)


def test_categorical_stays_finite_where_an_action_is_all_but_impossible():
    policy = Categorical(jnp.array([0.0, -1e4]))
    assert policy.log_prob(jnp.array(1)) == -1e4
    assert policy.entropy() == 0.0
    gradient = jax.grad(lambda logits: Categorical(logits).entropy())(policy.logits)
    assert np.isfinite(gradient).all()


def test_one_coin_worked_by_hand():
    """P = (3/4, 1/4): log P(1) = −log 4 = −1.386294, entropy 0.75·log(4/3) + 0.25·log 4."""
    policy = Categorical(jnp.log(jnp.array([3.0, 1.0])))
    assert float(policy.log_prob(jnp.array(1))) == pytest.approx(-1.386294, abs=1e-6)
    assert float(policy.entropy()) == pytest.approx(0.562335, abs=1e-6)
    assert int(policy.mode()) == 0


def test_gaussian_samples_have_its_mean_and_spread():
    policy = Gaussian(jnp.array([1.0, -2.0]), jnp.log(jnp.array([0.5, 3.0])))
    samples = policy.sample(policy.draw_noise(jax.random.key(0), (100_000, 2)))
    assert_allclose(samples.mean(axis=0), [1.0, -2.0], atol=0.04)
    assert_allclose(samples.std(axis=0), [0.5, 3.0], rtol=0.02)
    assert policy.mode().tolist() == [1.0, -2.0]


def test_categorical_samples_come_as_often_as_they_should():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    policy = Categorical(jnp.log(jnp.asarray(p)))
    samples = policy.sample(policy.draw_noise(jax.random.key(0), (100_000, 4)))
    counts = np.bincount(np.asarray(samples), minlength=4)
    chi_squared = np.sum((counts - 100_000 * p) ** 2 / (100_000 * p))
    assert chi_squared < 16.3  # exceeded once in a thousand seeds
