"""Stable-Baselines3 as an engine: the same network, exact checkpoints, records and models."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import load_policy
from procurl.envs import TaskEnv, make_array_env, make_pool
from procurl.envs.adapters.gym_env import GymEnv
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines import sb3_trainer
from procurl.experiments.engines.sb3_ppo import network_weights, paper_ppo
from procurl.experiments.engines.trainer import Checkpoint
from procurl.experiments.presets import PRESETS
from procurl.internals.settings import describe
from procurl.ppo.learning.settings import PPOSettings, paper_settings
from procurl.records.experiment import Contender, Experiment

POOL = make_pool("pointmass-s", size=10)
SMALL = PPOSettings(
    n_steps=64, n_epochs=2, batch_size=64, shared_layers=(8,), policy_layers=(8,), value_layers=(8,)
)


@pytest.fixture(autouse=True)
def often_evaluated(monkeypatch):
    often = PRESETS["pointmass-s"]._replace(eval_every=128)
    monkeypatch.setitem(PRESETS, "pointmass-s", often)


def trainer(strategy="procurl-val", width=2, test_pool=None, setting=""):
    experiment = Experiment("pointmass-s", "sb3", 640, n_envs=2, student=describe(SMALL))
    job = Job(experiment, POOL, test_pool, True)
    return sb3_trainer.make_sb3_trainer(job, RunBatch(Contender(strategy, setting), 0, width))


def carried(checkpoint):
    """As it comes back from a file."""
    import json

    from procurl.internals.archive import pack_archive, unpack_archive

    packed = pack_archive(checkpoint.meta, checkpoint.arrays)
    meta, arrays = unpack_archive(packed, "a test")
    return Checkpoint(json.loads(json.dumps(meta)), arrays)


def point_masses(n=1):
    return DummyVecEnv([lambda: TaskEnv(GymEnv("pointmass-s", POOL), POOL)] * n)


def test_the_network_is_that_of_the_paper():
    settings = paper_settings("pointmass-s")
    model = paper_ppo(point_masses(), settings, seed=0)
    shapes = {name: tuple(part.shape) for name, part in model.policy.state_dict().items()}
    assert shapes["features_extractor.layers.1.weight"] == (64, 7)
    assert shapes["mlp_extractor.policy_net.0.weight"] == (64, 64)
    assert shapes["mlp_extractor.value_net.0.weight"] == (64, 64)
    count = sum(part.numel() for part in model.policy.parameters())
    assert count == 64 * 8 + 2 * 64 * 65 + 2 * 65 + 65 + 2
    weight = model.policy.state_dict()["features_extractor.layers.1.weight"].numpy()
    assert np.allclose(weight.T @ weight, 2.0 * np.eye(7), atol=1e-5)  # orthogonal, gain √2
    assert model.policy.state_dict()["log_std"].tolist() == [0.0, 0.0]
    assert model.policy.optimizer.param_groups[0]["eps"] == 1e-5


def test_without_shared_layers_there_are_none():
    settings = replace(SMALL, shared_layers=(), policy_layers=(8, 4), value_layers=(16,))
    params = network_weights(paper_ppo(point_masses(), settings, 0).policy.state_dict())
    assert sorted(params) == ["head", "policy_0", "policy_1", "value", "value_0"]
    assert params["policy_0"]["kernel"].shape == (7, 8)


def test_the_number_of_environments_must_divide_an_update():
    with pytest.raises(ValueError, match="must divide the 64 steps of an update, got 3"):
        paper_ppo(point_masses(3), SMALL, seed=0)


@pytest.mark.parametrize("strategy", ["procurl-val", "procurl-env", "plr"])
def test_a_checkpoint_continues_bit_for_bit(strategy):
    whole = trainer(strategy, width=1)
    for _ in range(6):
        whole.advance()
    half = trainer(strategy, width=1)
    for _ in range(3):
        half.advance()
    after = trainer(strategy, width=1)
    after.restore(carried(half.checkpoint()))
    assert after.train_steps == 192
    for _ in range(3):
        after.advance()
    for ours, theirs in zip(after.runs, whole.runs, strict=True):
        for name, part in ours.weights().items():
            assert np.array_equal(part, theirs.weights()[name])
        assert len(ours.evaluations) == 3
        for mine, other in zip(ours.evaluations, theirs.evaluations, strict=True):
            assert mine.performance == other.performance
            assert mine.entropy == other.entropy
            assert mine.env_steps == other.env_steps
            assert np.array_equal(mine.picks, other.picks)


def test_concurrent_runs_do_not_mix():
    together, alone = trainer(width=2), trainer(width=1)
    for _ in range(3):
        together.advance()
        alone.advance()
    for name, part in alone.runs[0].weights().items():
        assert np.array_equal(part, together.runs[0].weights()[name])
    other = together.runs[1].weights()
    assert not np.array_equal(alone.runs[0].weights()["log_std"], other["log_std"])


def test_an_evaluation_sees_the_refresh_of_its_step():
    training = trainer("procurl-env", setting="refresh_every=128,c_rollouts=1", width=1)
    (run,) = training.runs
    for _ in range(4):
        run.advance()
    teacher = run.callback.teacher
    assert [m.train_steps for m in run.evaluations] == [128, 256]
    assert teacher.refreshed_at == 256
    assert run.evaluations[-1].env_steps == 256 + teacher.teacher_steps
    assert run.evaluations[0].env_steps > 128


def test_what_is_measured():
    found = trainer("procurl-env", width=1, test_pool=make_pool("pointmass-s", "test", size=4))
    for _ in range(4):
        found.advance()
    first, second = found.evaluations[0]
    assert [first.step, second.step] == [128, 256]
    assert first.train_steps == 128
    assert first.env_steps == 128 + found.runs[0].callback.teacher_steps
    assert first.test_performance is not None
    assert 0.0 <= first.performance <= 1.0
    assert first.snapshot.tasks.tolist() == list(range(10))
    assert first.snapshot.probabilities.sum() == pytest.approx(1.0)
    assert np.concatenate([first.picks, second.picks]).max() < 10
    assert second.seconds > first.seconds > 0


def test_a_test_pool_does_not_change_the_training(monkeypatch):
    sampled = PRESETS["pointmass-s"]._replace(eval_stochastic=True)
    monkeypatch.setitem(PRESETS, "pointmass-s", sampled)
    runs = [trainer("iid", 1, test_pool).runs[0] for test_pool in (None, POOL.subset([3, 4]))]
    for run in runs:
        for _ in range(3):
            run.advance()
    plain, tested = (run.weights() for run in runs)
    assert all(np.array_equal(plain[name], tested[name]) for name in plain)


def test_models_act_without_stable_baselines3(tmp_path):
    found = trainer(width=1)
    for _ in range(2):
        found.advance()
    found.save_models(0, tmp_path / "seed", {"seed": 0})
    policy, model = load_policy(tmp_path / "seed"), found.runs[0].model
    env = make_array_env("pointmass-s")
    seen = env.observe(env.initial(env.contexts_of(POOL)))
    acted, _ = model.predict(seen, deterministic=True)
    assert np.allclose(policy.act(seen), acted, atol=1e-5)
    assert policy.description.training["steps"] == 128
    assert (tmp_path / "seed-best.safetensors").exists()


def test_a_run_that_is_no_longer_finite_stops_and_the_others_continue():
    found = trainer(width=2)
    found.advance()
    kept = found.runs[0].weights()
    with torch.no_grad():
        optimizer = found.runs[0].model.policy.optimizer
        optimizer.param_groups[0]["lr"] = 1.0
        found.runs[0].model.lr_schedule = lambda _: float("nan")
    for _ in range(3):
        found.advance()
    assert found.stopped_at == [128, None]
    assert [run[-1].train_steps for run in found.evaluations] == [128, 256]
    for name, part in found.runs[0].weights().items():
        assert np.array_equal(part, kept[name])
    assert [len(run) for run in found.evaluations] == [2, 2]
    again = trainer(width=2)
    again.restore(carried(found.checkpoint()))
    again.advance()
    again.runs[0].evaluate(640)
    assert again.stopped_at == [128, None]
