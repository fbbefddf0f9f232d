"""Mistakes that users make, and the errors that they get."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.sb3 import CurriculumCallback, evaluate_pool
from tests.sb3.toy import POOL, Guess, guess_env
from tests.sb3.walk import LENGTHS, Walk, walk_env

VAL = make_strategy("procurl-val")
ENV = make_strategy("procurl-env", refresh_every=32, c_rollouts=2)


def learn(env, strategy=VAL, algorithm=PPO, **settings):
    extra = {"n_steps": 32, "batch_size": 32} if algorithm is PPO else {"learning_starts": 5}
    model = algorithm("MlpPolicy", env, seed=0, device="cpu", **extra)
    model.learn(64, callback=CurriculumCallback(strategy, **settings))


def test_an_environment_that_takes_no_tasks():
    with pytest.raises(
        ValueError, match="env takes no tasks: wrap every environment in procurl.TaskEnv"
    ):
        learn(gymnasium.make("CartPole-v1"))


def test_environments_with_different_pools():
    other = TaskPool([[1.0], [2.0]], names=["length"])
    env = DummyVecEnv([walk_env, lambda: TaskEnv(Walk(), other)])
    with pytest.raises(
        ValueError, match="Compared with environment 0, the pool of environment 1 has"
    ):
        learn(env)


def test_a_pool_that_the_environment_cannot_play():
    with pytest.raises(ValueError, match="context"):
        learn(TaskEnv(gymnasium.make("procurl/PointMass-s-v0"), TaskPool([[0.0], [1.0]])))


def test_a_critic_that_cannot_tell_tasks_apart():
    with pytest.raises(ValueError, match="all 8 tasks look alike to the critic"):
        learn(guess_env(blind=True))
    # Chance at the start makes no difference between tasks.
    with pytest.raises(ValueError, match="all 6 tasks look alike to the critic"):
        learn(gymnasium.wrappers.TransformObservation(walk_env(noise=1.0), _noise_only, None))
    learn(guess_env(blind=True), make_strategy("procurl-out"))
    learn(guess_env(blind=True), make_strategy("plr"))


def _noise_only(observation):
    return observation * np.array([0.0, 0.0, 1.0], dtype=np.float32)


def test_an_algorithm_without_a_critic_that_we_know():
    contrib = pytest.importorskip("sb3_contrib")
    with pytest.raises(ValueError, match="needs a critic, and QRDQN is not .*value_fn"):
        learn(guess_env(), algorithm=contrib.QRDQN)
    learn(guess_env(), make_strategy("procurl-out"), contrib.QRDQN)
    learn(guess_env(), algorithm=contrib.QRDQN, value_fn=lambda seen: seen[:, 0])


def test_advantages_where_there_are_none():
    with pytest.raises(ValueError, match="plr needs the advantages in a rollout buffer, and DQN"):
        learn(guess_env(), make_strategy("plr"), DQN)


def test_a_vector_wrapper_that_is_not_known():
    class Doubled(VecEnvWrapper):
        def reset(self):
            return 2 * self.venv.reset()

        def step_wait(self):
            seen, *rest = self.venv.step_wait()
            return 2 * seen, *rest

    with pytest.raises(
        ValueError, match="the vector wrapper Doubled, whose effect on observations"
    ):
        learn(Doubled(DummyVecEnv([walk_env])))
    learn(Doubled(DummyVecEnv([walk_env])), make_strategy("iid"))  # asks no critic
    learn(Doubled(DummyVecEnv([walk_env])), make_strategy("procurl"))  # does without the critic
    with pytest.raises(ValueError, match=r"be wrapped alike. Pass Doubled\(DummyVecEnv"):
        learn(Doubled(DummyVecEnv([walk_env])), ENV, eval_env=walk_env)
    learn(Doubled(DummyVecEnv([walk_env])), ENV, eval_env=Doubled(DummyVecEnv([walk_env])))


def test_rollouts_without_an_environment_for_them():
    with pytest.raises(ValueError, match="env cannot be copied: it was not made by"):
        learn(walk_env(), ENV)

    class Plain(gymnasium.Wrapper):
        pass

    made = TaskEnv(Plain(gymnasium.make("tests/Walk-v0")), LENGTHS)
    with pytest.raises(ValueError, match="the wrapper Plain does not record its arguments"):
        learn(made, ENV)


def test_rollouts_in_the_training_environment():
    env = DummyVecEnv([walk_env])
    with pytest.raises(ValueError, match="eval_env must not be the model's training environment"):
        learn(env, ENV, eval_env=env)
    model = PPO("MlpPolicy", env, device="cpu")
    with pytest.raises(ValueError, match="env must not be the model's training environment"):
        evaluate_pool(model, env, LENGTHS)


@pytest.mark.parametrize("inside", [False, True])
def test_rollouts_in_the_training_environment_wrapped_anew(inside):
    walk = Walk()
    env = TaskEnv(walk, LENGTHS)
    again = TaskEnv(walk, LENGTHS) if inside else env
    with pytest.raises(ValueError, match="eval_env must not be the model's training environment"):
        learn(env, ENV, eval_env=again)
    model = PPO("MlpPolicy", env, device="cpu")
    with pytest.raises(ValueError, match="env must not be the model's training environment"):
        evaluate_pool(model, again, LENGTHS)


def test_an_eval_env_that_does_not_fit():
    with pytest.raises(ValueError, match="eval_env must have the model's observation_space"):
        learn(walk_env(), ENV, eval_env=guess_env)
    with pytest.raises(
        ValueError, match="eval_env must play the pool .* but the pool it plays has "
    ):
        learn(walk_env(), ENV, eval_env=lambda: TaskEnv(Walk(), TaskPool([[1.0], [2.0]])))
    with pytest.raises(ValueError, match="eval_env takes no tasks"):
        learn(walk_env(), ENV, eval_env=DummyVecEnv([Walk]))
    with pytest.raises(TypeError, match="eval_env must be a Gymnasium environment, a vector"):
        learn(walk_env(), ENV, eval_env="Walk")


def test_success_rates_that_the_environment_does_not_report():
    class Silent(Walk):
        def step(self, action):
            *rest, _ = super().step(action)
            return *rest, {}

    def silent():
        return TaskEnv(Silent(), LENGTHS)

    strategy = make_strategy("procurl-env", refresh_every=32, measure="success")
    with pytest.raises(ValueError, match=r"info\['is_success'\] is missing"):
        learn(silent(), strategy, eval_env=silent)


def test_rewards_that_are_not_finite():
    class Broken(Walk):
        def step(self, action):
            seen, _, *rest = super().step(action)
            return seen, np.nan if self.length == 3 else 0.0, *rest

    message = r"the reward must be finite, got nan in step \d of task 2 \(length=3\)"
    with pytest.raises(ValueError, match=message):
        learn(TaskEnv(Broken(), LENGTHS))
    with pytest.raises(ValueError, match=message):
        learn(walk_env(), ENV, eval_env=Broken)


def test_episodes_that_do_not_end(monkeypatch):
    class Endless(Walk):
        def step(self, action):
            seen, reward, ended, *rest = super().step(action)
            self.over = ended and self.length != 4
            return seen, reward, self.over, *rest

    monkeypatch.setattr("procurl.sb3.envs.episodes.LONGEST_EPISODE", 50)
    monkeypatch.setattr("procurl.sb3.envs.episodes.COLLECT_EVERY", 10)
    model = PPO("MlpPolicy", walk_env(), device="cpu")
    message = r"not ended after 50 steps, on task 3 \(length=4\): return gymnasium"
    with pytest.raises(ValueError, match=message):
        evaluate_pool(model, Endless, LENGTHS)
    assert len(evaluate_pool(model, Endless, LENGTHS, tasks=[0, 1, 2, 4, 5]).returns) == 5


def test_values_of_another_number():
    with pytest.raises(ValueError, match=r"one value for each of the 6 observations.*\(2,\)"):
        learn(walk_env(), value_fn=lambda seen: [0.0, 1.0])


def test_values_that_are_not_finite_stop_the_run():
    with pytest.raises(ValueError, match="evidence.values must be finite, got nan for task 0"):
        learn(walk_env(), value_fn=lambda seen: np.full(len(seen), np.nan))


def test_a_callback_that_is_used_for_another_run():
    callback = CurriculumCallback(VAL)
    model = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, device="cpu")
    model.learn(96, callback=callback)
    with pytest.raises(ValueError, match="restarts at step 0, .* is at step 64: pass reset_num"):
        model.learn(96, callback=callback)

    other = PPO("MlpPolicy", walk_env(), n_steps=32, batch_size=32, device="cpu")
    with pytest.raises(ValueError, match="restarts at step 0"):
        other.learn(96, callback=callback)


def test_a_wrapper_that_keeps_the_task_to_itself():
    class Silent(gymnasium.Wrapper):
        def step(self, action):
            *rest, _ = super().step(action)
            return *rest, {}

    with pytest.raises(ValueError, match="info\\['task'\\] is missing, in which TaskEnv reports"):
        learn(Silent(walk_env()), make_strategy("plr"))
    learn(Silent(walk_env()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"reset_samples": 0}, "reset_samples must be an integer of at least 1, got 0"),
        ({"refresh_every": 0}, "refresh_every must be an integer of at least 1, got 0"),
        ({"tasks_per_refresh": -1}, "tasks_per_refresh must be an integer of at least 1, got -1"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        CurriculumCallback(VAL, **settings)


def test_arguments_of_the_wrong_type():
    with pytest.raises(TypeError, match=r"strategy must be a Strategy, .* or a name .*, got 3"):
        CurriculumCallback(3)
    with pytest.raises(ValueError, match="strategy 'procurl-vall' is not known. Did you mean"):
        CurriculumCallback("procurl-vall")
    with pytest.raises(TypeError, match="value_fn must be a function of observations, got 3"):
        CurriculumCallback(VAL, value_fn=3)


def test_reading_the_curriculum_too_early():
    with pytest.raises(RuntimeError, match="there is no curriculum yet"):
        _ = CurriculumCallback(VAL).curriculum


def test_evaluations_of_another_pool():
    model = SAC("MlpPolicy", guess_env(continuous=True), device="cpu")
    with pytest.raises(ValueError, match="env must play the pool"):
        evaluate_pool(model, guess_env(continuous=True), TaskPool([[0.0]]))
    with pytest.raises(ValueError, match="env must have the model's action_space"):
        evaluate_pool(model, guess_env(), POOL)
    with pytest.raises(ValueError, match="tasks must be ids from 0 to 7, at least one, got"):
        evaluate_pool(model, lambda: Guess(continuous=True), POOL, tasks=[8])
