"""Models without any reward: how long they wander, if the algorithm lets them return."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from procurl import AutoProCuRL, TaskEnv
from procurl.sb3 import CurriculumCallback
from procurl.sb3.anchor import ModelAnchor
from tests.sb3.walk import LENGTHS, Walk

WAITING, EAGER = AutoProCuRL(patience=0), AutoProCuRL(patience=None)
N_STEPS = 16


class LateWalk(Walk):
    """Without a reward in the first `silent` steps of the environment."""

    def __init__(self, silent):
        super().__init__()
        self.left = silent

    def step(self, action):
        self.left -= 1
        seen, reward, *others = super().step(action)
        return seen, reward if self.left < 0 else 0.0, *others


class Watch(BaseCallback):
    """The weights before each rollout, and whether the rollout had a reward."""

    def __init__(self):
        super().__init__()
        self.weights, self.rewarded = [], []

    def _on_rollout_start(self):
        self.weights.append(state_of(self.model))
        self.rewarded.append(False)

    def _on_step(self):
        self.rewarded[-1] |= bool(np.any(self.locals["rewards"] != 0.0))
        return True


def state_of(model):
    """The weights and the optimizer's state, as bytes."""
    optimizer = model.policy.optimizer.state_dict()["state"]
    parts = [part for each in optimizer.values() for part in each.values()]
    return [part.detach().numpy().tobytes() for part in (*model.policy.parameters(), *parts)]


def watched(algorithm, strategy, silent, updates=6, wrap=lambda env: env, **settings):
    """(whether each update left the model as it was, whether its rollout had a reward)."""
    env = wrap(DummyVecEnv([lambda: TaskEnv(LateWalk(silent), LENGTHS)] * 2))
    sizes = {"n_steps": N_STEPS} | ({"batch_size": 32} if algorithm is PPO else {})
    model = algorithm("MlpPolicy", env, device="cpu", seed=0, **sizes, **settings)
    watch = Watch()
    model.learn(2 * N_STEPS * updates, callback=[CurriculumCallback(strategy), watch])
    states = [*watch.weights, state_of(model)]
    return [a == b for a, b in pairwise(states)], watch.rewarded


@pytest.mark.parametrize("algorithm", [PPO, A2C])
@pytest.mark.parametrize("normalized", [False, True])
def test_a_model_stays_as_it_is_until_there_is_a_reward(algorithm, normalized):
    wrap = VecNormalize if normalized else lambda env: env
    unchanged, rewarded = watched(algorithm, WAITING, silent=3 * N_STEPS, wrap=wrap)
    assert rewarded[:3] == [False] * 3
    assert any(rewarded)
    assert unchanged == [not each for each in rewarded]


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_without_waiting_a_model_learns_at_once(algorithm):
    unchanged, rewarded = watched(algorithm, EAGER, silent=10 * N_STEPS, updates=2)
    assert not any(rewarded)
    assert unchanged == [False, False]


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_a_model_wanders_for_as_long_as_it_has_patience_and_returns(algorithm):
    env = DummyVecEnv([lambda: TaskEnv(LateWalk(10**6), LENGTHS)] * 2)
    sizes = {"n_steps": N_STEPS} | ({"batch_size": 32} if algorithm is PPO else {})
    model = algorithm("MlpPolicy", env, device="cpu", seed=0, **sizes)
    watch = Watch()
    learn = [CurriculumCallback(AutoProCuRL(patience=2)), watch]
    model.learn(2 * N_STEPS * 6, callback=learn)
    states = [*watch.weights, state_of(model)]
    assert [state == states[0] for state in states] == [
        True,
        False,
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_model_goes_on_from_a_reward_on_the_way():
    unchanged, rewarded = watched(PPO, AutoProCuRL(patience=4), silent=3 * N_STEPS)
    assert rewarded[:3] == [False] * 3
    assert any(rewarded)
    assert not any(unchanged)


def test_a_reward_sets_where_a_model_returns_to():
    model = PPO("MlpPolicy", DummyVecEnv([lambda: TaskEnv(Walk(), LENGTHS)]), device="cpu", seed=0)
    anchor = ModelAnchor(model, patience=1)

    def update(reward, weight):
        anchor.note_rewards(np.array([reward]))
        anchor.end_rollout()
        model.policy.action_net.bias.data.fill_(weight)  # what the update did
        anchor.end_update()
        return float(model.policy.action_net.bias.data[0])

    assert [update(0.0, 1.0), update(1.0, 2.0)] == [1.0, 2.0]
    assert [update(0.0, 3.0), update(0.0, 4.0)] == [3.0, 2.0]
    assert anchor.returns == 1


def test_a_wandering_model_resumes(tmp_path):
    def env():
        return DummyVecEnv([lambda: TaskEnv(LateWalk(10**6), LENGTHS)] * 2)

    steps = 2 * N_STEPS
    whole = PPO("MlpPolicy", env(), device="cpu", seed=0, n_steps=N_STEPS, batch_size=32)
    start = state_of(whole)
    whole.learn(3 * steps, callback=CurriculumCallback(AutoProCuRL(patience=2)))
    assert state_of(whole) == start

    first = PPO("MlpPolicy", env(), device="cpu", seed=0, n_steps=N_STEPS, batch_size=32)
    callback = CurriculumCallback(AutoProCuRL(patience=2))
    first.learn(2 * steps, callback=callback)
    assert state_of(first) != start
    callback.save(tmp_path)
    resumed = CurriculumCallback(AutoProCuRL(patience=2)).load(tmp_path)
    second = PPO.load(resumed.model_file, env=env(), device="cpu")
    second.learn(steps, callback=resumed, reset_num_timesteps=False)
    assert state_of(second) == start
    assert second.logger.name_to_value["curriculum/returns"] == 0  # logged before the update
    assert resumed.teacher.anchor.returns == 1


def test_the_last_update_is_undone_as_well():
    unchanged, _ = watched(PPO, WAITING, silent=10 * N_STEPS, updates=2)
    assert unchanged == [True, True]


def test_off_policy_algorithms_learn_as_always():
    def trained(strategy):
        env = TaskEnv(LateWalk(10**6), LENGTHS)
        model = DQN("MlpPolicy", env, device="cpu", seed=0, learning_starts=8, buffer_size=64)
        before = state_of(model)
        model.learn(48, callback=CurriculumCallback(strategy))
        return before, state_of(model)

    before, after = trained(WAITING)
    assert after != before
    assert (before, after) == trained(EAGER)
