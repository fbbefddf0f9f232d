"""Our PPO with MuJoCo on the cores, as a sweep drives it: evaluations, checkpoints, models."""

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("mujoco")

from procurl import load_policy
from procurl.envs import make_pool
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.registry import make_trainer
from procurl.experiments.running.batch import train_batch
from procurl.internals.settings import describe
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.experiment import Contender, Experiment

POOL = make_pool("ballcatching", size=3)
SMALL = PPOSettings(
    n_steps=32, n_epochs=1, batch_size=32, shared_layers=(8,), policy_layers=(8,), value_layers=(8,)
)
BATCH = RunBatch(Contender("procurl-val"), 0, 1)
EXPERIMENT = Experiment(
    "ballcatching", "host", 160, n_envs=4, student=describe(SMALL), eval_every=64, eval_episodes=2
)
JOB = Job(EXPERIMENT, POOL, None, keep_models=True)


@pytest.fixture(scope="module")
def whole():
    """All that a batch says from its first step to its last."""
    return list(train_batch(JOB, BATCH, None))


def test_it_is_evaluated_as_the_experiment_says(whole):
    trainer = make_trainer(JOB, BATCH)
    assert trainer.identity["eval_every"] == 64
    assert trainer.identity["device"].endswith("stepped on the host")
    assert trainer.runs[0].run.evaluation.episodes == 2
    evaluations = [m for said in whole for m in (said.evaluations or [[]])[0]]
    assert [(m.step, m.train_steps) for m in evaluations] == [(64, 64), (128, 128), (160, 160)]
    assert all(np.isfinite(m.performance) for m in evaluations)
    assert {m.snapshot.returns.shape for m in evaluations} == {(3,)}


def test_a_cut_changes_nothing_and_models_can_act(whole, tmp_path):
    cut = next(said for said in whole if said.checkpoint is not None and said.step == 64)
    rest = list(train_batch(JOB, BATCH, cut.checkpoint))
    assert rest[0].step == 64
    assert set(rest[-1].models) == set(whole[-1].models)
    for name, content in rest[-1].models.items():
        (tmp_path / name).write_bytes(content)
        if name.endswith(".safetensors"):
            assert content == whole[-1].models[name]
    action = load_policy(tmp_path / "seed-00000").act(np.zeros(21, dtype=np.float32))
    assert action.shape == (5,)
