"""The replay buffer of an off-policy run: saved on request, restored, and checked."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO, SAC

from procurl.internals.archive import read_archive, write_archive
from procurl.sb3 import CurriculumCallback
from tests.sb3.saving.test_runs import point_masses, resumed, weights
from tests.sb3.walk import walk_env


def sac(env, learning_starts=20):
    small = {"net_arch": [8]}
    return SAC(
        "MlpPolicy",
        env,
        learning_starts=learning_starts,
        batch_size=16,
        buffer_size=500,
        seed=0,
        policy_kwargs=small,
        device="cpu",
    )


def train(folder, env=None, steps=100):
    callback = CurriculumCallback(
        "procurl-out", refresh_every=20, save_to=folder, save_replay_buffer=True
    )
    model = sac(env or point_masses())
    model.learn(steps, callback=callback)
    return model


def test_a_run_with_its_replay_buffer_resumes_exactly(tmp_path):
    whole = sac(point_masses())
    whole.learn(160, callback=CurriculumCallback("procurl-out", refresh_every=20))
    train(tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [
        "curriculum.safetensors",
        "model-000000000100.zip",
        "replay-000000000100.pkl",
        "starts.safetensors",
    ]
    after, _, _ = resumed(tmp_path, point_masses(), "procurl-out", 60, SAC, refresh_every=20)
    assert after.replay_buffer.size() == whole.replay_buffer.size() == 80
    for ours, theirs in zip(weights(after), weights(whole), strict=True):
        assert np.array_equal(ours, theirs)


def test_only_the_latest_replay_buffer_is_kept(tmp_path):
    train(tmp_path, steps=60)
    train(tmp_path, steps=80)
    assert [path.name for path in tmp_path.glob("*.pkl")] == ["replay-000000000080.pkl"]
    callback = CurriculumCallback("procurl-out", save_to=tmp_path)
    sac(point_masses()).learn(60, callback=callback)
    assert not list(tmp_path.glob("*.pkl"))
    CurriculumCallback("procurl-out").load(tmp_path)


def test_an_algorithm_without_a_replay_buffer_is_refused(tmp_path):
    model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, device="cpu")
    message = "save_replay_buffer=True needs an algorithm with a replay buffer, .* and PPO has none"
    with pytest.raises(ValueError, match=message):
        model.learn(32, callback=CurriculumCallback("iid", save_replay_buffer=True))
    with pytest.raises(TypeError, match="save_replay_buffer must be True or False, got 1"):
        CurriculumCallback("iid", save_replay_buffer=1)


def test_a_damaged_or_foreign_replay_buffer_is_refused(tmp_path):
    train(tmp_path, steps=60)
    path = tmp_path / "replay-000000000060.pkl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=f"{path}: the replay buffer is truncated or altered"):
        CurriculumCallback("procurl-out").load(tmp_path)
    path.unlink()
    with pytest.raises(ValueError, match=f"{path} is missing: it is the replay buffer"):
        CurriculumCallback("procurl-out").load(tmp_path)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="replay buffer is of 2 environments, and the model has 1"):
        resumed(tmp_path, point_masses(1), "procurl-out", 20, SAC)
    meta, arrays = read_archive(tmp_path / "curriculum.safetensors")
    meta["replay_buffer"]["file"] = "../other.pkl"
    write_archive(tmp_path / "curriculum.safetensors", meta, arrays)
    with pytest.raises(ValueError, match=r"must be a file replay-STEP\.pkl in the same folder"):
        CurriculumCallback("procurl-out").load(tmp_path)
