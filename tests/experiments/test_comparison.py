"""`procurl compare` and `train` from the command line to the files, on a few steps."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from procurl import load_policy
from procurl.cli import main
from procurl.envs import make_pool
from procurl.envs.point_mass import picture
from procurl.experiments.batches import RunBatch
from procurl.experiments.comparison import further_runs, model_path, render
from procurl.records.experiment import Contender, Experiment, RunPlan
from procurl.records.store import open_experiment, read_store
from tests.experiments.quick_commands import empty_figures, training_here

STEPS = "2048"


@pytest.fixture(scope="module", autouse=True)
def _empty_figures():
    with empty_figures():
        yield


@pytest.fixture
def _training_here():
    with training_here():
        yield


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A finished comparison of two strategies, two seeds each, trained in other processes."""
    out = tmp_path_factory.mktemp("compared")
    arguments = ["--strategies", "procurl-val", "iid", "--seeds", "2", "--steps", STEPS]
    assert main(["compare", "pointmass-s", *arguments, "--out", str(out)]) == 0
    return out


def test_a_strategy_that_cannot_use_the_pool_is_named_before_any_is_trained(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--strategies", "iid", "alp-gmm", "--seeds", "1", "--steps", STEPS]
    assert main(["compare", "basickarel", *arguments, "--out", str(out)]) == 2
    assert "alp-gmm needs a pool with contexts" in capsys.readouterr().err
    assert not out.exists()


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
    assert (compared / "table.txt").read_text().startswith("strategy")
    assert "<html" in (compared / "report.html").read_text()


def test_picks_and_snapshots_of_every_run_are_recorded(compared):
    with read_store(compared) as store:
        results = store.results()
    for run in results.runs:
        (last,) = results.detail(run)
        assert len(last.picks) > 10
        assert set(last.picks.tolist()) <= set(range(100))
        assert last.snapshot.probabilities.sum() == pytest.approx(1.0, rel=1e-5)
        assert last.snapshot.returns.mean() == pytest.approx(last.performance)
        assert (last.snapshot.success is None) == (run.strategy == "iid")
    assert results.facts["finished_runs"] == 4
    assert results.facts["command"].startswith("procurl compare pointmass-s --strategies")


@pytest.mark.usefixtures("_training_here")
def test_the_same_command_again_changes_nothing_and_more_seeds_extend(compared, capsys):
    before = exported(compared, capsys)
    arguments = ["--strategies", "iid", "--seeds", "3", "--steps", STEPS, "--out", str(compared)]
    assert main(["compare", "pointmass-s", *arguments]) == 0
    after = exported(compared, capsys)
    assert [row for row in after if (row["strategy"], row["seed"]) != ("iid", "2")] == before
    assert len(after) == len(before) + 1


@pytest.mark.usefixtures("_training_here")
def test_a_directory_with_more_runs_than_requested_says_so(compared, capsys):
    arguments = ["--strategies", "iid", "--seeds", "1", "--steps", STEPS, "--out", str(compared)]
    assert main(["compare", "pointmass-s", *arguments]) == 0
    shown = capsys.readouterr()
    line = f"{compared} has more runs than requested, and all are shown: "
    assert f"{line}procurl-val with 2 seeds; iid with 3 seeds, not 1\n" in shown.err
    assert "procurl-val     2" in shown.out
    assert further_runs(RunPlan({"iid": 3}), RunPlan({"iid": 3, "plr": 1})) == ""


@pytest.mark.usefixtures("_training_here")
def test_ascii_gets_plain_signs(compared, monkeypatch):
    arguments = ["--strategies", "iid", "--seeds", "3", "--steps", STEPS, "--out", str(compared)]
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["compare", "pointmass-s", *arguments]) == 0
        assert b"+/-" in stdout.buffer.getvalue()
    assert "±" in (compared / "table.txt").read_text(encoding="utf-8")


@pytest.mark.usefixtures("_training_here")
def test_a_lost_store_is_filled_from_the_checkpoints(compared, capsys, tmp_path):
    """Without training: the numbers are those of before, to the second."""
    before = exported(compared, capsys)
    copy = tmp_path / "copy"
    shutil.copytree(compared, copy)
    (copy / "results.sqlite").write_bytes((copy / "results.sqlite").read_bytes()[:5000])
    arguments = ["--strategies", "procurl-val", "iid", "--seeds", "2", "--steps", STEPS]
    command = ["compare", "pointmass-s", *arguments, "--out", str(copy)]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "results.sqlite is damaged" in error
    assert "Delete all files results.sqlite*" in error
    (copy / "results.sqlite").unlink()
    assert main(command) == 0
    assert exported(copy, capsys) == [row for row in before if row["seed"] != "2"]


@pytest.mark.soak  # starts a cluster
def test_a_ray_cluster_gives_what_this_machine_gives(compared, capsys, tmp_path):
    pytest.importorskip("ray")
    out = tmp_path / "ray"
    arguments = ["--strategies", "iid", "--seeds", "2", "--steps", STEPS, "--out", out]
    procurl = Path(sys.executable).with_name("procurl")
    command = [procurl, "compare", "pointmass-s", *arguments, "--backend", "ray"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    here, there = (
        [{**row, "seconds": ""} for row in exported(folder, capsys)] for folder in (compared, out)
    )
    assert there == [row for row in here if row["strategy"] == "iid" and row["seed"] != "2"]
    assert len(there) == 2


@pytest.mark.usefixtures("_training_here")
def test_a_report_that_fails_does_not_cost_the_runs_their_success(
    compared, capsys, caplog, monkeypatch
):
    def fail(folder):
        raise RuntimeError("the figure is too wide")

    arguments = ["--strategies", "procurl-val", "iid", "--seeds", "2", "--steps", STEPS]
    command = ["compare", "pointmass-s", *arguments, "--out", str(compared)]
    monkeypatch.setattr("procurl.experiments.report.write_report", fail)
    capsys.readouterr()
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("strategy")
    assert "\n\nMean return over the pool ± 95% interval (from 3 runs on).\n" in printed
    assert "report:" not in printed
    assert f"records: procurl export {compared}" in printed
    assert "pictures:" not in printed
    message = caplog.messages[-1]
    assert "the report could not be written (RuntimeError: the figure is too wide)" in message
    assert message.endswith(f"run: procurl report {compared}")


def test_another_experiment_in_the_same_place_is_refused(compared, capsys):
    assert main(["compare", "pointmass-s", "--steps", "4096", "--out", str(compared)]) == 2
    assert "holds another experiment: steps is 2048, not 4096" in capsys.readouterr().err
    again = ["compare", "pointmass-s", "--steps", STEPS, "--out", str(compared)]
    assert main([*again, "--ppo", "gamma=0.5"]) == 2
    assert "holds another experiment: student is" in capsys.readouterr().err


@pytest.mark.usefixtures("_training_here")
def test_train_keeps_models_that_can_act(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(picture, "SIZE", 100)
    monkeypatch.setattr(picture, "OVERSAMPLING", 1)
    out, gif = tmp_path / "out", tmp_path / "agent.gif"
    arguments = ["--strategy", "procurl-out:beta=5", "--seeds", "1", "--steps", "1024"]
    command = ["train", "pointmass-s", *arguments, "--out", str(out), "--render", str(gif)]
    assert main(command) == 0
    models = sorted(out.glob("runs/*/*/models/*.json"))
    assert [path.stem for path in models] == ["seed-00000-best", "seed-00000"]
    action = load_policy(models[0]).act(np.zeros(7, dtype=np.float32))
    assert action.shape == (2,)
    assert gif.read_bytes().startswith(b"GIF8")


def test_a_picture_is_of_the_strategy_that_was_asked_for(tmp_path, monkeypatch):
    """And of its first run with a model: seed 1, as seed 0 was stopped."""
    plan = RunPlan({"iid": 2, "procurl-val:beta=5": 2})
    what = Experiment("pointmass-s", "jax", 10, width=2)
    open_experiment(tmp_path, what, make_pool("pointmass-s"), plan).close()
    first, second = (RunBatch(Contender.parse(label), 0, 2) for label in plan.seeds)
    models = {
        "iid": model_path(tmp_path, first, 0),
        "procurl-val:beta=5": model_path(tmp_path, second, 1),
    }
    for path in (*models.values(), model_path(tmp_path, first, 1)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(f"{path.name}-best.json").touch()
    drawn = []
    monkeypatch.setattr("procurl.policy.load_policy", lambda path: path)
    monkeypatch.setattr(
        "procurl.envs.rendering.playback.write_gif", lambda *given: drawn.append(given[-1])
    )
    for strategy in (None, *plan.seeds):
        render(tmp_path, tmp_path / "agent.gif", strategy=strategy)
    assert drawn == [f"{models[label]}-best" for label in ("iid", *plan.seeds)]
    with pytest.raises(ValueError, match="strategy 'plr' is not known"):
        render(tmp_path, tmp_path / "agent.gif", strategy="plr")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pointmas-s"], "Did you mean 'pointmass-s'?"),
        (["pointmass-s", "--strategies", "idd"], "Did you mean 'iid'?"),
        (["pointmass-s", "--strategies", "easy,iid"], "'easy,iid' is not known: separate names by"),
        (["pointmass-s", "--seeds", "0"], "seeds must be an integer of at least 1, got 0"),
        (["pointmass-s", "--steps", "0"], "steps must be an integer of at least 1, got 0"),
        (["pointmass-s", "--engine", "tf"], "engine must be one of jax, host, sb3, got 'tf'"),
        (
            ["pointmass-s", "--engine", "host"],
            "engine host is for ballcatching, antgoal and environments that are not ours, got",
        ),
        (["pointmass-s", "--workers", "0"], "workers must be an integer of at least 1, got 0"),
        (
            ["pointmass-s", "--backend", "ray", "--workers", "2"],
            "workers needs the backend local, got 2: Ray",
        ),
        (["pointmass-s", "--eval-episodes", "0"], "eval_episodes must be an integer of at least 1"),
        (["pointmass-s", "--eval-every", "-1"], "eval_every must be an integer of at least 1"),
        (
            ["pointmass-s", "--eval-every", "1000"],
            "eval_every must be at least the 1024 steps of an update, got 1000",
        ),
        (["pointmass-s", "--backend", "slurm"], "backend must be one of local, ray"),
        (["pointmass-s", "--ray-address", "auto"], "ray_address needs the backend ray"),
        (
            ["pointmass-s", "--backend", "ray", "--ray-address", "ray://head:10001"],
            "ray_address must be auto or HOST:PORT",
        ),
        (["pointmass-s", "--n-envs", "3"], "n_envs must divide the 1024 steps of an update, got 3"),
        (["pointmass-s", "--ppo", "gama=0.9"], "Did you mean 'gamma'?"),
        (["pointmass-s", "--ppo", "gamma"], "'gamma' is not a setting; write NAME=VALUE\n"),
        (["pointmass-s", "--ppo", "gamma=2"], "gamma must be a finite number of at least 0"),
        (["pointmass-s", "--strategies", "procurl-val:beta=-1"], "beta must be"),
        (["pointmass-s", "--pool", "/nowhere.csv"], "/nowhere.csv does not exist: a pool is read"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_directory(arguments, message, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["compare", *arguments, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_threads_that_cannot_be_used_leave_no_directory(tmp_path, capsys, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setenv("PROCURL_THREADS", "all")
    out = tmp_path / "out"
    assert main(["compare", "antgoal", "--out", str(out)]) == 2
    assert "PROCURL_THREADS must be an integer of at least 1, got 'all'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.usefixtures("_training_here")
def test_evaluations_follow_the_requested_interval_and_length(tmp_path, capsys):
    command = ["compare", "pointmass-s", "--strategies", "iid", "--seeds", "1", "--steps", "4096"]
    command += ["--workers", "1", "--out", str(tmp_path)]
    assert main([*command, "--eval-every", "1500", "--eval-episodes", "2"]) == 0
    rows = exported(tmp_path, capsys)
    # Between updates, at the first chance after every 1500 steps, and at the end.
    assert [(row["step"], row["train_steps"]) for row in rows] == [
        ("1500", "2048"),
        ("3000", "3072"),
        ("4096", "4096"),
    ]
    with read_store(tmp_path) as store:
        assert (store.experiment.eval_every, store.experiment.eval_episodes) == (1500, 2)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "eval_every is 1500, not the default; eval_episodes is 2, not the default" in error


def test_a_directory_in_use_is_refused(tmp_path, capsys):
    from procurl.experiments.running.local import sole_user

    with sole_user(tmp_path):
        assert main(["compare", "pointmass-s", "--steps", "1024", "--out", str(tmp_path)]) == 2
    assert "is in use by another procurl" in capsys.readouterr().err


def test_driving_a_comparison_does_not_import_what_trains():
    code = (
        "import procurl.experiments.comparison, sys; assert not {'jax', 'torch'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
