"""What the engine `host` adds to the conformance suite: its device, and evaluations of a length."""

import pytest

pytest.importorskip("jax")
pytest.importorskip("mujoco")

from procurl.envs import make_pool
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.registry import make_trainer
from procurl.internals.settings import describe
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.experiment import Contender, Experiment

SMALL = PPOSettings(
    n_steps=32, n_epochs=1, batch_size=32, shared_layers=(8,), policy_layers=(8,), value_layers=(8,)
)
BATCH = RunBatch(Contender("procurl-val"), 0, 1)
EXPERIMENT = Experiment(
    "ballcatching", "host", 160, n_envs=4, student=describe(SMALL), eval_every=64, eval_episodes=2
)
JOB = Job(EXPERIMENT, make_pool("ballcatching", size=3), None, keep_models=True)


def test_it_is_evaluated_as_the_experiment_says():
    trainer = make_trainer(JOB, BATCH)
    assert trainer.identity["eval_every"] == 64
    assert trainer.identity["device"].endswith("stepped on the host")
    assert trainer.runs[0].run.evaluation.episodes == 2
