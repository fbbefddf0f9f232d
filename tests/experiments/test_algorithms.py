"""Algorithms of Stable-Baselines3, made for the spaces of an environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

from procurl.experiments.algorithms import algorithm_settings, default_policy, make_model

MOVES = spaces.Discrete(2)
SMALL = spaces.Box(0, 255, (8, 8, 1), dtype=np.uint8)


class Still(gymnasium.Env):
    """Shows random observations, in any spaces."""

    def __init__(self, observations, actions=MOVES):
        self.observation_space = observations
        self.action_space = actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}


def made(env, algo="PPO", policy=None):
    settings = algorithm_settings(algo, policy, ["n_steps=64"], env.observation_space)
    return make_model(settings, env, seed=0)


def test_small_images_are_read_without_convolutions():
    model = made(Still(SMALL))
    observation, _ = model.env.unwrapped.envs[0].reset()
    action, _ = model.predict(observation)
    assert int(action) in (0, 1)
    assert default_policy("DQN", SMALL) == "MlpPolicy"
    assert default_policy("PPO", spaces.Box(0, 255, (36, 36, 1), dtype=np.uint8)) == "CnnPolicy"


def test_recurrent_policies_have_names_of_their_own():
    pytest.importorskip("sb3_contrib")
    assert default_policy("RecurrentPPO", SMALL) == "MlpLstmPolicy"


def test_small_images_are_refused_where_convolutions_would_read_them():
    with pytest.raises(ValueError, match=r"CnnPolicy takes images of at least 36.*\(8, 8, 1\)"):
        made(Still(SMALL), policy="CnnPolicy")
    with pytest.raises(ValueError, match=r"MultiInputPolicy takes .* image 'a' .*Flatten"):
        made(Still(spaces.Dict({"a": SMALL, "b": MOVES})))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Still(MOVES, spaces.Discrete(2, start=5)), r"actions from 0, got Discrete\(2, start=5\)"),
        (Still(MOVES, spaces.MultiDiscrete([2, 2], start=[5, 5])), "actions from 0, got Multi"),
        (Still(spaces.Discrete(4, start=-2)), "observations from 0, got Discrete"),
        (Still(spaces.Tuple([MOVES, MOVES])), "does not take Tuple observations. Flatten them"),
    ],
)
def test_spaces_that_stable_baselines3_misunderstands_are_refused(env, message):
    with pytest.raises(ValueError, match=message):
        made(env)
