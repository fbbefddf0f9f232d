"""`procurl check`: its table, its advice, its exit status."""

import textwrap

import pytest

from procurl.cli import main

pytest.importorskip("gymnasium")

FILE = """
import gymnasium
import numpy as np
from gymnasium import spaces
from procurl import TaskEnv, TaskPool


class Corridor(gymnasium.Env):
    def __init__(self):
        self.observation_space = spaces.Box(0.0, 10.0, (2,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.length = 3.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.steps = 0
        return self.seen(), {}

    def step(self, action):
        self.place, self.steps = self.place + int(action), self.steps + 1
        won = self.place >= self.length
        return self.seen(), float(won), won, self.steps == 10, {"is_success": won}

    def seen(self):
        return np.array([self.length, self.place], dtype=np.float32)


def set_length(env, task):
    env.unwrapped.length = float(task[0])


def tasks():
    return TaskPool([[1.0], [2.0], [5.0]], names=["length"])


def with_tasks():
    return TaskEnv(Corridor(), tasks(), set_length)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with an environment and a pool."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "corridor.py").write_text(FILE)
    (tmp_path / "tasks.csv").write_text("length\n1\n2\n5\n8\n")
    return tmp_path


def check(capsys, *arguments):
    """(exit status, output, error)."""
    status = main(["check", *arguments, "--steps", "500"])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def program(output):
    """The lines to paste."""
    pasted = output.partition("Stable-Baselines3:\n\n")[2].partition("\nOn the command line")[0]
    return textwrap.dedent(pasted)


def test_a_sound_environment_gets_a_table_a_program_and_the_next_command(folder, capsys):
    env, setter = "corridor.py:Corridor", "corridor.py:set_length"
    status, out, _ = check(capsys, env, "--pool", "tasks.csv", "--set-task", setter)
    assert status == 0
    assert "ok       tasks     all 4 first observations differ" in out
    assert (
        "Strategy: procurl, for any algorithm. Compare it with iid; also worth a comparison: "
        "procurl-val, because the critic can tell tasks apart by their first observations."
    ) in " ".join(out.split())
    assert program(out) == textwrap.dedent(
        """\
        from stable_baselines3 import PPO
        from procurl import TaskEnv, TaskPool
        from procurl.sb3 import CurriculumCallback
        from corridor import Corridor, set_length

        env = TaskEnv(Corridor(), TaskPool.from_csv("tasks.csv"), set_length)
        model = PPO("MlpPolicy", env)
        model.learn(100_000, callback=CurriculumCallback("procurl"))
        """
    )
    assert " ".join(out.partition("On the command line:")[2].replace("\\\n", "").split()) == (
        f"procurl compare {env} --pool tasks.csv --set-task {setter} --strategies procurl iid"
    )
    assert max(len(line) for line in out.splitlines()) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ("corridor.py:Corridor", "--pool", "tasks.csv", "--set-task", "corridor.py:set_length"),
        (
            "corridor.py:Corridor",
            "--pool",
            "corridor.py:tasks",
            "--set-task",
            "corridor.py:set_length",
        ),
        ("corridor.py:with_tasks",),
        ("CartPole-v1", "--pool", "seeds:20"),
        ("pointmass-s", "--seconds", "0.5"),
    ],
)
def test_the_program_runs_as_it_is_printed(arguments, folder, capsys):
    pytest.importorskip("stable_baselines3")
    status, out, _ = check(capsys, *arguments)
    assert status == 0
    lines = program(out)
    assert "100_000" in lines
    short = lines.replace("100_000", "16").replace(", env)", ", env, n_steps=16, batch_size=16)")
    names = {}
    exec(short, names)
    assert names["model"].num_timesteps == 16
    # As many lines as promised.
    assert len(lines.partition("\n\n")[2].splitlines()) == 3


def test_a_program_names_files_as_they_are_called(folder, capsys):
    (folder / "tasks.csv").rename(folder / "tâches-🎲.csv")
    pool = ["--pool", "tâches-🎲.csv", "--set-task", "corridor.py:set_length"]
    _, out, _ = check(capsys, "corridor.py:Corridor", *pool)
    assert 'TaskPool.from_csv("tâches-🎲.csv")' in program(out)


def test_files_in_a_folder_are_imported_from_it(folder, capsys):
    (folder / "envs").mkdir()
    (folder / "corridor.py").rename(folder / "envs" / "lab.py")
    _, out, _ = check(capsys, "envs/lab.py:with_tasks")
    assert "from envs.lab import with_tasks\n" in program(out)


def test_a_program_for_files_elsewhere_says_where_it_must_be(folder, capsys, monkeypatch):
    (folder / "work").mkdir()
    monkeypatch.chdir(folder / "work")
    _, out, _ = check(capsys, "../corridor.py:with_tasks")
    assert f"In your own program in {folder.resolve()}, with Stable-Baselines3:\n" in out
    monkeypatch.chdir(folder)
    _, out, _ = check(capsys, "corridor.py:with_tasks")
    assert "In your own program, with Stable-Baselines3:\n" in out


def test_a_forgotten_task_is_status_1_and_gets_no_program(folder, capsys):
    status, out, _ = check(capsys, "corridor.py:Corridor", "--pool", "tasks.csv")
    assert status == 1
    assert "problem  tasks     the task changes nothing" in out
    assert out.endswith("1 problem: training would be pointless\n")
    assert "Stable-Baselines3" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["corridor.py:Corridor"], "has no pool of tasks: pass --pool FILE.csv"),
        (["corridor.py:Coridor", "--pool", "tasks.csv"], "Did you mean 'corridor.py:Corridor'?"),
        (["nowhere.py:make", "--pool", "tasks.csv"], "nowhere.py does not exist"),
        (["CartPole-v1", "--pool", "seeds:none"], "must be a positive integer, got 'seeds:none'"),
        (["CartPole-v1", "--pool", "seed:10"], "is not a file; for seeds write seeds:10"),
        (["CartPole-v1", "--pool", "seeds:9", "--seconds", "0"], "seconds must be a finite number"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, message, folder, capsys):
    status, out, error = check(capsys, *arguments)
    assert (status, out) == (2, "")
    assert error.startswith("procurl check: ")
    assert message in error
    assert error.count("\n") == 1
