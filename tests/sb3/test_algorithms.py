"""Every algorithm and every space: the curriculum follows what the critic learns."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback
from tests.sb3.recording import Picks, share
from tests.sb3.toy import HARD, guess_env


def on_policy(**changes):
    """Settings that learn the game quickly; new ones each time, as the algorithms change them."""
    return {
        "learning_rate": 0.01,
        "n_steps": 64,
        "gamma": 0.9,
        "policy_kwargs": {"net_arch": [16]},
        "device": "cpu",
        "seed": 0,
    } | changes


def for_images(**extractor):
    """With the usual network for images, or another, as its convolutions take long."""
    extractor = extractor or {"features_extractor_kwargs": {"features_dim": 16}}
    small = {"net_arch": [16]} | extractor
    return on_policy(learning_rate=0.001, policy_kwargs=small)


def off_policy(**changes):
    return {
        "learning_rate": 0.01,
        "learning_starts": 50,
        "train_freq": 4,
        "gradient_steps": 2,
        "batch_size": 32,
        "policy_kwargs": {"net_arch": [16]},
        "device": "cpu",
        "seed": 0,
    } | changes


def trained(model, steps, strategy=None, **settings):
    """(picked tasks, the callback) of a short run."""
    strategy = strategy or make_strategy("procurl-val", beta=20)
    picks = Picks()
    callback = CurriculumCallback(strategy, **settings)
    model.learn(steps, callback=[callback, picks])
    return picks.tasks, callback


def require_hard_tasks_later(tasks):
    """At first all tasks alike, in the end mostly those that are neither won nor lost."""
    first, last = tasks[:50], tasks[-150:]
    assert 0.25 < share(first, HARD) < 0.75
    assert share(last, HARD) > 0.75


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_on_policy_algorithms(algorithm):
    model = algorithm("MlpPolicy", guess_env(), **on_policy())
    steps = {PPO: 640, A2C: 1600}[algorithm]
    tasks, callback = trained(model, steps)
    require_hard_tasks_later(tasks)
    assert callback.curriculum.step == steps - 64


@pytest.mark.parametrize("algorithm", [SAC, TD3, DDPG])
def test_algorithms_with_the_value_of_an_action(algorithm):
    extra = {"ent_coef": 0.001} if algorithm is SAC else {}
    model = algorithm("MlpPolicy", guess_env(continuous=True), **off_policy(**extra))
    tasks, callback = trained(model, 1000, refresh_every=100)
    require_hard_tasks_later(tasks)
    assert callback.curriculum.step == 1000


def test_an_algorithm_with_the_values_of_all_actions():
    model = DQN("MlpPolicy", guess_env(), **off_policy(target_update_interval=50))
    require_hard_tasks_later(trained(model, 1000, refresh_every=100)[0])


def test_a_rollout_of_one_episode_each():
    settings = off_policy(train_freq=(1, "episode"), gradient_steps=1, target_update_interval=50)
    model = DQN("MlpPolicy", guess_env(), **settings)
    require_hard_tasks_later(trained(model, 1000, refresh_every=100)[0])


@pytest.mark.parametrize("space", ["discrete", "multibinary", "dict"])
def test_observation_spaces(space):
    policy = "MultiInputPolicy" if space == "dict" else "MlpPolicy"
    model = PPO(policy, guess_env(space=space), **on_policy())
    require_hard_tasks_later(trained(model, 640)[0])


def test_images():
    model = PPO("CnnPolicy", guess_env(space="image"), **for_images())
    require_hard_tasks_later(trained(model, 640)[0])


def test_stacked_images():
    env = VecFrameStack(make_vec_env(lambda: guess_env(space="image")), n_stack=2)
    settings = for_images(features_extractor_class=FlattenExtractor)
    model = PPO("CnnPolicy", env, **settings)
    require_hard_tasks_later(trained(model, 832)[0])


def test_stacked_dictionaries():
    from gymnasium.wrappers import FlattenObservation

    env = VecFrameStack(
        make_vec_env(lambda: FlattenObservation(guess_env(space="dict"))), n_stack=3
    )
    require_hard_tasks_later(trained(PPO("MlpPolicy", env, **on_policy()), 640)[0])


def test_normalized_observations():
    env = VecNormalize(VecMonitor(DummyVecEnv([guess_env] * 2)), norm_reward=False)
    model = PPO("MlpPolicy", env, **on_policy(n_steps=32))
    tasks, _ = trained(model, 640)
    require_hard_tasks_later(tasks)
    # What was seen in training alone makes the statistics: one step each, and two resets.
    assert env.obs_rms.count == pytest.approx(640 + 2 * 2, abs=0.01)


def test_value_fn_replaces_the_critic():
    shapes = []

    def value_fn(observations):
        shapes.append(observations.shape)
        return np.where(observations.argmax(axis=1) >= 4, 0.5, 1.0)

    model = PPO("MlpPolicy", guess_env(), **on_policy())
    tasks, callback = trained(model, 256, value_fn=value_fn)
    assert shapes == [(8, 8)] * 3
    assert share(tasks[64:], HARD) > 0.95
    assert callback.curriculum.success().tolist() == [1.0] * 4 + [0.5] * 4


@pytest.mark.parametrize(
    "strategy",
    ["plr", "procurl-out", "procurl-env", "space", "spdl", "learning-progress", "iid"],
)
def test_other_evidence(strategy):
    model = PPO("MlpPolicy", guess_env(), **on_policy())
    rollouts = {"refresh_every": 64, "c_rollouts": 4} if strategy == "procurl-env" else {}
    tasks, callback = trained(model, 640, make_strategy(strategy, **rollouts), eval_env=guess_env)
    p = callback.curriculum.probabilities()
    if strategy in ("procurl-out", "procurl-env"):
        require_hard_tasks_later(tasks)
    if strategy == "procurl-env":
        assert callback.teacher_steps == 9 * 8 * 4  # one step an episode, nothing before an update
    if strategy == "plr":
        assert p[HARD].sum() > 0.6
    if strategy == "iid":
        assert p.tolist() == [1 / 8] * 8
    assert len(set(tasks)) == (8 if strategy != "space" else len(set(tasks)))


def test_trpo():
    contrib = pytest.importorskip("sb3_contrib")
    model = contrib.TRPO("MlpPolicy", guess_env(), **on_policy(batch_size=64))
    require_hard_tasks_later(trained(model, 640)[0])


def test_maskable_ppo():
    contrib = pytest.importorskip("sb3_contrib")
    model = contrib.MaskablePPO("MlpPolicy", guess_env(), **on_policy())
    strategy = make_strategy("procurl-env", refresh_every=64, c_rollouts=4)
    require_hard_tasks_later(trained(model, 640, strategy, eval_env=guess_env)[0])


def test_the_critic_of_maskable_ppo():
    contrib = pytest.importorskip("sb3_contrib")
    model = contrib.MaskablePPO("MlpPolicy", guess_env(), **on_policy())
    require_hard_tasks_later(trained(model, 640)[0])


def test_recurrent_ppo():
    contrib = pytest.importorskip("sb3_contrib")
    small = {"net_arch": [], "lstm_hidden_size": 16}
    model = contrib.RecurrentPPO(
        "MlpLstmPolicy", guess_env(), **on_policy(policy_kwargs=small, n_epochs=5)
    )
    require_hard_tasks_later(trained(model, 640)[0])


@pytest.mark.soak
def test_ppo_in_jax():
    sbx = pytest.importorskip("sbx")
    model = sbx.PPO("MlpPolicy", guess_env(), **on_policy())
    require_hard_tasks_later(trained(model, 640)[0])
