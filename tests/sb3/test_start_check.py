"""What is said when training starts, and that nothing else changes by it."""

import logging
import random

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from procurl import TaskEnv, TaskPool
from procurl.envs.checking import at_start
from procurl.sb3 import CurriculumCallback
from tests.envs.checking.toy import POOL, Corridor
from tests.sb3.recording import Picks


def learn(env, strategy="iid", steps=16, **settings):
    """The tasks that were played, and the weights in the end."""
    picks = Picks()
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=0, device="cpu")
    model.learn(steps, callback=[CurriculumCallback(strategy, **settings), picks])
    return picks.tasks, np.concatenate(
        [p.detach().numpy().ravel() for p in model.policy.parameters()]
    )


def warnings_of(caplog, env, strategy="iid", **settings):
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="procurl"):
        learn(env, strategy, **settings)
    return [record.getMessage() for record in caplog.records]


def forgetful():
    return TaskEnv(Corridor(uses=False), POOL)


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_a_task_that_changes_nothing_is_reported(kind, caplog):
    env = kind([forgetful])
    (message,) = warnings_of(caplog, env)
    env.close()
    assert message.startswith("the task changes nothing: with one seed and the same actions")
    assert "options['context']" in message
    assert message.endswith("`procurl check` shows more.")


def test_an_environment_in_order_is_not_mentioned(caplog):
    assert warnings_of(caplog, TaskEnv(Corridor(noise=0.5), POOL), "procurl-val") == []
    assert warnings_of(caplog, TaskEnv(Corridor(shows=False), POOL), "procurl-out") == []


def test_actions_that_start_elsewhere_than_at_0_are_reported(caplog):
    env = Corridor()
    env.action_space = spaces.Discrete(2, start=5)
    (message,) = warnings_of(caplog, TaskEnv(env, POOL))
    assert message.startswith("Stable-Baselines3 counts actions from 0, got Discrete(2, start=5).")
    assert message.endswith("add the start in a gymnasium.ActionWrapper.")
    assert warnings_of(caplog, TaskEnv(env, POOL), check_env=False) == []


def test_the_check_can_be_switched_off(caplog):
    assert warnings_of(caplog, forgetful(), check_env=False) == []
    with pytest.raises(TypeError, match="check_env must be True or False, got 'no'"):
        CurriculumCallback("iid", check_env="no")


def test_tasks_that_the_critic_confuses_are_counted(caplog):
    few = TaskPool([[1.0 + task % 3, task] for task in range(12)], names=["length", "hidden"])
    (message,) = warnings_of(caplog, TaskEnv(Corridor(), few), "procurl-val", reset_samples=2)
    assert message.startswith("only 3 of 12 tasks differ in their first observation")
    assert "no critic, such as procurl." in message
    assert warnings_of(caplog, TaskEnv(Corridor(), few), "procurl-out") == []


def test_an_observation_that_is_not_finite_is_reported_before_training(caplog):
    caplog.set_level(logging.WARNING, logger="procurl")
    with pytest.raises(ValueError, match="nan"):
        learn(TaskEnv(Corridor(bad_observation=True), POOL))
    assert "the observation at step 2 of task " in caplog.text


class Careless(Corridor):
    """Draws from the global generators and from one of its own, which no seed resets."""

    def __post_init__(self):
        super().__post_init__()
        self.rng = np.random.default_rng(5)
        self.log = []

    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed, options=options)
        self.place += 0.1 * (np.random.rand() + random.random() + self.rng.uniform())  # noqa: NPY002
        self.log.append(self.place)
        return self.seen(), info


@pytest.mark.parametrize("strategy", ["iid", "procurl-val"])
def test_the_check_changes_no_number_of_a_run(strategy):
    results = []
    for check_env in (True, False):
        np.random.seed(1)  # noqa: NPY002
        random.seed(1)
        env = Careless()
        tasks, weights = learn(TaskEnv(env, POOL), strategy, steps=64, check_env=check_env)
        results.append((tasks, weights.tolist(), env.log))
    assert results[0] == results[1]
    assert len(results[0][2]) > 5


def test_an_environment_that_cannot_be_copied_is_trained_anyway(caplog):
    env = Corridor(uses=False)
    env.handle = open(__file__)  # noqa: SIM115
    assert warnings_of(caplog, TaskEnv(env, POOL)) == []
    env.handle.close()


def test_our_own_environments_are_not_checked(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(at_start, "look", fail)
    env = TaskEnv(gymnasium.make("procurl/PointMass-s-v0"), TaskPool([[0.0, 1.0, 0.0]] * 2))
    assert at_start.start_warnings(env) == []
    with pytest.raises(AssertionError):
        at_start.start_warnings(forgetful())
