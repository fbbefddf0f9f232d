"""Commands with an environment of a user that does what it should not."""

import pytest

pytest.importorskip("stable_baselines3")

from procurl.cli import main
from tests.experiments.quick_commands import empty_figures, training_here

CODE = """
from tests.experiments.corridor import Corridor


class Unclosable(Corridor):
    def close(self):
        raise RuntimeError("no window")


class Ending(Corridor):
    def step(self, action):
        raise SystemExit(3)


class Unmade(Corridor):
    def __init__(self):
        raise SystemExit("no license")


class Spaceless(Corridor):
    observation_space = None
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with environments and a pool."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "faulty.py").write_text(CODE)
    (tmp_path / "tasks.csv").write_text("length\n1\n3\n6\n")
    return tmp_path


def check(capsys, env):
    """(exit status, output, error)."""
    status = main(["check", f"faulty.py:{env}", "--pool", "tasks.csv", "--steps", "200"])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def train(capsys, env, *more):
    """(exit status, error)."""
    words = ["train", f"faulty.py:{env}", "--pool", "tasks.csv", "--seeds", "1", "--steps", "64"]
    with training_here(), empty_figures():
        status = main([*words, "--strategy", "iid", "--out", "out", *more])
    return status, capsys.readouterr().err


def test_a_check_is_printed_although_close_fails(folder, capsys):
    status, out, _ = check(capsys, "Unclosable")
    assert status == 0
    assert "ok       tasks     all 3 first observations differ" in out
    assert "note     close     close() of the environment raised RuntimeError: no window" in out


def test_training_warns_once_of_a_close_that_fails(folder, capsys):
    status, error = train(capsys, "Unclosable", "--engine", "sb3", "--set", "n_steps=64")
    assert status == 0
    warning = "warning: faulty.py:Unclosable: close() of the environment raised RuntimeError: no w"
    assert warning in error
    assert error.count("close()") == 2
    assert "Training ignores it: correct close()" in error


def test_an_environment_whose_constructor_ends_the_process_is_named(folder, capsys):
    status, out, error = check(capsys, "Unmade")
    assert (status, out) == (2, "")
    assert error.startswith("procurl check: faulty.py:Unmade failed: SystemExit: no license (line")


def test_a_missing_space_is_named(folder, capsys):
    message = "faulty.py:Spaceless must have an observation_space from gymnasium.spaces, got None: "
    status, out, error = check(capsys, "Spaceless")
    assert (status, out) == (2, "")
    assert error.startswith(f"procurl check: {message}")
    status, error = train(capsys, "Spaceless")
    assert status == 2
    assert error.startswith(f"procurl train: {message}")


def test_an_environment_that_ends_the_process_is_an_error_with_its_task(folder, capsys):
    status, out, _ = check(capsys, "Ending")
    assert status == 1
    assert "problem  errors    the environment raised SystemExit: 3" in out
    status, error = train(capsys, "Ending", "--engine", "sb3", "--set", "n_steps=64")
    assert status == 2
    assert "procurl train: the environment raised SystemExit: 3" in error
    assert "), in step 1 of task " in error
