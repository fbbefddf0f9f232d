"""Environments and pools by name."""

import subprocess
import sys

import pytest

from procurl.envs import make_array_env, make_host_env, make_pool


def test_an_unknown_name_is_refused_with_the_known_ones():
    for make in (make_array_env, make_host_env, make_pool):
        with pytest.raises(ValueError, match="Known environments: pointmass-s, pointmass-d, basic"):
            make("cartpole")


def test_importing_the_package_loads_no_heavy_one():
    heavy = ("jax", "torch", "stable_baselines3", "PIL", "mujoco", "procurl.envs.karel.dynamics")
    code = f"import procurl.envs, sys; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
