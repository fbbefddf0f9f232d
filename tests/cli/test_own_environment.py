"""An environment of a user on the command line: trained, resumed, reported and refused."""

import csv
import io
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("stable_baselines3")

from procurl.cli import main
from procurl.records.store import read_store
from tests.experiments import corridor
from tests.experiments.quick_commands import empty_figures, training_here

CODE = Path(corridor.__file__).read_text()
SHORT = ["--steps", "256", "--eval-every", "128", "--workers", "1"]
SMALL = ["--set", "n_steps=64", "batch_size=64", "n_epochs=1", "policy_layers=8x4"]


@pytest.fixture(scope="module", autouse=True)
def _empty_figures():
    with empty_figures():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of a user, and `out` with one seed of two strategies, trained in another process."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "walk.py").write_text(CODE)
    (folder / "tasks.csv").write_text("length\n1\n3\n6\n")
    (folder / "test.csv").write_text("length\n2\n")
    assert main(command(folder, "--seeds", "1")) == 0
    return folder


def command(folder, *more, name="compare", env="walk.py:Corridor", out="out"):
    words = [name, f"{folder / env}", "--pool", f"{folder / 'tasks.csv'}", *SHORT, *SMALL, *more]
    if name == "compare":
        words += ["--strategies", "procurl-out", "iid"]
    return [*words, "--test-pool", f"{folder / 'test.csv'}", "--out", f"{folder / out}"]


def rows(folder, capsys):
    capsys.readouterr()
    assert main(["export", str(folder)]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_it_is_trained_by_our_ppo_and_recorded(folder, capsys):
    found = rows(folder / "out", capsys)
    assert {row["env"] for row in found} == {"walk.py:Corridor"}
    assert {row["engine"] for row in found} == {"host"}
    assert [(row["strategy"], row["seed"], row["step"]) for row in found] == [
        (strategy, "0", step) for strategy in ("procurl-out", "iid") for step in ("128", "256")
    ]
    assert all(0.0 <= float(row["test_performance"]) <= 1.0 for row in found)
    assert (folder / "out" / "report.html").stat().st_size > 10_000


def test_more_seeds_extend_the_directory_even_if_the_file_has_moved(folder, capsys):
    before = rows(folder / "out", capsys)
    (folder / "moved").mkdir()
    (folder / "moved" / "walk.py").write_text(CODE)
    with training_here():
        assert main(command(folder, "--seeds", "2", env="moved/walk.py:Corridor")) == 0
    shown = capsys.readouterr()
    line = "walk.py:Corridor: our PPO (host engine), 256 steps on 3 tasks, evaluated on all every"
    assert f"{line} 128 steps\n" in shown.err
    assert "procurl-out     2" in shown.out
    after = rows(folder / "out", capsys)
    assert [row for row in after if row["seed"] == "0"] == before
    assert len(after) == 2 * len(before)


def test_a_changed_file_is_refused(folder, capsys):
    (folder / "changed").mkdir()
    changed = folder / "changed" / "walk.py"
    changed.write_text(CODE.replace("LIMIT = 8", "LIMIT = 9"))
    assert main(command(folder, "--seeds", "2", env="changed/walk.py:Corridor")) == 2
    error = capsys.readouterr().err
    assert f"{folder / 'out'} holds another experiment: its environment's code has ch" in error


def test_a_command_that_failed_early_does_not_keep_its_directory(folder, capsys):
    """The remedy of its message changes the environment, the strategies or the pool."""
    (folder / "nan").mkdir()
    file, reward = folder / "nan" / "walk.py", "float(won), won"
    assert reward in CODE
    file.write_text(CODE.replace(reward, "float('nan'), won"))
    words = command(folder, "--seeds", "1", env="nan/walk.py:Corridor", out="failed")
    with training_here():
        assert main(words) == 2
        assert "fix the environment or leave the task out of the pool" in capsys.readouterr().err
        file.write_text(CODE)
        words.remove("procurl-out")
        assert main(words) == 0
    assert {row["strategy"] for row in rows(folder / "failed", capsys)} == {"iid"}
    with read_store(folder / "failed") as store:
        assert store.plan.seeds == {"iid": 1}


def test_an_algorithm_of_stable_baselines3_keeps_its_models(folder, capsys):
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import DQN

    words = ["train", f"{folder / 'walk.py'}:Corridor", "--strategy", "procurl-out", *SHORT]
    words += ["--pool", f"{folder / 'walk.py'}:lengths", "--algo", "DQN", "--seeds", "1"]
    words += [
        "--set",
        "learning_starts=20",
        "buffer_size=300",
        "net_arch=16x8",
        "--out",
        f"{folder / 'dqn'}",
    ]
    with training_here():
        assert main(words) == 0
    shown = capsys.readouterr()
    assert "DQN of Stable-Baselines3 (MlpPolicy), 256 steps on 3 tasks" in shown.err
    assert "for DQN.load" in shown.out
    (model,) = (folder / "dqn").glob("runs/*/*/models/seed-00000.zip")
    loaded = DQN.load(model, device="cpu")
    assert (loaded.buffer_size, loaded.policy.net_arch) == (300, [16, 8])
    with read_store(folder / "dqn") as store:
        assert store.experiment.student == {
            "type": "AlgorithmSettings",
            "algo": "DQN",
            "policy": "MlpPolicy",
            "arguments": {"learning_starts": 20, "buffer_size": 300, "net_arch": [16, 8]},
        }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{}/walk.py"], "{}/walk.py: name the function that makes the environment"),
        (["{}/walk.py:Corridor"], "walk.py:Corridor has no pool of tasks: pass --pool FILE.csv"),
        (["CartPole-v1"], "or --pool seeds:1000 if its levels depend on reset(seed=…)"),
        (["CartPole-v1", "--pool", "seeds:0"], "must be a positive integer, got 'seeds:0'"),
        (["CartPole-v1", "--engine", "jax"], "engine jax compiles pointmass-s"),
        (["CartPole-v1", "--engine", "host", "--algo", "DQN"], "algo needs the engine sb3, got"),
        (["CartPole-v1", "--algo", "SAC"], "SAC cannot be made: The algorithm only supports"),
        (["CartPole-v1", "--algo", "DQNN"], "'DQNN' is not known. Did you mean 'DQN'?"),
        (["CartPole-v1", "--algo", "DQN", "--policy", "MlpPolic"], "Did you mean 'MlpPolicy'?"),
        (["CartPole-v1", "--algo", "DQN", "--set", "lr=1"], "Did you mean 'learning_rate'?"),
        (["CartPole-v1", "--set", "lr=1"], "Did you mean 'learning_rate'?"),
        (["CartPole-v1", "--algo", "DQN", "--set", "net_arch=big"], "such as 64x64, got 'big'"),
        (["CartPole-v1", "--algo", "DQN", "--set", "net_arch=64x0"], "64x64, got '64x0'"),
        (["pointmass-s", "--engine", "sb3", "--policy", "CnnPolicy"], "policy needs an algorithm"),
        (
            ["{}/walk.py:Corridor", "--pool", "seeds:3"],
            "walk.py, line 18), in the reset of task 0 (seed 0); the task is passed as reset(seed=",
        ),
        (["CartPole-v1", "--strategies", "iid", "iid"], "got 'iid' more than once: --seeds sets"),
        (["pointmass-s", "--set-task", "a.py:b"], "set_task is for environments that are not ours"),
        (["CartPole-v1", "--set-task", "a.py:b"], "a.py:b: the file a.py does not exist"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_no_directory(words, message, folder, capsys):
    out = folder / "mistake"
    assert main(["compare", *(word.format(folder) for word in words), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message.format(folder) in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_observations_that_stable_baselines3_cannot_read_are_named(folder, capsys):
    (folder / "talk.py").write_text(
        CODE + "\n\nclass Talk(Corridor):\n"
        "    observation_space = spaces.Dict({'said': spaces.Text(5)})\n"
    )
    words = ["compare", f"{folder / 'talk.py'}:Talk", "--pool", f"{folder / 'tasks.csv'}"]
    assert main([*words, "--out", f"{folder / 'mistake'}"]) == 2
    error = capsys.readouterr().err
    assert "Stable-Baselines3 does not take the Text 'said' in a Dict. Convert it in a" in error


def test_actions_that_start_elsewhere_than_at_0_are_refused(folder, capsys):
    (folder / "shifted.py").write_text(
        CODE + "\n\nclass Shifted(Corridor):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.action_space = spaces.Discrete(2, start=5)\n"
    )
    words = ["compare", f"{folder / 'shifted.py'}:Shifted", "--pool", f"{folder / 'tasks.csv'}"]
    assert main([*words, "--out", f"{folder / 'mistake'}"]) == 2
    error = capsys.readouterr().err
    assert "Stable-Baselines3 counts actions from 0, got Discrete(2, start=5). Declare" in error
    assert not (folder / "mistake").exists()


def test_an_old_step_is_explained_with_the_task(folder, capsys):
    (folder / "old.py").write_text(
        CODE + "\n\nclass Old(Corridor):\n"
        "    def step(self, action):\n"
        "        return super().step(action)[:4]\n"
    )
    assert main(command(folder, "--seeds", "1", env="old.py:Old", out="mistake")) == 2
    error = capsys.readouterr().err
    assert "procurl compare: step 1 of task " in error
    assert ") returned 4 values; Gymnasium's step returns 5: observation, reward, term" in error


def test_an_animation_needs_an_environment_of_ours(folder, capsys):
    words = ["train", "CartPole-v1", "--strategy", "iid", "--render", f"{folder / 'a.gif'}"]
    assert main([*words, "--out", f"{folder / 'mistake'}"]) == 2
    assert "--render draws pointmass-s" in capsys.readouterr().err


def test_results_of_a_file_get_a_short_directory():
    from procurl.cli.training import _folder_name

    assert _folder_name("envs/walk.py:make_walk") == "walk-make_walk"
    assert _folder_name("my.module:make") == "my.module-make"
    assert _folder_name("procurl/PointMass-s-v0") == "procurl-PointMass-s-v0"
    assert _folder_name("pointmass-s") == "pointmass-s"
