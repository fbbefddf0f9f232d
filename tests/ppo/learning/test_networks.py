"""The network: its layers, its fresh weights, and the same outputs as Stable-Baselines3's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from procurl.ppo.learning.networks import (
    CategoricalHead,
    GaussianHead,
    actor_critic,
    forward,
    init_params,
)
from procurl.ppo.learning.settings import PPOSettings, paper_settings
from tests.ppo.sb3_reference import OBSERVATION_SIZE, make_model, params_of

SHARED = PPOSettings(shared_layers=(12, 8), policy_layers=(10,), value_layers=(6, 7))
SEPARATE = PPOSettings(policy_layers=(10, 9), value_layers=(6,))
HEADS: dict[bool, GaussianHead | CategoricalHead] = {
    False: GaussianHead(2),
    True: CategoricalHead(3),
}
BOTH_KINDS = [(SHARED, False), (SEPARATE, True)]


def flat(params):
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(params)}


def test_karel_has_the_layers_of_the_paper():
    network = actor_critic(paper_settings("basickarel"), CategoricalHead(6))
    shapes = jax.tree.map(lambda leaf: leaf.shape, init_params(network, 0, 88))
    kernels = {name: layer["kernel"] for name, layer in shapes.items() if name != "head"}
    assert kernels == {
        "policy_0": (88, 512),
        "policy_1": (512, 256),
        "value_0": (88, 256),
        "value_1": (256, 128),
        "value": (128, 1),
    }
    assert shapes["head"] == {"output": {"kernel": (256, 6), "bias": (6,)}}


def test_without_layers_of_any_kind_policy_and_value_are_linear():
    settings = PPOSettings(policy_layers=(), value_layers=())
    network = actor_critic(settings, GaussianHead(2))
    params = init_params(network, 0, 5)
    observation = jnp.arange(5.0)
    policy, value = forward(network, params, observation)
    assert_allclose(policy.mean, observation @ params["head"]["output"]["kernel"], atol=1e-6)
    assert_allclose(value, observation @ params["value"]["kernel"][:, 0], atol=1e-6)


@pytest.mark.parametrize(("settings", "discrete"), BOTH_KINDS)
def test_fresh_weights_have_the_form_of_stable_baselines3(settings, discrete):
    """Same names and shapes; all singular values equal its gain; zero biases and log std."""
    network = actor_critic(settings, HEADS[discrete])
    ours = flat(init_params(network, 3, OBSERVATION_SIZE))
    theirs = flat(params_of(make_model(settings, 1, discrete=discrete, double=False)))
    assert {name: leaf.shape for name, leaf in ours.items()} == {
        name: leaf.shape for name, leaf in theirs.items()
    }
    for name, leaf in ours.items():
        assert leaf.dtype == jnp.float32
        if "kernel" in name:
            gain = 0.01 if "head" in name else 1.0 if "['value']" in name else np.sqrt(2)
            for weights in (leaf, theirs[name]):
                assert_allclose(np.linalg.svd(weights)[1], gain, rtol=1e-5)
        else:
            assert np.all(leaf == 0)
            assert np.all(theirs[name] == 0)


def test_fresh_weights_favor_no_direction():
    """The entries of a random orthogonal 4×4 matrix have mean 0 and variance 1/4, each of them."""
    network = actor_critic(PPOSettings(policy_layers=(4,), value_layers=()), GaussianHead(1))
    each = [init_params(network, seed, 4) for seed in range(4000)]
    kernels = np.stack([params["policy_0"]["kernel"] for params in each]) / np.sqrt(2)
    assert np.abs(kernels.mean(axis=0)).max() < 5 * 0.5 / np.sqrt(4000)
    assert_allclose(kernels.var(axis=0), 0.25, rtol=0.1)


def test_layers_start_different():
    settings = PPOSettings(policy_layers=(8,), value_layers=(8,))
    params = init_params(actor_critic(settings, GaussianHead(1)), 0, 8)
    assert np.abs(params["policy_0"]["kernel"] - params["value_0"]["kernel"]).max() > 0.1


@pytest.mark.parametrize(("settings", "discrete"), BOTH_KINDS)
def test_outputs_equal_those_of_stable_baselines3(settings, discrete):
    model = make_model(settings, 1, discrete=discrete, double=True)
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(20, OBSERVATION_SIZE)).astype(np.float32).astype(float)
    with torch.no_grad():
        their_values = model.policy.predict_values(torch.tensor(observations)).numpy()[:, 0]
        their_policy = model.policy.get_distribution(torch.tensor(observations)).distribution
    with jax.enable_x64(True):
        params = jax.tree.map(jnp.asarray, params_of(model))
        network = actor_critic(settings, HEADS[discrete])
        policy, values = forward(network, params, jnp.asarray(observations))
        log_p = jax.nn.log_softmax(policy.logits) if discrete else None
    assert_allclose(values, their_values, atol=1e-12)
    if discrete:
        assert_allclose(log_p, their_policy.logits, atol=1e-12)
    else:
        assert_allclose(policy.mean, their_policy.mean, atol=1e-12)
