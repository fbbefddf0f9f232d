"""What goes to TensorBoard and Weights & Biases."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from procurl.experiments.running.logs import open_logs
from procurl.records.evaluation import Evaluation, log_values
from procurl.records.experiment import Experiment
from procurl.records.results import RunId

RUN = RunId("procurl-val", "beta=5", 3)
EXPERIMENT = Experiment(env="corridor", engine="jax", steps=100)
EVALUATION = Evaluation(
    step=25,
    performance=0.5,
    test_performance=None,
    train_steps=30,
    env_steps=90,
    seconds=1.5,
    entropy=0.7,
    mean_success=0.2,
)


def test_keys_are_those_of_every_engine():
    assert log_values(EVALUATION) == {
        "eval/mean_reward": 0.5,
        "curriculum/entropy": 0.7,
        "curriculum/estimated_success": 0.2,
        "curriculum/teacher_steps": 60.0,
        "time/total_env_steps": 90.0,
        "time/seconds": 1.5,
    }
    assert log_values(EVALUATION._replace(test_performance=0.25))["eval/test_mean_reward"] == 0.25


def test_nothing_is_logged_by_default():
    with open_logs(EXPERIMENT, None, None) as logs:
        assert logs == []


def test_tensorboard_reads_what_was_logged(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with open_logs(EXPERIMENT, tmp_path, None) as logs:
        logs[0].add(RUN, EVALUATION)
        logs[0].add(RUN, EVALUATION._replace(step=50, performance=0.75))
        logs[0].finish(RUN)
    read = reader.EventAccumulator(str(tmp_path / "procurl-val:beta=5" / "seed-00003"))
    read.Reload()
    tensors = read.Tensors("eval/mean_reward")
    assert [(at.step, at.tensor_proto.float_val[0]) for at in tensors] == [(25, 0.5), (50, 0.75)]


class FakeWandb:
    """Takes notes instead of sending anything."""

    def __init__(self):
        self.begun, self.logged, self.finished = [], [], 0

    def init(self, **how):
        self.begun.append(how)
        return SimpleNamespace(log=self.log, finish=self.finish)

    def log(self, numbers, step):
        self.logged.append((numbers, step))

    def finish(self):
        self.finished += 1


def test_weights_and_biases_gets_a_run_that_continues(monkeypatch):
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    for _ in range(2):
        with open_logs(EXPERIMENT, None, "my-project") as logs:
            logs[0].add(RUN, EVALUATION)
            logs[0].add(RUN, EVALUATION)
    first, again = fake.begun
    assert first == again
    assert (first["project"], first["group"], first["resume"]) == (
        "my-project",
        "procurl-val:beta=5",
        "allow",
    )
    assert fake.logged[0] == (log_values(EVALUATION), 25)
    assert (len(fake.logged), fake.finished) == (4, 2)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"pool": "elsewhere.csv"}, True),
        ({"student": {"gamma": 0.9}}, False),
        ({"n_envs": 4}, False),
        ({"eval_every": 50}, False),
    ],
)
def test_other_settings_are_another_run_of_weights_and_biases(change, same, monkeypatch):
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    for experiment in (EXPERIMENT, replace(EXPERIMENT, **change)):
        with open_logs(experiment, None, "my-project") as logs:
            logs[0].add(RUN, EVALUATION)
    one, other = (begun["id"] for begun in fake.begun)
    assert (one == other) is same


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("tensorboard.summary", {"tensorboard": "x", "wandb": None}, "pip install tensorboard"),
        ("wandb", {"tensorboard": None, "wandb": "x"}, "pip install wandb"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, module, options, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message), open_logs(EXPERIMENT, **options):
        pass
