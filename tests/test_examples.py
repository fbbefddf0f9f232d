"""The example scripts run with few steps and print their results."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium.envs.classic_control import CartPoleEnv

from procurl import Evidence, make_strategy
from procurl.strategies import registry

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(monkeypatch, capsys, name, *arguments):
    """The output of the script."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_every_example_is_tested():
    tried = {
        "cartpole_contexts.py",
        "cartpole_space.py",
        "cartpole_torch.py",
        "minigrid_levels.py",
        "dict_tasks.py",
        "own_loop.py",
        "own_strategy.py",
        "language_model_additions.py",
    }
    assert {path.name for path in EXAMPLES.glob("*.py")} == tried


def test_cartpole_with_poles_as_contexts(monkeypatch, capsys):
    printed = run(monkeypatch, capsys, "cartpole_contexts.py", "--steps", "3000")
    assert "steps held, mean over the pool" in printed
    assert printed.count("most likely next: length") == 3


@pytest.mark.soak
def test_cartpole_over_a_space_and_a_pool(monkeypatch, capsys):
    few = ("--steps", "8192", "--seeds", "2", "--size", "20", "--pool-size", "20")
    printed = run(monkeypatch, capsys, "cartpole_space.py", *few)
    assert "space, seed 1: " in printed
    assert "pool, seed 1: " in printed
    assert "space less pool: " in printed


def test_any_cartpole_moves_as_that_of_gymnasium():
    example = runpy.run_path(str(EXAMPLES / "cartpole_space.py"))
    length, pole, cart, gravity, force = 0.7, 0.2, 1.5, 12.0, 8.0
    theirs = CartPoleEnv()
    theirs.reset(seed=0)
    theirs.length, theirs.masspole, theirs.masscart = length, pole, cart
    theirs.gravity, theirs.force_mag = gravity, force
    theirs.total_mass, theirs.polemass_length = pole + cart, pole * length
    env = example["AnyCartPole"]()
    context = np.array([[length, pole, cart, gravity, force]])
    state = env.initial(context)._replace(motion=np.array([theirs.state], dtype=np.float32))
    for action in (0, 1, 1, 1, 0):
        expected = theirs.step(action)[0]
        state = env.step(state, np.array([action]), np.zeros((1, 0))).state
        np.testing.assert_allclose(state.motion[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("strategy", ["procurl", "plr"])
def test_cartpole_in_a_vector_environment(monkeypatch, capsys, strategy):
    arguments = ("--steps", "2560", "--strategy", strategy)
    printed = run(monkeypatch, capsys, "cartpole_torch.py", *arguments)
    assert printed.startswith("step 2560: mean return over the pool ")
    assert 5 < float(printed.split()[-1]) <= 200


# Warnings of other packages at import are not ours to fix.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_minigrid_with_level_seeds(monkeypatch, capsys):
    pytest.importorskip("minigrid")
    game = ("--game", "MiniGrid-Empty-5x5-v0", "--levels", "4")
    printed = run(monkeypatch, capsys, "minigrid_levels.py", *game, "--steps", "2048")
    assert "training levels: mean return" in printed
    assert "unseen levels" in printed


def test_dicts_as_tasks(monkeypatch, capsys):
    printed = run(monkeypatch, capsys, "dict_tasks.py", "--steps", "3000")
    assert "orders delivered in time" in printed
    assert "'slip'" in printed


@pytest.mark.soak
def test_a_custom_training_loop(monkeypatch, capsys, tmp_path):
    few = ("--updates", "12", "--seeds", "1", "--strategies", "procurl")
    printed = run(monkeypatch, capsys, "own_loop.py", "--out", str(tmp_path), *few)
    assert printed.startswith("procurl, seed 0, step 10240: mean return ")
    assert "procurl, seed 0, step 12288: " in printed
    assert "tasks in play" in printed
    assert (tmp_path / "report.html").exists()


def test_a_strategy_of_ones_own(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    runpy.run_path(str(EXAMPLES / "own_strategy.py"))
    strategy = make_strategy("halfway", memory=0.5)
    state = strategy.init(2)
    assert strategy.probabilities(state).tolist() == [0.5, 0.5]
    for wins in ([2, 0], [1, 2]):
        state = strategy.update(state, Evidence(step=0, wins=np.array(wins), losses=np.zeros(2)))
    # Wins 2 and 2, thus rates 3/4 and 3/4; with two losses of the first, 3/6.
    np.testing.assert_allclose(strategy.probabilities(state), [0.5, 0.5])
    lost = state._replace(losses=np.array([2.0, 0.0]))
    np.testing.assert_allclose(strategy.probabilities(lost), [4 / 7, 3 / 7])  # 1/4 and 3/16
    with pytest.raises(ValueError, match="memory must be from 0 to 1, got 2"):
        make_strategy("halfway", memory=2.0)


@pytest.mark.soak
def test_a_strategy_of_ones_own_on_the_command_line(tmp_path):
    command = [sys.executable, EXAMPLES / "own_strategy.py", "compare", "pointmass-s"]
    few = ["--strategies", "halfway", "iid", "--seeds", "2", "--steps", "2048", "--workers", "1"]
    done = subprocess.run([*command, *few, "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "halfway" in done.stdout


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_language_model_learns_to_add(monkeypatch, capsys, tmp_path):
    pytest.importorskip("trl")
    few = ("--seeds", "2", "--steps", "4", "--every", "2", "--warm-up", "2")
    printed = run(monkeypatch, capsys, "language_model_additions.py", "--out", str(tmp_path), *few)
    assert printed.count("correct after 1,024 samples") == 4
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "signal.png").exists()
