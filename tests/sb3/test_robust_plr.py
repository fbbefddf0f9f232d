"""Robust PLR: a Stable-Baselines3 model learns from replayed tasks only."""

from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import IID, make_strategy
from procurl.sb3 import CurriculumCallback
from tests.sb3.walk import LENGTHS, walk_env

ROBUST = make_strategy("plr", robust=True)


class Watch(BaseCallback):
    """What the model is about to learn from, and its weights after each update."""

    def __init__(self, teacher_callback):
        super().__init__()
        self.curriculum_callback = teacher_callback
        self.rollouts, self.weights = [], []

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        self.weights.append(weights(self.model))

    def _on_rollout_end(self):
        mask = self.curriculum_callback.curriculum.learning_mask()
        self.rollouts.append((mask, self.model.rollout_buffer.observations))


def weights(model):
    return [part.detach().numpy().copy() for part in model.policy.state_dict().values()]


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def watched(algorithm=PPO, env=walk_env, policy="MlpPolicy", strategy=ROBUST, steps=320):
    callback = CurriculumCallback(strategy)
    watch = Watch(callback)
    sizes = {"batch_size": 32} if algorithm is PPO else {}
    model = algorithm(policy, DummyVecEnv([env] * 2), n_steps=16, device="cpu", seed=0, **sizes)
    first = weights(model)
    model.learn(steps, callback=[callback, watch])
    return first, watch, model


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_only_steps_on_seen_tasks_reach_the_update(algorithm):
    """The second number of an observation is the length of the walk, task + 1."""
    first, watch, model = watched(algorithm)
    some = 0
    for mask, observations in watch.rollouts:
        tasks = observations[..., 1].astype(int) - 1
        if mask.any() and mask[tasks].any():
            assert mask[tasks].all()
            some += not mask.all()
    assert some > 0
    assert not equal(weights(model), first)


def test_an_update_without_a_step_to_learn_from_is_undone():
    first, watch, _ = watched()
    assert not watch.rollouts[0][0].any()
    assert equal(watch.weights[1], first)
    assert not equal(watch.weights[-1], first)
    first, _, model = watched(steps=32)  # nothing but the first update
    assert equal(weights(model), first)


def test_observations_in_several_parts_are_replaced_together():
    class Parts(gymnasium.ObservationWrapper):
        def __init__(self, env):
            super().__init__(env)
            inside = env.observation_space
            self.observation_space = gymnasium.spaces.Dict({"one": inside, "two": inside})

        def observation(self, observation):
            return {"one": observation, "two": -observation}

    _, watch, _ = watched(env=lambda: Parts(walk_env()), policy="MultiInputPolicy")
    for mask, observations in watch.rollouts:
        np.testing.assert_array_equal(observations["one"], -observations["two"])
        tasks = observations["one"][..., 1].astype(int) - 1
        assert mask[tasks].all() or not mask[tasks].any()


def test_without_robust_every_step_counts():
    _, watch, _ = watched(strategy=make_strategy("plr"))
    mask, observations = watch.rollouts[0]
    assert mask is None
    assert len(np.unique(observations[..., 1])) > 1


@dataclass(frozen=True)
class FirstTasks(IID):
    """Uniform, and the agent learns from the first three tasks only."""

    def learning_mask(self, state):
        return np.arange(len(state.probabilities)) < 3


def learn(algorithm, policy="MlpPolicy", strategy=ROBUST, **settings):
    model = algorithm(policy, walk_env(), device="cpu", **settings)
    model.learn(16, callback=CurriculumCallback(strategy))


def test_algorithms_that_cannot_exclude_steps_are_refused():
    with pytest.raises(ValueError, match="DQN learns from a replay buffer.*: use PPO or A2C"):
        learn(DQN, strategy=FirstTasks())
    contrib = pytest.importorskip("sb3_contrib")
    with pytest.raises(ValueError, match="RecurrentPPO learns from whole sequences"):
        learn(contrib.RecurrentPPO, "MlpLstmPolicy", n_steps=8, batch_size=8)


def test_an_own_strategy_may_exclude_tasks():
    _, watch, _ = watched(strategy=FirstTasks(), steps=64)
    assert len(LENGTHS) > 3
    for _, observations in watch.rollouts:
        assert observations[..., 1].max() <= 3
