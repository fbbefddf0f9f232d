"""Settings that an algorithm rejects are named, at the start or where it fails."""

import re

import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import TaskEnv
from procurl.experiments.algorithm_errors import is_of_algorithm, require_usable, settings_error
from procurl.experiments.algorithms import (
    AlgorithmSettings,
    algorithm_settings,
    argument_defaults,
    make_model,
)
from tests.experiments.corridor import Corridor, lengths


@pytest.mark.parametrize(
    ("algo", "setting", "message"),
    [
        ("PPO", "n_epochs=0", "n_epochs must be an integer of at least 1, got 0"),
        ("PPO", "n_steps=many", "n_steps must be an integer of at least 1, got 'many'"),
        ("DQN", "train_freq=0", "train_freq must be an integer of at least 1, got 0"),
        ("TD3", "policy_delay=-1", "policy_delay must be an integer of at least 1, got -1"),
        ("PPO", "normalize_advantage=no", "normalize_advantage must be True or False, got 'no'"),
        ("PPO", "gamma=nan", "gamma must be a finite number, got nan"),
        ("PPO", "learning_rate=inf", "learning_rate must be a finite number, got inf"),
    ],
)
def test_a_setting_that_no_algorithm_can_have_is_refused(algo, setting, message):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        algorithm_settings(algo, None, [setting], Corridor.observation_space)


def test_other_settings_are_left_to_the_algorithm():
    left = {"ent_coef": "auto", "gamma": 0.9, "gradient_steps": -1, "batch_size": None}
    require_usable(left, argument_defaults("SAC"))


@pytest.mark.parametrize(
    ("algo", "arguments", "message"),
    [
        (
            "DQN",
            {"buffer_size": 10**14},
            "DQN cannot be made with buffer_size=100000000000000: it raised MemoryError: Unable to "
            "allocate",
        ),
        (
            "PPO",
            {"n_steps": 64, "net_arch": [8, 4], "gae_lambda": 0.5, "clip_range": "wide"},
            "PPO cannot be made with n_steps=64, net_arch=8x4, gae_lambda=0.5, clip_range=wide: ",
        ),
    ],
)
def test_an_error_of_a_constructor_lists_the_settings(algo, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as error:
        make_model(AlgorithmSettings(algo, "MlpPolicy", arguments), Corridor())
    assert str(error.value).endswith(
        "Correct these settings, or leave one out at a time to find the one it rejects"
    )


def test_an_error_without_settings_stays_as_it_is():
    message = "^SAC cannot be made: The algorithm only supports"
    with pytest.raises(ValueError, match=message):
        make_model(AlgorithmSettings("SAC", "MlpPolicy"), Corridor())


def test_a_long_error_is_cut_to_its_beginning():
    error = settings_error("PPO", "trained", {"n_steps": 8}, RuntimeError("a " * 500 + "\nb"))
    assert len(str(error)) < 400
    assert "with n_steps=8: it raised RuntimeError: a a a" in str(error)
    assert ": it raised KeyError. Correct" in str(settings_error("PPO", "made", {}, KeyError()))


class Failing(Corridor):
    def step(self, action):
        raise RuntimeError("of the environment")


@pytest.mark.parametrize(
    ("env", "arguments", "own"), [(Corridor, {"ent_coef": "auto"}, True), (Failing, {}, False)]
)
def test_errors_of_an_algorithm_are_told_from_those_of_an_environment(env, arguments, own):
    venv = DummyVecEnv([lambda: TaskEnv(env(), lengths())])
    model = PPO("MlpPolicy", venv, n_steps=64, device="cpu", **arguments)
    with pytest.raises((RuntimeError, TypeError)) as error:
        model.learn(64)
    assert is_of_algorithm(error.value) is own
