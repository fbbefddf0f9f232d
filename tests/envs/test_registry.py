"""Environments and pools by name."""

import subprocess
import sys

import pytest

from procurl.envs import environment_names, make_array_env, make_pool


def test_every_name_gives_an_environment_and_a_pool_that_it_can_play():
    for name in environment_names():
        env, pool = make_array_env(name), make_pool(name, "uniform", size=8, seed=1)
        assert env.contexts_of(pool).shape == (8, len(env.context_names))
        assert make_pool(name, "uniform", size=8, seed=1).fingerprint == pool.fingerprint


def test_an_unknown_name_is_refused_with_the_known_ones():
    for make in (make_array_env, make_pool):
        with pytest.raises(ValueError, match="Known environments: pointmass-s, pointmass-d, basic"):
            make("cartpole")


def test_importing_the_package_loads_no_heavy_one():
    heavy = ("jax", "torch", "stable_baselines3", "PIL", "procurl.envs.karel")
    code = f"import procurl.envs, sys; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
