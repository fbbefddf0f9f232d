"""`procurl compare` and `train` from the command line to the files, on a few steps."""

import csv
import io

import numpy as np
import pytest

from procurl import load_policy
from procurl.cli import main

STEPS = "2048"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A finished comparison of two strategies, two seeds each."""
    out = tmp_path_factory.mktemp("compared")
    arguments = ["--strategies", "procurl-val", "iid", "--seeds", "2", "--steps", STEPS]
    assert main(["compare", "pointmass-s", *arguments, "--out", str(out)]) == 0
    return out


def exported(out, capsys) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["export", str(out)]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_every_run_has_a_record_at_the_last_step(compared, capsys):
    rows = exported(compared, capsys)
    assert [(row["strategy"], row["seed"], row["step"]) for row in rows] == [
        ("procurl-val", "0", STEPS),
        ("procurl-val", "1", STEPS),
        ("iid", "0", STEPS),
        ("iid", "1", STEPS),
    ]
    assert {row["env_steps"] for row in rows} == {STEPS}
    assert (compared / "curves.png").exists()
    assert (compared / "table.txt").read_text().startswith("strategy")


def test_the_same_command_again_changes_nothing_and_more_seeds_extend(compared, capsys):
    before = exported(compared, capsys)
    arguments = ["--strategies", "iid", "--seeds", "3", "--steps", STEPS, "--out", str(compared)]
    assert main(["compare", "pointmass-s", *arguments]) == 0
    after = exported(compared, capsys)
    assert [row for row in after if (row["strategy"], row["seed"]) != ("iid", "2")] == before
    assert len(after) == len(before) + 1


def test_another_experiment_in_the_same_place_is_refused(compared, capsys):
    assert main(["compare", "pointmass-s", "--steps", "4096", "--out", str(compared)]) == 2
    assert "holds another experiment: steps is 2048, not 4096" in capsys.readouterr().err


def test_train_keeps_models_that_can_act(tmp_path, capsys):
    out, gif = tmp_path / "out", tmp_path / "agent.gif"
    arguments = ["--strategy", "procurl-out:beta=5", "--seeds", "1", "--steps", "1024"]
    command = ["train", "pointmass-s", *arguments, "--out", str(out), "--render", str(gif)]
    assert main(command) == 0
    models = sorted(out.glob("runs/*/*/models/*.json"))
    assert [path.stem for path in models] == ["seed-00000-best", "seed-00000"]
    action = load_policy(models[0]).act(np.zeros(7, dtype=np.float32))
    assert action.shape == (2,)
    assert gif.read_bytes().startswith(b"GIF8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pointmas-s"], "Did you mean 'pointmass-s'?"),
        (["pointmass-s", "--strategies", "idd"], "Did you mean 'iid'?"),
        (["pointmass-s", "--seeds", "0"], "seeds must be an integer of at least 1, got 0"),
        (["pointmass-s", "--steps", "0"], "steps must be an integer of at least 1, got 0"),
        (["pointmass-s", "--engine", "tf"], "engine must be one of jax"),
        (["pointmass-s", "--pool", "/nowhere.csv"], "No such file"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_directory(arguments, message, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["compare", *arguments, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_directory_in_use_is_refused(tmp_path, capsys):
    from procurl.experiments.local import sole_user

    with sole_user(tmp_path):
        assert main(["compare", "pointmass-s", "--steps", "1024", "--out", str(tmp_path)]) == 2
    assert "is in use by another procurl" in capsys.readouterr().err
