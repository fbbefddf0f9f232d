"""A user's own runs of Stable-Baselines3, recorded as every other run."""

import json
import shlex
import sys
from dataclasses import replace
from html import escape

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.cli import main
from procurl.experiments.report.html_text import reproduce
from procurl.records.store import read_store
from procurl.sb3 import CurriculumCallback, evaluate_pool
from procurl.sb3.recorder import PoolRecorder
from procurl.sb3.seeds import seed_of
from tests.experiments.quick_commands import empty_figures, training_here
from tests.sb3.recording import Dies
from tests.sb3.walk import LENGTHS, Walk, walk_env


class SavesAt(BaseCallback):
    """Saves a run once, in the midst of it."""

    def __init__(self, step, curriculum, folder):
        super().__init__()
        self.step, self.curriculum, self.folder = step, curriculum, folder

    def _on_rollout_start(self):
        if self.num_timesteps == self.step:
            self.curriculum.save(self.folder)

    def _on_step(self):
        return True


def train(out, label, seed, steps=320, algorithm=PPO, more=(), saving=None, **settings):
    how = {"n_steps": 32, "batch_size": 32} if algorithm is PPO else {"learning_starts": 10}
    model = algorithm("MlpPolicy", walk_env(), seed=seed, device="cpu", **how)
    teacher = CurriculumCallback(make_strategy(label), eval_env=walk_env, **(saving or {}))
    settings = {"eval_env": Walk, "env": "walk", "label": label, "every": 100} | settings
    recorder = PoolRecorder(teacher, out, **settings)
    model.learn(steps, callback=[teacher, recorder, *more])
    return recorder


def test_export_reads_what_was_recorded(tmp_path, capsys):
    for label, seed in [("procurl-val", 0), ("procurl-val", 1), ("iid", 0)]:
        train(tmp_path / "walk", label, seed)
    main(["export", str(tmp_path / "walk")])
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("env,strategy,setting,engine,seed,step,performance")
    exported = [tuple(row.split(",")[:6]) for row in rows]
    runs = [("procurl-val", "0"), ("procurl-val", "1"), ("iid", "0")]
    assert exported == [
        ("walk", strategy, "", "sb3", seed, step)
        for strategy, seed in runs
        for step in ("0", "100", "200", "320")
    ]


def test_an_evaluation_records_picks_and_probabilities(tmp_path):
    recorder = train(tmp_path, "procurl-val", 2)
    with read_store(tmp_path) as store:
        results = store.results()
        run = recorder.run
        assert results.pool.fingerprint == LENGTHS.fingerprint
        assert (run.strategy, run.seed) == ("procurl-val", 2)
        detail = results.detail(run)
    for mine, kept in zip(recorder.evaluations, detail, strict=True):
        assert mine.performance == kept.performance
        assert np.array_equal(mine.picks, kept.picks)
        assert kept.snapshot.probabilities.sum() == pytest.approx(1.0)
        assert kept.snapshot.returns.mean() == pytest.approx(kept.performance)
        assert len(kept.picks) == 0 if kept.step == 0 else len(kept.picks)
    assert [m.train_steps for m in detail] == [0, 128, 224, 320]


def test_a_run_that_continues_is_recorded_once(tmp_path):
    model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, seed=0, device="cpu")
    curriculum = CurriculumCallback(make_strategy("procurl-val"))
    out = tmp_path / "walk"
    recorder = PoolRecorder(curriculum, out, eval_env=Walk, every=64)
    model.learn(256, callback=[curriculum, SavesAt(192, curriculum, tmp_path), recorder])
    whole = [m.performance for m in recorder.evaluations]

    again = CurriculumCallback(make_strategy("procurl-val")).load(tmp_path)
    model = PPO.load(again.model_file, env=walk_env(), device="cpu")
    second = PoolRecorder(again, out, eval_env=Walk, every=64)
    model.learn(64, callback=[again, second], reset_num_timesteps=False)
    assert [m.step for m in second.evaluations] == [0, 64, 128, 192, 256]
    assert [m.performance for m in second.evaluations][:4] == whole[:4]
    seconds = [m.seconds for m in second.evaluations]
    assert seconds == sorted(seconds)
    with read_store(out) as store:
        assert [row.evaluation.step for row in store.rows()] == [0, 64, 128, 192, 256]
        assert all((len(m.picks) or not m.step) and m.snapshot for m in store.detail(second.run))


def test_the_last_evaluation_stands_for_the_steps_of_the_run(tmp_path):
    """The last update, of 32 steps, also passes a multiple of the interval."""
    model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, seed=0, device="cpu")
    curriculum = CurriculumCallback(make_strategy("iid"))
    recorder = PoolRecorder(curriculum, tmp_path, eval_env=Walk, every=32)
    model.learn(50, callback=[curriculum, recorder])
    assert [(m.step, m.train_steps) for m in recorder.evaluations] == [(0, 0), (32, 32), (50, 64)]
    model.learn(50, callback=[curriculum, recorder], reset_num_timesteps=False)
    more = [(m.step, m.train_steps) for m in recorder.evaluations][3:]
    assert more == [(96, 96), (114, 128)]  # nothing twice


def runs_of(out):
    """(label, seed, steps) of every run that was recorded."""
    with read_store(out) as store:
        results = store.results()
    return [(r.label, r.seed, [m.step for m in results.evaluations[r]]) for r in results.runs]


def test_a_finished_run_is_replaced_only_on_request(tmp_path):
    train(tmp_path, "iid", 3)
    refused = (
        f"out: {tmp_path} holds a finished run of 'iid' with seed 3, which this one would replace: "
        "choose another seed, label or folder, or pass overwrite=True"
    )
    with pytest.raises(ValueError, match=refused):
        train(tmp_path, "iid", 3, every=160)
    assert runs_of(tmp_path) == [("iid", 3, [0, 100, 200, 320])]
    train(tmp_path, "iid", 3, every=160, overwrite=True)
    train(tmp_path, "iid", 4)
    assert runs_of(tmp_path) == [("iid", 3, [0, 160, 320]), ("iid", 4, [0, 100, 200, 320])]


def test_an_unfinished_run_may_start_again(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, "iid", 0, more=[Dies(at=250)])
    assert runs_of(tmp_path) == [("iid", 0, [0, 100, 200])]
    train(tmp_path, "iid", 0, every=160)
    assert runs_of(tmp_path) == [("iid", 0, [0, 160, 320])]


def test_models_without_a_seed_are_runs_of_their_own(tmp_path):
    for label in ("iid", "procurl-val", "iid", "iid"):
        train(tmp_path, label, None)
    steps = [0, 100, 200, 320]
    iid = [("iid", seed, steps) for seed in range(3)]
    assert runs_of(tmp_path) == [*iid, ("procurl-val", 0, steps)]


def test_a_run_without_a_seed_continues_as_the_same_run(tmp_path):
    out = tmp_path / "walk"
    train(out, "iid", None)
    with pytest.raises(KeyboardInterrupt):
        train(out, "iid", None, more=[Dies(at=250)], saving={"save_to": tmp_path, "save_every": 96})
    again = CurriculumCallback(make_strategy("iid")).load(tmp_path)  # at step 192
    model = PPO.load(again.model_file, env=walk_env(), device="cpu")
    recorder = PoolRecorder(again, out, eval_env=Walk, env="walk", label="iid", every=100)
    model.learn(128, callback=[again, recorder], reset_num_timesteps=False)
    assert runs_of(out) == [("iid", seed, [0, 100, 200, 320]) for seed in (0, 1)]


def test_the_first_evaluation_comes_before_training(tmp_path):
    model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, seed=0, device="cpu")
    expected = evaluate_pool(model, Walk, LENGTHS, seed=seed_of(0, 0)).returns
    curriculum = CurriculumCallback("iid")
    recorder = PoolRecorder(curriculum, tmp_path, eval_env=Walk, every=64)
    model.learn(64, callback=[curriculum, recorder])
    first = recorder.evaluations[0]
    assert (first.step, first.train_steps, first.env_steps) == (0, 0, 0)
    assert first.snapshot.returns.tolist() == expected.tolist()


def test_evaluations_do_not_change_the_training(tmp_path):
    def weights(recorded):
        model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, seed=0, device="cpu")
        curriculum = CurriculumCallback("procurl-val")
        recorder = PoolRecorder(
            curriculum, tmp_path, eval_env=Walk, every=32, episodes=2, deterministic=False
        )
        model.learn(96, callback=[curriculum, recorder] if recorded else curriculum)
        return [part.numpy() for part in model.policy.state_dict().values()]

    for ours, theirs in zip(weights(True), weights(False), strict=True):
        assert np.array_equal(ours, theirs)


def record(out, strategy, seed=0, label=None, every=64, steps=None, learn=(64,), **settings):
    """Train and record a run, with one call of `learn` for each of these numbers of steps."""
    model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, seed=seed, device="cpu")
    curriculum = CurriculumCallback(strategy, **settings)
    recorder = PoolRecorder(
        curriculum, out, eval_env=Walk, label=label, every=every, steps=steps, overwrite=True
    )
    for count in learn:
        model.learn(
            count, callback=[curriculum, recorder], reset_num_timesteps=not model.num_timesteps
        )
    return recorder


def test_a_run_is_named_after_its_strategy_and_settings(tmp_path):
    record(tmp_path, make_strategy("procurl-val", beta=10.0, floor=0.5))
    record(tmp_path, "iid")
    assert [label for label, *_ in runs_of(tmp_path)] == ["procurl-val:beta=10,floor=0.5", "iid"]


def test_different_settings_under_one_label_are_refused(tmp_path):
    record(tmp_path, make_strategy("procurl-val", beta=10), label="mine")
    with pytest.raises(ValueError, match="holds runs of 'mine'") as refused:
        record(tmp_path, make_strategy("procurl-val", beta=5), seed=1, label="mine")
    assert str(refused.value) == (
        f"out: {tmp_path} holds runs of 'mine' with strategy.beta = 10, and this run has 5: give "
        "it another label, or use another folder"
    )
    with pytest.raises(ValueError, match=r"with callback.reset_samples = 1, and this run has 2"):
        record(
            tmp_path, make_strategy("procurl-val", beta=10), seed=1, label="mine", reset_samples=2
        )
    assert runs_of(tmp_path) == [("mine", 0, [0, 64])]
    # The only run of a label may be replaced by one with other settings.
    record(tmp_path, make_strategy("procurl-val", beta=5), label="mine")
    record(tmp_path, make_strategy("procurl-val", beta=5), seed=1, label="mine")
    with read_store(tmp_path) as store:
        assert store.settings["mine"]["strategy"]["beta"] == 5
        assert store.results().facts["settings"] == store.settings


def test_a_run_continues_to_more_steps(tmp_path):
    recorder = record(tmp_path, "iid", learn=(64, 96))
    assert runs_of(tmp_path) == [("iid", 0, [0, 64, 128, 160])]
    assert [m.train_steps for m in recorder.evaluations] == [0, 64, 128, 160]
    with read_store(tmp_path) as store:
        assert store.experiment.steps == 160
        assert store.finished_runs() == {recorder.run}
    refused = (
        r"steps is 160, not 64. Train for as many steps.* pass the recorder the total, steps=160"
    )
    with pytest.raises(ValueError, match=refused):
        record(tmp_path, "iid", seed=1, learn=(64, 96))
    record(tmp_path, "iid", seed=1, steps=160, learn=(64, 96))
    assert runs_of(tmp_path)[1] == ("iid", 1, [0, 64, 128, 160])


def test_a_run_is_finished_once_all_its_steps_are_taken(tmp_path):
    record(tmp_path, "iid", steps=160, learn=(96,))
    with read_store(tmp_path) as store:
        assert store.finished_runs() == set()
    assert runs_of(tmp_path) == [("iid", 0, [0, 64])]
    with pytest.raises(ValueError, match="learn trains for 192, and steps is 160: leave it out"):
        record(tmp_path, "iid", steps=160, learn=(192,))


def test_the_report_says_how_the_runs_were_recorded(tmp_path):
    pytest.importorskip("matplotlib")
    record(tmp_path, make_strategy("procurl-val", beta=10))
    with read_store(tmp_path) as store:
        results = store.results()
    text = reproduce(results, [])
    assert "recorded by a program, which these commands started" in text
    assert f"<pre>{escape(shlex.join(['python', *sys.orig_argv[1:]]))}</pre>" in text
    assert "<dt>settings of procurl-val:beta=10</dt><dd>strategy type ProCuRL, " in text
    facts = {**results.facts, "commands": (), "command": ""}
    in_a_notebook = reproduce(replace(results, env="pointmass-s", facts=facts), [])
    assert "notebook or an interactive session, so there is no command to" in in_a_notebook
    assert "procurl compare" not in in_a_notebook


@pytest.mark.parametrize(("tasks", "mean"), [(None, 0.6), ([0, 4], 1.0)])
def test_targets_are_evaluated_beside_the_pool(tasks, mean, tmp_path):
    lengths = [[1.0], [9.0], [8.5], [2.0], [3.0]]  # the limit is 8 steps
    pool = TaskPool(lengths, names=["length"], features={"target": [1, 1, 0, 0, 0]})
    model = PPO("MlpPolicy", TaskEnv(Walk(), pool), n_steps=32, batch_size=32, seed=0, device="cpu")
    with torch.no_grad():
        model.policy.action_net.bias[1] = 100.0  # always to the right
    curriculum = CurriculumCallback(make_strategy("target"))
    recorder = PoolRecorder(curriculum, tmp_path, eval_env=Walk, every=64, tasks=tasks)
    model.learn(64, callback=[curriculum, recorder])
    measured = [(m.performance, m.test_performance) for m in recorder.evaluations]
    assert measured == [(pytest.approx(mean), 0.5)] * 2
    with read_store(tmp_path) as store:
        assert store.results().test_name == "targets"
        assert store.experiment.test_hash == pool.subset([0, 1]).fingerprint


def test_a_pool_without_targets_has_no_test_performance(tmp_path):
    recorder = record(tmp_path, "iid")
    assert [m.test_performance for m in recorder.evaluations] == [None, None]


def test_off_policy_runs_are_recorded_too(tmp_path):
    recorder = train(tmp_path, "procurl-val", 0, steps=250, algorithm=DQN)
    assert [m.step for m in recorder.evaluations] == [0, 100, 200, 250]


def test_a_report_is_made_of_it(tmp_path):
    pytest.importorskip("matplotlib")
    for label in ("procurl-val", "iid"):
        train(tmp_path / "walk", label, 42)
    main(["report", str(tmp_path / "walk")])
    page = (tmp_path / "walk" / "report.html").read_text(encoding="utf-8")
    assert "procurl-val" in page
    assert "runs are finished" not in page


def test_another_experiment_in_the_same_folder_is_refused(tmp_path):
    train(tmp_path, "iid", 0)
    with pytest.raises(ValueError, match="holds another experiment: steps is 320, not 96"):
        train(tmp_path, "iid", 1, steps=96)


def test_misuse_is_refused(tmp_path):
    with pytest.raises(TypeError, match="curriculum must be a CurriculumCallback, got str"):
        PoolRecorder("iid", tmp_path, eval_env=Walk)
    env = DummyVecEnv([walk_env])
    model = PPO("MlpPolicy", env, device="cpu")
    teacher = CurriculumCallback(make_strategy("iid"))
    in_training = PoolRecorder(teacher, tmp_path, eval_env=env)
    with pytest.raises(ValueError, match="eval_env must not be the model's training environment"):
        model.learn(64, callback=[teacher, in_training])
    teacher = CurriculumCallback(make_strategy("iid"))
    too_early = PoolRecorder(teacher, tmp_path, eval_env=Walk)
    with pytest.raises(RuntimeError, match="put the recorder after the curriculum in the list"):
        model.learn(64, callback=[too_early, teacher])


def test_the_command_line_trains_with_stable_baselines3(tmp_path, capsys):
    out = str(tmp_path / "out")
    command = ["compare", "pointmass-s", "--strategies", "procurl-val", "--seeds", "1"]
    with training_here(), empty_figures():
        main([*command, "--steps", "1024", "--engine", "sb3", "--out", out])
    capsys.readouterr()
    main(["export", out])
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("pointmass-s,procurl-val,,sb3,0,1024,")
    assert json.loads(last.split(",")[6]) >= 0.0
