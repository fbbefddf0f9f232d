"""The built package: installed into clean environments outside the checkout, it works there."""

import re
import sys
import sysconfig

import pytest

from tests.soak.packages import run

pytestmark = pytest.mark.soak
HEAVY = ("scipy", "gymnasium", "jax", "matplotlib", "mujoco", "ray", "torch")
OWN_LOOP = """
from procurl import Curriculum, TaskPool
curriculum = Curriculum("procurl", TaskPool([[0.1], [0.5], [0.9]], names=["slope"]), seed=0)
tasks = curriculum.next(8)
curriculum.record(tasks, [1, 0, 0, 0, 1, 1, 0, 1])
print(tasks, curriculum.probabilities().round(3))
"""
THREE_LINES = """
import gymnasium
from stable_baselines3 import PPO
from procurl import TaskEnv, TaskPool
from procurl.sb3 import CurriculumCallback

def set_task(env, task):
    env.unwrapped.length = task[0]

env = TaskEnv(gymnasium.make("CartPole-v1"), TaskPool([[0.3], [0.5], [1.0]]), set_task)
model = PPO("MlpPolicy", env, n_steps=64, n_epochs=1, device="cpu", seed=0)
model.learn(256, callback=CurriculumCallback("procurl"))
print("learned", model.num_timesteps)
"""
DATA = """
from importlib.resources import files
from procurl.experiments import published_number
from procurl.experiments.watching.server import _part
print(published_number("metrics", "pointmass-s", "iid", 1_000_000), len(_part("watch.js")) > 0)
print((files("procurl") / "py.typed").is_file())
from procurl.ppo.gpu.build import SOURCES
print(all((files("procurl.ppo.gpu") / name).is_file() for name in SOURCES))
"""


def make_venv(folder, wheel, *options):
    """A new virtual environment with the wheel; returns its folder of programs."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", *options, wheel, cwd=folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def bare(outside, wheel):
    """With what the package requires and no extra."""
    return make_venv(outside / "bare", wheel)


@pytest.fixture(scope="module")
def full(outside, wheel):
    """With the packages of this environment, but the wheel in place of the checkout."""
    programs = make_venv(outside / "full", wheel, "--no-deps")
    (packages,) = (programs.parent / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return programs


def test_the_bare_package_imports_numpy_alone_and_chooses_tasks(bare, outside):
    code = f"import sys, procurl; print(procurl.__file__, [m for m in {HEAVY} if m in sys.modules])"
    shown = run(bare / "python", "-c", code, cwd=outside)
    assert str(outside) in shown
    assert shown.endswith("[]\n")
    shown = run(bare / "python", "-c", OWN_LOOP, cwd=outside)
    assert shown == "[1 0 0 0 2 2 1 2] [0.251 0.684 0.064]\n"


def test_the_bare_command_line_works_and_names_the_missing_extra(bare, outside):
    assert re.match(r"procurl \d+\.\d+", run(bare / "procurl", "--version", cwd=outside))
    assert "procurl-val" in run(bare / "procurl", "strategies", cwd=outside)
    command = (bare / "procurl", "compare", "pointmass-s", "--steps", "2000")
    assert "pip install 'procurl[report,jax]'" in run(*command, cwd=outside, status=2)
    code = "import procurl.sb3"
    assert "pip install 'procurl[sb3]'" in run(bare / "python", "-c", code, cwd=outside, status=1)


def test_data_files_are_in_the_wheel(full, outside):
    first, *others = run(full / "python", "-c", DATA, cwd=outside).splitlines()
    assert first == "0.36 ± 0.19 True"
    assert others == ["True", "True"]


def test_three_lines_train_with_stable_baselines3(full, outside):
    code = f"import procurl; assert {str(outside)!r} in procurl.__file__\n{THREE_LINES}"
    assert "learned 256" in run(full / "python", "-W", "ignore", "-c", code, cwd=outside)


def test_compare_trains_and_writes_the_report(full, outside):
    # Episodes have at most 100 steps, and the picture of the curriculum needs 100 of them.
    options = ["--strategies", "procurl", "iid", "--seeds", "1", "--steps", "12288", "--out", "out"]
    shown = run(full / "procurl", "compare", "pointmass-s", *options, cwd=outside)
    assert "strategy" in shown
    assert "report: out/report.html\npictures: out/curves-train.png, out/curriculum.png\n" in shown
    assert (outside / "out/report.html").stat().st_size > 50_000
    assert (outside / "out/curves-train.png").exists()
