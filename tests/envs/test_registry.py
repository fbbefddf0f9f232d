"""Environments and pools by name."""

import subprocess
import sys

import numpy as np
import pytest

from procurl.envs import environment_names, make_array_env, make_host_env, make_pool


def test_every_name_gives_an_environment_and_a_pool_that_it_can_play():
    for name in environment_names():
        env, pool = make_host_env(name), make_pool(name, "uniform", size=8, seed=1)
        assert env.contexts_of(pool).shape == (8, len(env.context_names))
        assert make_pool(name, "uniform", size=8, seed=1).fingerprint == pool.fingerprint


def test_what_the_engine_compiles_follows_the_rules_of_what_the_host_steps():
    pytest.importorskip("mujoco.mjx")
    for name in environment_names():
        compiled, host = make_array_env(name), make_host_env(name)
        for fact in ("horizon", "context_names", "n_actions", "noise_shape", "start_noise_shape"):
            assert getattr(compiled, fact) == getattr(host, fact)
        for bounds in ("observation_low", "observation_high", "action_low", "action_high"):
            np.testing.assert_array_equal(getattr(compiled, bounds), getattr(host, bounds))
        assert compiled.default_pool().fingerprint == host.default_pool().fingerprint


def test_an_unknown_name_is_refused_with_the_known_ones():
    for make in (make_array_env, make_host_env, make_pool):
        with pytest.raises(ValueError, match="Known environments: pointmass-s, pointmass-d, basic"):
            make("cartpole")


def test_importing_the_package_loads_no_heavy_one():
    heavy = ("jax", "torch", "stable_baselines3", "PIL", "mujoco", "procurl.envs.karel.dynamics")
    code = f"import procurl.envs, sys; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
