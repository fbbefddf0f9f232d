"""Playing every task of a pool, and what the policy sees meanwhile."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from procurl import TaskPool
from procurl.sb3 import evaluate_pool
from procurl.sb3.envs import episodes
from procurl.sb3.envs.eval_env import match_wrappers, vec_env_of
from procurl.sb3.envs.observations import first_observations, view_of
from tests.sb3.toy import Guess, guess_env
from tests.sb3.walk import LENGTHS, LIMIT, Walk, walk_env


class Always:
    """A model that always does the same."""

    def __init__(self, env, action):
        self.env = env
        self.action = action
        self.observation_space, self.action_space = env.observation_space, env.action_space

    def get_env(self):
        return self.env

    def predict(self, observations, state=None, episode_start=None, deterministic=False):
        return np.full(len(observations), self.action), None


@pytest.fixture
def right():
    return Always(DummyVecEnv([walk_env]), 1)


def test_returns_and_success_of_every_task(right):
    found = evaluate_pool(right, walk_env(), LENGTHS)
    assert found.tasks.tolist() == list(range(6))
    assert found.returns.tolist() == [1.0] * 6
    assert found.success.tolist() == [1.0] * 6
    assert found.steps == 1 + 2 + 3 + 4 + 5 + 6
    left = Always(right.env, 0)
    found = evaluate_pool(left, walk_env(), LENGTHS)
    assert found.performance == 0.0
    assert found.steps == 6 * LIMIT


@pytest.mark.parametrize("copies", [1, 4, 7, 16])
def test_any_number_of_environments_gives_the_same(copies, right):
    class Short(Walk):
        def reset(self, **arguments):
            seen, info = super().reset(**arguments)
            self.steps = LIMIT - 4  # so that lengths over four fail
            return seen, info

    env = DummyVecEnv([lambda: _with(Short())] * copies)
    found = evaluate_pool(right, env, LENGTHS, episodes=3)
    assert found.returns.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert found.steps == 3 * (1 + 2 + 3 + 4 + 4 + 4)


def test_many_episodes_are_collected_in_between(right, monkeypatch):
    monkeypatch.setattr(episodes, "COLLECT_EVERY", 5)
    found = evaluate_pool(right, walk_env(), LENGTHS, episodes=4)
    assert found.returns.tolist() == [1.0] * 6
    assert found.steps == 4 * 21


def _with(env):
    from procurl import TaskEnv

    return TaskEnv(env, LENGTHS)


def test_columns_in_another_order_than_in_training_are_refused(right):
    pool = TaskPool(LENGTHS.contexts, names=["width"])
    with pytest.raises(ValueError, match="pool must have the context columns of the training pool"):
        evaluate_pool(right, walk_env(), pool)


def test_an_environment_without_tasks_is_given_them(right):
    for given in (Walk(), Walk, walk_env, DummyVecEnv([walk_env] * 3)):
        assert evaluate_pool(right, given, LENGTHS).performance == 1.0


def test_some_tasks_of_a_pool(right):
    found = evaluate_pool(right, walk_env(), LENGTHS, tasks=[4, 1])
    assert found.tasks.tolist() == [4, 1]
    assert found.steps == 5 + 2


def test_success_is_unknown_if_not_reported():
    class Silent(Guess):
        def step(self, action):
            *rest, _ = super().step(action)
            return *rest, {}

    model = PPO("MlpPolicy", guess_env(), device="cpu")
    pool = TaskPool([[0.0], [1.0]], names=["number"])
    found = evaluate_pool(model, Silent, pool)
    assert np.isnan(found.success).all()
    assert found.returns.tolist() == [1.0, 1.0]


def test_the_same_seed_gives_the_same_evaluation():
    model = PPO("MlpPolicy", guess_env(), device="cpu")
    pool = guess_env().pool
    one, same, other = (
        evaluate_pool(model, Guess, pool, episodes=20, seed=seed).returns.tolist()
        for seed in (0, 0, 1)
    )
    assert one == same != other


def test_an_evaluation_sees_what_training_sees():
    training = VecFrameStack(VecNormalize(DummyVecEnv([walk_env] * 2), norm_reward=False), 3)
    model = PPO("MlpPolicy", training, n_steps=16, batch_size=32, device="cpu")
    model.learn(64)
    normalized = training.venv
    before = normalized.obs_rms.count
    env = match_wrappers(vec_env_of(walk_env), training)
    env.env_method("push_tasks", [3])
    seen = env.reset()
    expected = normalized.normalize_obs(np.array([[0.0, 4.0, 0.0]], dtype=np.float32))
    assert np.allclose(seen[0], [0] * 6 + expected[0].tolist())
    evaluate_pool(model, walk_env, LENGTHS)
    assert normalized.obs_rms.count == before
    # A vector environment that is wrapped already takes over the statistics alone.
    own = VecNormalize(DummyVecEnv([walk_env]), norm_reward=False)
    assert match_wrappers(own, training) is own
    assert own.obs_rms is normalized.obs_rms
    assert not own.training


@pytest.mark.parametrize("own", [None, VecNormalize])
def test_observations_need_not_be_normalized(own):
    training = VecNormalize(DummyVecEnv([walk_env] * 2), norm_obs=False)
    model = PPO("MlpPolicy", training, n_steps=16, batch_size=32, device="cpu")
    env = walk_env if own is None else own(DummyVecEnv([walk_env]), norm_obs=False)
    assert len(evaluate_pool(model, env, LENGTHS).returns) == 6


@pytest.mark.parametrize("tasks", [[], [6], [-1], [0.0], [True], ["a"], 3])
def test_wrong_tasks_are_named(right, tasks):
    with pytest.raises(ValueError, match="tasks must be ids from 0 to 5, at least one"):
        evaluate_pool(right, walk_env(), LENGTHS, tasks=tasks)


def test_a_wrong_seed_is_named(right):
    with pytest.raises(ValueError, match="seed must be .* at least 0, got -1"):
        evaluate_pool(right, walk_env(), LENGTHS, seed=-1)


def test_initial_observations_look_as_in_training():
    training = VecFrameStack(VecNormalize(DummyVecEnv([walk_env] * 4), norm_reward=False), 2)
    starts = first_observations(training, np.arange(6))
    assert starts.tolist() == [[0.0, length, 0.0] for length in range(1, 7)]
    seen = view_of(training)(starts)
    training.venv.training = False
    training.env_method("push_tasks", [2])
    assert np.allclose(training.reset()[0], seen[2])
