"""The oldest versions that the package allows, and every Python that it names."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.packages import ROOT, run

pytestmark = pytest.mark.soak
FILES = ("tests", "benchmarks", "pyproject.toml")
# Warnings of old packages are not ours to fix, and doctests are for the versions of today.
PYTEST = (
    *("-m", "pytest", "-q", "-p", "no:cacheprovider"),
    *("-o", "addopts=--strict-markers", "-o", "filterwarnings=default"),
)
CORE = (
    "tests/curriculum/test_curriculum.py",
    "tests/strategies/test_conformance.py",
    "tests/tasks",
    "tests/evidence",
    "tests/records/test_store.py",
)
ENGINES = (
    "tests/envs/adapters/test_task_env.py",
    "tests/envs/adapters/test_curriculum_env.py",
    "tests/envs/ant_goal",
    "tests/envs/ball_catching",
    "tests/envs/rendering",
    "tests/experiments/analysis/test_figures.py",
    "tests/experiments/running/test_ray_backend.py",
    "tests/policy",
    "tests/ppo/host/test_run.py",
    "tests/ppo/test_runs.py",
    "tests/sb3/test_callback.py",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The tests without the sources, so that they import the installed package."""
    folder = tmp_path_factory.mktemp("copy")
    for name in FILES:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
    return folder


def oldest(uv, folder, *extras):
    """A file of requirements: the oldest version of each package that `pyproject.toml` names."""
    torch = folder / "torch.txt"
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    torch.write_text("\n".join(pin for pin in pins if pin.startswith("torch==")))
    chosen = [option for extra in extras for option in ("--extra", extra)]
    uv(
        *("pip", "compile", ROOT / "pyproject.toml", "--resolution", "lowest-direct", *chosen),
        *("--python", sys.executable, "--constraint", torch, "--output-file", folder / "old.txt"),
    )
    return folder / "old.txt"


def interpreter(version):
    """A Python of this version, or None."""
    named = shutil.which(f"python{version}")
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for python in (named, *installed):
        if python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    return None


def test_the_oldest_versions_train(uv, wheel, copy, tmp_path):
    old = oldest(uv, tmp_path, "jax", "mujoco", "ray", "report", "sb3")
    programs = uv.environment("oldest", "-r", old, wheel, "pytest", "hypothesis", "tensorboard")
    assert "passed" in run(programs / "python", *PYTEST, *CORE, *ENGINES, cwd=copy)


def test_the_oldest_versions_train_language_models(uv, wheel, copy, tmp_path):
    programs = uv.environment("oldest trl", "-r", oldest(uv, tmp_path, "trl"), wheel, "pytest")
    tests = ("tests/trl/test_trainers.py", "-k", "rewards or whole_groups")
    assert "passed" in run(programs / "python", *PYTEST, *tests, cwd=copy)


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_newer_pythons_train(version, uv, wheel, copy):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    requirements = [f"{wheel}[jax,mujoco,report]", "gymnasium", "pytest", "hypothesis"]
    constraints = ("--constraint", ROOT / "constraints.txt")
    programs = uv.environment(version, *constraints, *requirements, python=python)
    assert "passed" in run(programs / "python", *PYTEST, *CORE, "tests/ppo/test_runs.py", cwd=copy)
