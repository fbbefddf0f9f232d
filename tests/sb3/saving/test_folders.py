"""What a saved run does to the other files of its folder."""

import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO

from procurl import TaskEnv, TaskPool
from procurl.sb3 import CurriculumCallback
from tests.sb3.toy import POOL, Guess


def save(folder, strategy="procurl", pool=POOL, steps=16):
    callback = CurriculumCallback(strategy, check_env=False)
    model = PPO("MlpPolicy", TaskEnv(Guess(), pool), n_steps=16, batch_size=16, device="cpu")
    model.learn(steps, callback)
    callback.save(folder)


def test_files_of_the_user_stay(tmp_path):
    own = ["model-best.zip", "model-100.zip", "replay-old.pkl"]
    for name in own:
        (tmp_path / name).write_text("mine")
    save(tmp_path)
    save(tmp_path, steps=32)
    files = ["curriculum.safetensors", "model-000000000032.zip", "starts.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(own + files)


def test_a_run_without_a_critic_replaces_one_with_a_critic(tmp_path):
    """The first observations of the other pool would not fit."""
    save(tmp_path)
    other = TaskPool([[1.0], [2.0]], names=["number"])
    save(tmp_path, "iid", other)
    assert CurriculumCallback("iid").load(tmp_path).model_file.exists()
