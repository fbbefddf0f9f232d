"""Ctrl-C: the run is saved, and continues as if it had not been stopped."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from procurl.sb3 import CurriculumCallback
from tests.sb3.recording import Dies
from tests.sb3.saving.test_runs import new_model, point_masses, resumed, weights
from tests.sb3.walk import walk_env


class PressesCtrlC(BaseCallback):
    """Sends SIGINT to this process in the midst of a rollout."""

    def __init__(self, *steps):
        super().__init__()
        self.steps = list(steps)

    def _on_step(self):
        if self.steps and self.num_timesteps >= self.steps[0]:
            self.steps.pop(0)
            signal.raise_signal(signal.SIGINT)
        return True


@pytest.fixture(autouse=True)
def _default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_the_run_is_saved_after_the_update_and_resumes_exactly(tmp_path, capsys):
    whole = new_model(point_masses())
    whole.learn(640, callback=CurriculumCallback("procurl-val"))
    callback = CurriculumCallback("procurl-val", save_to=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        new_model(point_masses()).learn(640, callback=[callback, PressesCtrlC(200)])
    assert capsys.readouterr().err.strip().splitlines() == [
        f"Ctrl-C: the run is saved to {tmp_path} after the current rollout and update. Press "
        "Ctrl-C again to stop at once.",
        f"saved to {tmp_path} at step 256; resume with CurriculumCallback.load",
    ]
    after, loaded, _ = resumed(tmp_path, point_masses(), "procurl-val", 384)
    assert loaded.model_file.name == "model-000000000256.zip"
    for ours, theirs in zip(weights(after), weights(whole), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    callback = CurriculumCallback("iid", save_to=tmp_path)
    model = new_model(walk_env())
    with pytest.raises(KeyboardInterrupt):
        model.learn(640, callback=[callback, PressesCtrlC(70, 80)])
    assert model.num_timesteps == 80
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("train_freq", [4, (1, "episode")])
def test_an_off_policy_run_is_saved_between_updates(tmp_path, train_freq):
    model = DQN("MlpPolicy", walk_env(), learning_starts=10, train_freq=train_freq, device="cpu")
    callback = CurriculumCallback("iid", save_to=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.learn(640, callback=[callback, PressesCtrlC(50)])
    loaded = CurriculumCallback("iid").load(tmp_path)
    assert 50 <= DQN.load(loaded.model_file).num_timesteps <= 58


def test_ctrl_c_in_the_last_rollout_takes_effect(tmp_path):
    callback = CurriculumCallback("iid", save_to=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        new_model(walk_env()).learn(128, callback=[callback, PressesCtrlC(100)])
    assert CurriculumCallback("iid").load(tmp_path).model_file.name == "model-000000000128.zip"


def test_without_a_folder_ctrl_c_takes_effect_at_once():
    model = new_model(walk_env())
    with pytest.raises(KeyboardInterrupt):
        model.learn(640, callback=[CurriculumCallback("iid"), PressesCtrlC(70)])
    assert model.num_timesteps == 70


def test_after_an_error_ctrl_c_is_what_it_was(tmp_path):
    callback = CurriculumCallback("iid", save_to=tmp_path)
    model = new_model(walk_env())
    with pytest.raises(KeyboardInterrupt):
        model.learn(640, callback=[callback, Dies(at=70)])
    with pytest.raises(KeyboardInterrupt):  # of training with another callback
        model.learn(640, callback=[CurriculumCallback("iid"), PressesCtrlC(70)])
    assert model.num_timesteps == 70
    with pytest.raises(KeyboardInterrupt):
        model.learn(640, callback=[callback, Dies(at=70)])
    later = CurriculumCallback("iid", save_to=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.learn(640, callback=[later, PressesCtrlC(70)])
    assert model.num_timesteps == 128


@pytest.mark.soak
def test_environments_in_processes_ignore_ctrl_c():
    env = SubprocVecEnv([walk_env] * 2)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=32, device="cpu")
    callback = CurriculumCallback("iid")
    model.learn(64, callback=callback)
    for process in env.processes:
        os.kill(process.pid, signal.SIGINT)  # as a terminal sends it to all
    model.learn(64, callback=callback, reset_num_timesteps=False)
    assert model.num_timesteps == 128
    env.close()
    new_model(DummyVecEnv([walk_env])).learn(64, callback=CurriculumCallback("iid"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
