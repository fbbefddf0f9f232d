"""A refused call of `learn`, and the next call, which follows the advice in the message."""

import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback, PoolRecorder
from tests.sb3.toy import guess_env
from tests.sb3.walk import Walk, walk_env

VAL = make_strategy("procurl-val")


def ppo(env, seed=0):
    return PPO("MlpPolicy", env, n_steps=32, batch_size=32, seed=seed, device="cpu")


def test_two_curricula_are_refused_and_one_is_not():
    one, other = CurriculumCallback(VAL), CurriculumCallback("iid")
    model = ppo(walk_env())
    refused = "learn received 2 callbacks of type CurriculumCallback, .* replace the tasks"
    for callbacks in ([one, other], [one, CallbackList([other])], [one, one]):
        with pytest.raises(ValueError, match=refused):
            model.learn(64, callback=callbacks)
    assert model.num_timesteps == 0
    model.learn(64, callback=one)
    assert one.curriculum.step == 32


@pytest.mark.parametrize("name", ["procurl-val", "plr"])
def test_a_model_that_restarts_can_continue(name):
    callback = CurriculumCallback(make_strategy(name))
    model = ppo(DummyVecEnv([walk_env] * 2))
    model.learn(192, callback=callback)
    for _ in range(2):
        with pytest.raises(ValueError, match="restarts at step 0, .*reset_num_timesteps=False"):
            model.learn(128, callback=callback)
    assert model.num_timesteps == 192
    model.learn(128, callback=callback, reset_num_timesteps=False)
    assert model.num_timesteps == 320
    assert callback.curriculum.step == 256


def test_another_model_needs_another_callback():
    callback = CurriculumCallback(VAL)
    ppo(walk_env()).learn(96, callback=callback)
    other = ppo(walk_env())
    with pytest.raises(ValueError, match="is at step 64: create a new CurriculumCallback$"):
        other.learn(96, callback=callback)
    other.learn(96, callback=CurriculumCallback(VAL))


def test_tasks_that_look_alike_are_refused_every_time_and_others_are_not():
    callback = CurriculumCallback(VAL)
    blind = ppo(guess_env(blind=True))
    for _ in range(2):
        with pytest.raises(ValueError, match="all 8 tasks look alike to the critic"):
            blind.learn(64, callback=callback)
    with pytest.raises(RuntimeError, match="there is no curriculum yet"):
        _ = callback.curriculum
    ppo(guess_env(), seed=7).learn(64, callback=callback)
    assert (callback.curriculum.step, callback.teacher.seed) == (32, 7)


def test_a_saved_run_continues_with_its_own_model_after_another_was_refused(tmp_path):
    env = DummyVecEnv([walk_env])
    ppo(env).learn(96, callback=CurriculumCallback(VAL, save_to=tmp_path))
    callback = CurriculumCallback(VAL).load(tmp_path)
    with pytest.raises(
        ValueError, match="saved at step 96, but the model is at step 0: load .*zip"
    ):
        ppo(env).learn(96, callback=callback)
    model = PPO.load(callback.model_file, env=env, device="cpu")
    with pytest.raises(ValueError, match="call learn with reset_num_timesteps=False"):
        model.learn(96, callback=callback)
    model = PPO.load(callback.model_file, env=env, device="cpu")
    model.learn(96, callback=callback, reset_num_timesteps=False)
    assert callback.curriculum.step == 160
    assert callback.teacher.model is model


def test_a_run_starts_after_the_recorder_refused_it(tmp_path):
    def recorder(curriculum, **settings):
        return PoolRecorder(curriculum, tmp_path, eval_env=Walk, label="iid", **settings)

    first = CurriculumCallback("iid")
    ppo(walk_env()).learn(64, callback=[first, recorder(first)])
    curriculum = CurriculumCallback("iid")
    model = ppo(walk_env())
    with pytest.raises(ValueError, match="choose another seed, label or folder, or pass overwrite"):
        model.learn(64, callback=[curriculum, recorder(curriculum)])
    model.learn(64, callback=[curriculum, recorder(curriculum, overwrite=True)])

    curriculum = CurriculumCallback("iid")
    with pytest.raises(ValueError, match="choose another seed"):
        ppo(walk_env()).learn(64, callback=[curriculum, recorder(curriculum)])
    second = recorder(curriculum)
    ppo(walk_env(), seed=1).learn(64, callback=[curriculum, second])
    assert second.run.seed == 1
