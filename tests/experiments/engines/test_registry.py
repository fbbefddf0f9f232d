"""Which engine trains an environment on a device."""

import pytest

from procurl.experiments.engines import registry
from procurl.experiments.engines.registry import make_trainer, resolve_engine, trainer_module
from tests.experiments.counting import BATCH, job


@pytest.mark.parametrize(
    ("engine", "env", "device", "trained"),
    [
        ("jax", "antgoal", "gpu", "jax"),
        ("jax", "antgoal", "cpu", "host"),
        ("jax", "pointmass-s", "cpu", "jax"),
        ("host", "antgoal", "gpu", "host"),
        ("host", "ballcatching", "cpu", "host"),
        ("sb3", "antgoal", "cpu", "sb3"),
    ],
)
def test_mujoco_is_stepped_on_the_host_on_request_and_without_a_gpu(engine, env, device, trained):
    assert resolve_engine(engine, env, device) == trained


@pytest.mark.parametrize("engine", registry.ENGINES)
def test_an_experiment_is_trained_by_the_engine_that_it_records(engine, monkeypatch):
    monkeypatch.setattr(registry, "resolve_name", lambda name: lambda *_: name)
    made = make_trainer(job(engine=engine, env="antgoal", device="cpu"), BATCH)
    assert made == f"procurl.experiments.engines.{engine}_trainer:make_{engine}_trainer"
    assert trainer_module(engine) == f"procurl.experiments.engines.{engine}_trainer"
