"""The packages that documents import from: every name they list exists, and heavy ones wait."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["procurl.envs", "procurl.ppo"])
def test_every_listed_name_exists(package):
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__) > 0
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        module.Nothing  # noqa: B018


@pytest.mark.parametrize(
    ("package", "heavy"),
    [
        ("procurl.envs", ("jax", "torch", "stable_baselines3", "PIL", "mujoco", "scipy")),
        ("procurl.ppo", ("jax", "optax", "flax", "torch", "gymnasium", "mujoco")),
    ],
)
def test_importing_a_package_loads_no_heavy_one(package, heavy):
    code = f"import {package}, sys; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
