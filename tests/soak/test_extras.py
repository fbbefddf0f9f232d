"""Every extra alone: what it promises works, and what it lacks is an error that names the extra."""

import json
import shutil
import tomllib

import pytest

from tests.soak.packages import ROOT, run
from tests.soak.test_wheel import THREE_LINES

pytestmark = pytest.mark.soak
CONSTRAINTS = ("--constraint", ROOT / "constraints.txt")
# A package, the extra that has it, and what cannot be done without.
NEEDS = (
    ("PIL", "report", "from procurl.envs import karel_picture"),
    ("jax", "jax", "from procurl.ppo import Runs"),
    ("gymnasium", "sb3", "from procurl import TaskEnv"),
    ("stable_baselines3", "sb3", "import procurl.sb3"),
    ("mujoco", "mujoco", "import procurl.envs.mujoco.library"),
    ("trl", "trl", "import procurl.trl"),
    (
        "ray",
        "ray",
        "from procurl.experiments.running.ray_backend import RayBackend; RayBackend()",
    ),
)
MISSING = f"""
import json
from importlib.util import find_spec

def error_of(code):
    try:
        exec(code)
    except ImportError as error:
        return str(error)

needs = [need for need in {NEEDS!r} if find_spec(need[0]) is None]
print(json.dumps([(extra, error_of(code)) for _, extra, code in needs]))
"""
TRAIN = """
from pathlib import Path
from procurl.experiments.comparison import compare
from procurl.experiments.request import ComparisonRequest, TrainingOptions

if __name__ == "__main__":
    training = TrainingOptions(steps=4096)
    print(compare(ComparisonRequest("pointmass-s", ["procurl"], 1, Path("runs"), training)).table)
"""
MUJOCO = """
import gymnasium
import mujoco.mjx
import procurl.envs

for name in ("BallCatching", "AntGoal"):
    env = gymnasium.make(f"procurl/{name}-v0")
    env.reset(seed=0, options={"task": 3})
    assert env.observation_space.contains(env.step(env.action_space.sample())[0])
print("stepped")
"""
RAY = """
from procurl.experiments.running.ray_backend import RayBackend

with RayBackend(use_gpus=False) as backend:
    print(backend.device, backend.resources["CPU"] > 0)
"""


@pytest.fixture(scope="module")
def place(outside):
    """A working directory without anything that could be imported."""
    folder = outside / "extras"
    folder.mkdir()
    return folder


@pytest.fixture
def with_extra(request, wheel, uv):
    """The programs of an environment with one extra."""
    return uv.environment(request.param, *CONSTRAINTS, f"{wheel}[{request.param}]", "pytest")


def alone(extra):
    return pytest.mark.parametrize("with_extra", [extra], indirect=True, ids=[extra])


def missing(programs, place):
    """What the errors name that are raised in an environment."""
    errors = json.loads(run(programs / "python", "-W", "ignore", "-c", MISSING, cwd=place))
    for extra, error in errors:
        assert error is not None, extra
        assert f"pip install 'procurl[{extra}]'" in error
    return {extra for extra, _ in errors}


def test_every_extra_is_tested():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tested = {
        mark.args[1][0]
        for test in globals().values()
        for mark in getattr(test, "pytestmark", ())
        if callable(test) and mark.args[:1] == ("with_extra",)
    }
    assert tested == set(written["project"]["optional-dependencies"])


@alone("jax")
def test_jax_trains_and_keeps_the_results(with_extra, place):
    (place / "train.py").write_text(TRAIN)
    assert "procurl" in run(with_extra / "python", "train.py", cwd=place)
    assert (place / "runs/results.sqlite").exists()
    assert missing(with_extra, place) == {"report", "sb3", "mujoco", "trl", "ray"}


@alone("report")
def test_report_draws_results_of_another_environment(with_extra, place):
    assert run(with_extra / "procurl", "report", "runs", cwd=place) == "report: runs/report.html\n"
    assert (place / "runs/curves-train.png").exists()
    assert missing(with_extra, place) == {"jax", "sb3", "mujoco", "trl", "ray"}


@alone("sb3")
def test_sb3_trains(with_extra, place):
    shown = run(with_extra / "python", "-W", "ignore", "-c", THREE_LINES, cwd=place)
    assert "learned 256" in shown
    assert "procurl compare" in run(with_extra / "procurl", "check", "pointmass-s", cwd=place)
    assert missing(with_extra, place) == {"report", "jax", "mujoco", "trl", "ray"}


@alone("mujoco")
def test_mujoco_steps_its_environments(with_extra, place):
    shown = run(with_extra / "python", "-W", "ignore", "-c", MUJOCO, cwd=place)
    assert shown.endswith("stepped\n")
    assert missing(with_extra, place) >= {"trl", "ray"}  # Gymnasium, JAX and Pillow come with it


@alone("trl")
def test_trl_trains_a_language_model(with_extra, place):
    for name in ("tests", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, place / name)
    shown = run(
        *(with_extra / "python", "-m", "pytest", "-q", "--noconftest"),
        *("tests/trl/test_trainers.py", "-k", "rewards_reach_the_curriculum"),
        cwd=place,
    )
    assert "2 passed" in shown
    assert missing(with_extra, place) >= {"jax", "sb3", "mujoco", "ray"}


@alone("ray")
def test_ray_starts_a_cluster(with_extra, place):
    assert run(with_extra / "python", "-W", "ignore", "-c", RAY, cwd=place) == "cpu True\n"
    assert missing(with_extra, place) == {"report", "jax", "sb3", "mujoco", "trl"}


@alone("docs")
def test_docs_build_the_site(with_extra, tmp_path):
    for name in ("docs", "examples", "src", "website"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml", ROOT / "CITATION.cff"):
        shutil.copy(path, tmp_path)
    run(with_extra / "mkdocs", "build", "--quiet", "--strict", cwd=tmp_path)
    assert (tmp_path / "build/site/index.html").exists()


@alone("release")
def test_release_builds_the_packages(with_extra, wheel, place):
    run(with_extra / "python", "-m", "build", "--outdir", "dist", wheel.parent / "copy", cwd=place)
    assert len(list((place / "dist").glob("procurl-*"))) == 2


@alone("dev")
def test_dev_checks_the_code(with_extra, tmp_path):
    for name in ("src", "tests", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    run(with_extra / "ruff", "check", ".", cwd=tmp_path)
    assert "0 broken" in run(with_extra / "lint-imports", cwd=tmp_path)
    assert "passed" in run(with_extra / "pytest", "-q", "tests/tasks/test_pool.py", cwd=tmp_path)
