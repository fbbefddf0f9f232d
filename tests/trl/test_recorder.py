"""Runs with TRL are recorded like those of every other engine."""

import numpy as np
import pytest

pytest.importorskip("trl")

import torch

from procurl.experiments import read_store, write_report
from procurl.trl import PromptRecorder
from procurl.trl.recorder import have_signal
from tests.trl.toy import Reward, make_dataset, make_trainer

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def evaluate(model):
    """The reward of prompt i is i / 12."""
    assert not model.training
    return np.arange(12) / 12


def record(out, folder, strategy="procurl-out", resume=None, seed=3, every=2, **changes):
    """A finished trainer whose run is recorded in `out`, and its reward."""
    dataset, reward = make_dataset(size=[float(i // 4) for i in range(12)]), Reward()
    curriculum = {"strategy": strategy, "contexts": ["size"]}
    trainer = make_trainer(
        folder, dataset, reward, curriculum=curriculum, max_steps=6, seed=seed, **changes
    )
    trainer.add_callback(PromptRecorder(trainer, out, evaluate, env="toy", every=every))
    trainer.train(resume_from_checkpoint=resume)
    return trainer, reward


def test_evaluations_hold_samples_picks_and_signal(tmp_path):
    _, reward = record(tmp_path / "out", tmp_path / "run")
    with read_store(tmp_path / "out") as store:
        (run,) = store.finished_runs()
        assert (run.strategy, run.seed, store.experiment.steps) == ("procurl-out", 3, 48)
        found = store.detail(run)
    assert [at.step for at in found] == [0, 16, 32, 48]
    assert [at.performance for at in found] == [pytest.approx(5.5 / 12)] * 4
    groups = [np.asarray(rewards).reshape(2, 4) for _, rewards in reward.calls]
    for k, at in enumerate(found[1:]):
        calls = reward.calls[2 * k : 2 * k + 2]
        assert at.picks.tolist() == [n for numbers, _ in calls for n in numbers[::4]]
        differ = [np.ptp(group) > 0 for pair in groups[2 * k : 2 * k + 2] for group in pair]
        assert at.signal == np.mean(differ)
    assert found[0].signal is None
    assert len({at.signal for at in found[1:]}) > 1


def test_a_report_shows_what_was_recorded(tmp_path):
    for strategy in ("procurl-out", "iid"):
        for seed in (0, 1):
            record(tmp_path / "out", tmp_path / f"{strategy}-{seed}", strategy, seed=seed)
    page = write_report(tmp_path / "out").read_text()
    assert "procurl-out" in page
    assert "Groups with a signal" in page
    for name in ("curves-train", "curves-seconds", "signal"):
        assert (tmp_path / "out" / f"{name}.png").exists()


@pytest.mark.parametrize("at", [4, 5])
def test_a_resumed_run_continues_its_record(tmp_path, at):
    """Also from a checkpoint between two evaluations."""
    saving = {"save_strategy": "steps", "save_steps": at}
    record(tmp_path / "whole", tmp_path / "run", **saving)
    record(tmp_path / "out", tmp_path / "first", **saving)
    checkpoint = str(tmp_path / "first" / f"checkpoint-{at}")
    record(tmp_path / "out", tmp_path / "second", resume=checkpoint, **saving)
    details = []
    for folder in ("whole", "out"):
        with read_store(tmp_path / folder) as store:
            (run,) = store.finished_runs()
            details.append(store.detail(run))
    for one, other in zip(*details, strict=True):
        assert one._replace(seconds=0, picks=0, snapshot=0) == other._replace(
            seconds=0, picks=0, snapshot=0
        )
        assert one.picks.tolist() == other.picks.tolist()


def test_mistakes_are_named(tmp_path):
    with pytest.raises(TypeError, match="trainer must be a CurriculumGRPOTrainer .* got str"):
        PromptRecorder("trainer", tmp_path, evaluate)
    trainer = make_trainer(tmp_path)
    trainer.add_callback(PromptRecorder(trainer, tmp_path / "out", lambda model: [1.0]))
    with pytest.raises(ValueError, match="one reward for each of the 12 prompts, got shape \\(1,"):
        trainer.train()


def test_evaluations_may_be_tensors_and_must_be_finite(tmp_path):
    def tensor(model):
        return torch.full((12,), 0.5, dtype=torch.bfloat16, requires_grad=True)

    trainer = make_trainer(tmp_path / "run", max_steps=1)
    trainer.add_callback(PromptRecorder(trainer, tmp_path / "out", tensor))
    trainer.train()
    with read_store(tmp_path / "out") as store:
        assert [at.performance for at in store.detail(*store.finished_runs())] == [0.5, 0.5]
    trainer = make_trainer(tmp_path / "again")
    trainer.add_callback(PromptRecorder(trainer, tmp_path / "none", lambda model: [np.nan] * 12))
    with pytest.raises(ValueError, match="evaluate must return finite rewards, got nan for prompt"):
        trainer.train()


def test_groups_with_equal_rewards_have_no_signal():
    nan = np.nan
    rewards = np.array([[1.0, 1.0], [0.0, 1.0], [nan, 1.0], [nan, nan]])
    assert have_signal(rewards).tolist() == [False, True, False, False]
