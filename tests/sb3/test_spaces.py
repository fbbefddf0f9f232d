"""Spaces in Stable-Baselines3: candidates change, and a resumed run has the same ones."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from procurl import TaskEnv, TaskSpace, make_strategy
from procurl.sb3 import CurriculumCallback, PoolRecorder
from procurl.strategies import refreshing
from tests.sb3.walk import Walk

SPACE = TaskSpace([1.0], [6.0], ["length"], size=12, fresh=0.25)


def walk_env():
    return TaskEnv(Walk(), SPACE)


def new_model(env=None):
    env = env or DummyVecEnv([walk_env] * 2)
    return PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")


def weights(model):
    return np.concatenate([p.detach().numpy().ravel() for p in model.policy.parameters()])


@pytest.mark.parametrize("strategy", ["procurl", "procurl-val", "plr", "iid"])
def test_candidates_change_and_training_repeats(strategy):
    found = []
    for _ in range(2):
        callback = CurriculumCallback(strategy, eval_env=Walk, check_env=False)
        model = new_model().learn(256, callback)
        pool = callback.curriculum.pool
        found.append((pool.fingerprint, weights(model)))
        assert callback.teacher.workers.env.get_attr("pool")[0].fingerprint == pool.fingerprint
        if callback.teacher.values is not None:  # the critic sees the candidates as they are
            starts = callback.teacher.values.observations
            np.testing.assert_allclose(starts[:, 1], pool.contexts[:, 0], rtol=1e-6)
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_all_candidates_are_valued_at_every_refresh(monkeypatch):
    monkeypatch.setattr(refreshing, "SLICE", 4)
    callback = CurriculumCallback("procurl-val", eval_env=Walk, check_env=False)
    new_model().learn(128, callback)
    assert callback.teacher.values.tasks_per_refresh is None


@pytest.mark.parametrize("strategy", ["procurl", "procurl-val"])
def test_a_resumed_run_has_the_candidates_that_were_saved(strategy, tmp_path):
    callback = CurriculumCallback(strategy, eval_env=Walk, check_env=False)
    new_model().learn(256, callback)
    callback.save(tmp_path)
    again = CurriculumCallback(strategy, eval_env=Walk, check_env=False).load(tmp_path)
    model = PPO.load(again.model_file, env=new_model().get_env(), device="cpu")
    before = callback.curriculum.state_dict()
    model.learn(64, again, reset_num_timesteps=False)
    assert again.curriculum.step >= callback.curriculum.step
    ages = again.curriculum.state_dict()["state"]["candidates/ages"]
    kept = ages > 1  # longer than the refreshes of this call
    saved = before["state"]["candidates/contexts"]
    np.testing.assert_array_equal(again.curriculum.pool.contexts[kept], saved[kept])
    assert kept.any()


@pytest.mark.parametrize("strategy", ["procurl", "procurl-val", "iid"])
def test_a_resumed_run_is_exact_in_our_environments(strategy, tmp_path):
    """As if it had not stopped, in environments that continue in the middle of an episode."""
    space = TaskSpace([-4.0, 0.5, 0.0], [4.0, 8.0, 4.0], size=12, fresh=0.25)

    def point_masses():
        made = [lambda: TaskEnv(gymnasium.make("procurl.envs:procurl/PointMass-s-v0"), space)] * 2
        return DummyVecEnv(made)

    settings = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}
    whole, callback = PPO("MlpPolicy", point_masses(), **settings), CurriculumCallback(strategy)
    whole.learn(640, callback)
    half, saved = PPO("MlpPolicy", point_masses(), **settings), CurriculumCallback(strategy)
    half.learn(256, saved)
    saved.save(tmp_path)
    again = CurriculumCallback(strategy).load(tmp_path)
    after = PPO.load(again.model_file, env=point_masses(), device="cpu")
    after.learn(384, again, reset_num_timesteps=False)
    assert again.curriculum.pool.fingerprint == callback.curriculum.pool.fingerprint
    assert again.curriculum.pool.fingerprint != saved.curriculum.pool.fingerprint
    assert str(again.curriculum.state_dict()) == str(callback.curriculum.state_dict())
    np.testing.assert_array_equal(weights(after), weights(whole))


class Levels(Walk):
    """A generator: the seed of a reset decides the length. `played` collects the seeds."""

    def __init__(self, played):
        super().__init__()
        self.played = played

    def reset(self, *, seed=None, options=None):
        self.played.append(seed)
        return super().reset(seed=seed, options={"context": [1 + seed % 6]})


@pytest.mark.parametrize("strategy", ["plr", "procurl"])
def test_a_level_generator_plays_fresh_seeds_beside_known_ones(strategy):
    """Seeds from 500 on are kept for tests: none of them is ever played."""
    space, played = TaskSpace.from_seeds(0, 499, size=12, fresh=0.25), []
    callback = CurriculumCallback(strategy, eval_env=lambda: Levels([]), check_env=False)
    new_model(DummyVecEnv([lambda: TaskEnv(Levels(played), space)] * 2)).learn(512, callback)
    early, late = np.split(np.array(played), [len(played) // 2])
    assert len(set(played)) > 12  # more than there are candidates
    assert set(played) <= set(range(500))
    assert np.isin(late, early).any()
    assert not np.isin(late, early).all()


def test_rollouts_are_on_the_candidates_as_they_are():
    strategy = make_strategy("procurl-env", c_rollouts=2, refresh_every=64)
    callback = CurriculumCallback(strategy, eval_env=Walk, check_env=False)
    new_model().learn(256, callback)
    (played,) = {pool.fingerprint for pool in callback.teacher.eval_workers.env.get_attr("pool")}
    assert played == callback.curriculum.pool.fingerprint
    assert callback.teacher_steps > 0
    with pytest.raises(ValueError, match="the strategy needs a second environment, for rollouts"):
        new_model().learn(64, CurriculumCallback(strategy, check_env=False))


@pytest.mark.soak
def test_subprocesses_play_the_same_candidates():
    found = []
    for kind in (DummyVecEnv, SubprocVecEnv):
        env = kind([walk_env] * 2)
        callback = CurriculumCallback("procurl", eval_env=Walk, check_env=False)
        model = new_model(env).learn(256, callback)
        (played,) = {pool.fingerprint for pool in env.get_attr("pool")}
        assert played == callback.curriculum.pool.fingerprint
        found.append((played, weights(model).tolist()))
        env.close()
    assert found[0] == found[1]


def test_a_strategy_that_needs_the_critic_needs_a_second_environment():
    with pytest.raises(ValueError, match="the first observations of new tasks"):
        new_model().learn(64, CurriculumCallback("procurl-val", check_env=False))


def test_a_recorder_needs_a_fixed_pool(tmp_path):
    callback = CurriculumCallback(eval_env=Walk, check_env=False)
    recorder = PoolRecorder(callback, tmp_path, eval_env=Walk)
    with pytest.raises(ValueError, match="PoolRecorder evaluates a fixed pool"):
        new_model().learn(64, [callback, recorder])
