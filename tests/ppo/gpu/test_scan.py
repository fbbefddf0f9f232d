"""A packed scan gives the same bits as `jax.lax.scan`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from procurl.envs import make_array_env, make_pool
from procurl.ppo.actor import Actor
from procurl.ppo.collect import head_of
from procurl.ppo.gpu import scan as gpu_scan
from procurl.ppo.gpu.scan import packed_scan
from procurl.ppo.learning.networks import actor_critic, init_params
from procurl.ppo.learning.settings import paper_settings


def assert_same(ours, theirs) -> None:
    def check(a, b) -> None:
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert_array_equal(_data(a), _data(b))

    jax.tree.map(check, ours, theirs)


def _data(leaf):
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def mixed_step(carry, drawn):
    """Floats with NaN and −0, integers, booleans, bytes, keys, scalars and an array of size 0."""
    key, draw = jax.random.split(carry["key"])
    total = carry["total"] + drawn["reward"] + jax.random.normal(draw, (3, 2))
    ended = drawn["ended"] | (total.sum() > 1.0)
    following = {"key": key, "total": jnp.where(ended, -0.0, total), "byte": carry["byte"] + 1}
    outputs = (total / total[0, 0], ended, drawn["task"] * 2, carry["byte"], drawn["none"])
    return following, outputs


def mixed_inputs():
    rng = np.random.default_rng(0)
    carry = {
        "key": jax.random.key(0),
        "total": jnp.zeros((3, 2)),
        "byte": jnp.zeros(2, jnp.uint8),
    }
    inputs = {
        "reward": jnp.asarray([0.5, jnp.nan, -0.0, jnp.inf, 1.0], jnp.float32),
        "ended": jnp.asarray(rng.random((5, 2)) < 0.5),
        "task": jnp.asarray(rng.integers(-(2**31), 2**31 - 1, (5, 2, 2)), jnp.int32),
        "none": jnp.zeros((5, 2, 0)),
    }
    return carry, inputs


@pytest.mark.parametrize("runs", [None, 3])
def test_arrays_of_any_kind_come_back_as_from_lax_scan(runs):
    carry, inputs = mixed_inputs()

    def both(scale):
        scaled = {**inputs, "reward": inputs["reward"] * scale}
        return packed_scan(mixed_step, carry, scaled), jax.lax.scan(mixed_step, carry, scaled)

    scales = jnp.float32(1.0) if runs is None else jnp.arange(1.0, runs + 1.0)
    ours, theirs = jax.jit(both if runs is None else jax.vmap(both))(scales)
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["pointmass-s", "basickarel"])
def test_environments_are_stepped_to_the_same_bits(name, monkeypatch):
    env = make_array_env(name)
    network = actor_critic(paper_settings(name), head_of(env))
    actor = Actor(env, network, n_envs=3)
    contexts = jnp.asarray(env.contexts_of(make_pool(name)))[:50]
    params = init_params(network, 0, actor.observation_size)
    cumulative = jnp.cumsum(jnp.ones(50))
    keys = jax.random.split(jax.random.key(1), 3)

    def collected():
        lanes = actor.begin(contexts, cumulative, keys[0], keys[1])
        return jax.jit(
            lambda lanes: actor.collect(contexts, params, lanes, cumulative, keys[2], 40)
        )(lanes)

    theirs = collected()
    monkeypatch.setattr(gpu_scan.jax, "default_backend", lambda: "gpu")
    assert_same(collected(), theirs)
