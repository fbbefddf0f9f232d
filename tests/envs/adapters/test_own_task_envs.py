"""TaskEnv around the project's own environments."""

import gymnasium
import numpy as np
import pytest

from procurl import TaskPool
from procurl.envs import GymEnv, make_pool
from procurl.envs.adapters.task_env import TaskEnv


@pytest.mark.parametrize("name", ["pointmass-s", "basickarel"])
def test_our_own_environments_take_a_task_by_id_to_the_same_effect(name):
    pool = make_pool(name, size=20)
    by_id, by_task = TaskEnv(GymEnv(name, pool), pool), TaskEnv(GymEnv(name), pool)
    for task in (0, 7, 19):
        (seen, info), (other, other_info) = (
            env.reset(seed=task, options={"task": task}) for env in (by_id, by_task)
        )
        assert np.array_equal(seen, other)
        assert info["task"] == other_info["task"] == task
        action = by_id.action_space.sample()
        for one, two in zip(by_id.step(action)[:4], by_task.step(action)[:4], strict=True):
            assert np.array_equal(one, two)


def test_an_episode_continues_from_a_saved_state():
    pool = make_pool("pointmass-s", size=6)

    def made():
        env = TaskEnv(gymnasium.make("procurl/PointMass-s-v0", pool=pool), pool)
        env.reset(seed=1)
        return env

    env, actions = made(), np.random.default_rng(0).uniform(-10, 10, size=(400, 2))

    def played(env, actions):
        seen = []
        for action in actions:
            observation, reward, done, _, info = env.step(action)
            seen.append((observation.tolist(), reward, info["task"]))
            if done:
                env.reset()
        return seen

    env.push_tasks([3, 1, 4])
    played(env, actions[:150])
    saved = env.state_dict()
    other = made()
    other.load_state_dict(saved)
    assert played(other, actions[150:]) == played(env, actions[150:])
    for ours, theirs in zip(other.collect(), env.collect(), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("entry", "error"),
    [({"queue": [0, "x"]}, TypeError), ({"queue": [6]}, ValueError), ({"task": None}, TypeError)],
)
def test_a_saved_state_with_tasks_outside_of_the_pool_is_refused(entry, error):
    pool = make_pool("pointmass-s", size=6)
    env = TaskEnv(gymnasium.make("procurl/PointMass-s-v0", pool=pool), pool)
    env.reset(seed=1)
    saved = env.state_dict()
    with pytest.raises(error, match="task must be"):
        env.load_state_dict(saved | entry)
    assert str(env.state_dict()) == str(saved)  # nothing has changed


def test_the_columns_of_a_pool_of_our_environment_are_matched_by_name():
    env = gymnasium.make("procurl.envs:procurl/PointMass-s-v0")
    pool = TaskPool([[0.5, 1.0, 1.5]], names=["Friction", "gate_width", "gate_position"])
    task_env = TaskEnv(env, pool)
    _, info = task_env.reset()
    assert task_env.pool is pool
    assert (info["gate_position"], info["gate_width"], info["friction"]) == (1.5, 1.0, 0.5)
    foreign = TaskPool([[1.0, 1.0, 1.5]], names=["foo", "gate_width", "gate_position"])
    with pytest.raises(ValueError, match="missing: friction; unknown: foo"):
        TaskEnv(env, foreign)
    TaskEnv(env, foreign, set_task=lambda env, task: None)  # set_task may read columns as it likes
