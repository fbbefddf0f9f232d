"""Errors of an environment name the task that was played, and what to do."""

import logging
import traceback

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from procurl import TaskEnv, TaskPool
from procurl.envs.adapters import task_errors

POOL = TaskPool([[0.5, 1.0], [2.0, 3.0]], names=["length", "mass"])


class Scripted(gymnasium.Env):
    """Does what a function says at each step of task 1, whose length is 2."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, at_step=lambda: 0.0, at_reset=lambda: None):
        self.at_step, self.at_reset = at_step, at_reset

    def reset(self, *, seed=None, options=None):
        self.broken = options["context"][0] == 2.0
        if self.broken:
            self.at_reset()
        return np.zeros(1, np.float32), {}

    def step(self, action):
        reward = self.at_step() if self.broken else 0.0
        return np.zeros(1, np.float32), reward, False, False, {}


def fail():
    raise KeyError("goal")


def note_of(error):
    return "".join(traceback.format_exception(error.value))


def test_a_reward_that_is_not_finite_names_task_and_step():
    for reward in (np.nan, -np.inf):
        env = TaskEnv(Scripted(at_step=lambda reward=reward: reward), POOL)
        env.reset(options={"task": 0})
        env.step(0)
        env.reset(options={"task": 1})
        with pytest.raises(ValueError, match="the reward must be finite") as error:
            env.step(0)
        assert str(error.value) == (
            f"the reward must be finite, got {reward} in step 1 of task 1 (length=2, mass=3): fix "
            "the environment or leave the task out of the pool"
        )


def test_a_reward_that_is_no_number_names_task_and_step():
    env = TaskEnv(Scripted(at_step=lambda: None), POOL)
    env.reset(options={"task": 1})
    message = r"the reward must be a number, got None in step 1 of task 1 \(length=2, mass=3\)"
    with pytest.raises(TypeError, match=message):
        env.step(0)


def test_an_error_in_reset_or_step_names_the_task():
    env = TaskEnv(Scripted(at_reset=fail), POOL)
    env.reset(options={"task": 0})
    with pytest.raises(KeyError) as error:
        env.reset(options={"task": 1})
    assert note_of(error).endswith(
        "KeyError: 'goal'\nTaskEnv: in the reset of task 1 (length=2, mass=3); repeat it with "
        "TaskEnv(env, pool).reset(options={'task': 1}), and fix the environment or leave the task "
        "out of the pool\n"
    )
    env = TaskEnv(Scripted(at_step=fail), POOL)
    env.reset(options={"task": 1})
    with pytest.raises(KeyError) as error:
        env.step(0)
    assert "TaskEnv: in step 1 of task 1 (length=2, mass=3); repeat it" in note_of(error)


def end():
    raise SystemExit(3)


def test_the_end_of_a_process_names_the_task_like_an_error():
    env = TaskEnv(Scripted(at_step=end), POOL)
    env.reset(options={"task": 1})
    with pytest.raises(SystemExit) as error:
        env.step(0)
    found = task_errors.environment_error(error.value)
    assert str(found).startswith(f"the environment raised SystemExit: 3 ({__file__}, line ")
    assert "in step 1 of task 1 (length=2, mass=3); repeat it" in str(found)
    for env in (
        TaskEnv(Scripted(at_reset=end), POOL),
        TaskEnv(Scripted(), POOL, set_task=lambda env, task: end()),
    ):
        with pytest.raises(SystemExit) as error:
            env.reset(options={"task": 1})
        assert "SystemExit: 3" in str(task_errors.environment_error(error.value))


def test_an_interrupt_of_the_user_is_not_an_error_of_the_environment():
    def interrupt():
        raise KeyboardInterrupt

    env = TaskEnv(Scripted(at_step=interrupt), POOL)
    env.reset(options={"task": 1})
    with pytest.raises(KeyboardInterrupt) as error:
        env.step(0)
    assert task_errors.environment_error(error.value) is None


def test_an_error_in_set_task_names_the_task():
    pool = TaskPool([{"level": "maze"}, {"level": "a" * 500}])
    env = TaskEnv(Scripted(), pool, set_task=lambda env, task: fail())
    with pytest.raises(KeyError) as error:
        env.reset(options={"task": 0})
    assert "TaskEnv: in set_task for task 0 ({'level': 'maze'}); repeat it" in note_of(error)
    with pytest.raises(KeyError) as error:
        env.reset(options={"task": 1})
    assert len(error.value.__notes__[0]) < 300


def test_a_reset_without_options_gets_its_own_remedy():
    class Old(Scripted):
        def reset(self, seed=None):
            return np.zeros(1, np.float32), {}

    env = TaskEnv(Old(), TaskPool.from_seeds([7, 8]))
    with pytest.raises(TypeError) as error:
        env.reset(options={"task": 1})
    assert (
        "TaskEnv: in the reset of task 1 (seed 8); reset must accept seed= and options=: define "
        "reset(self, *, seed=None, options=None)"
    ) in note_of(error)


def test_an_episode_that_does_not_end_is_reported_once(monkeypatch, caplog):
    monkeypatch.setattr("procurl.envs.adapters.task_env.LONG_EPISODE", 30)
    monkeypatch.setattr(task_errors, "_warned_of", set())
    pool, same = (TaskPool(POOL.contexts, names=POOL.names) for _ in range(2))
    with caplog.at_level(logging.WARNING):
        for env in [TaskEnv(Scripted(), pool)] * 2 + [TaskEnv(Scripted(), same)]:
            env.reset(options={"task": 1})
            for _ in range(40):
                env.step(0)
    assert [record.getMessage() for record in caplog.records] == [
        "an episode has not ended after 30 steps, on task 1 (length=2, mass=3): the curriculum "
        "learns nothing from it until it does, and evaluations wait for it. Return "
        "gymnasium.wrappers.TimeLimit(env, max_episode_steps=…) from the function that makes the "
        "environment, inside TaskEnv if you use it."
    ]
    assert task_errors.LONG_EPISODE >= 10_000


def test_a_wrapper_that_unpacks_an_old_step_gets_a_remedy():
    class Old(Scripted):
        def step(self, action):
            return np.zeros(1, np.float32), 0.0, False, {}

    env = TaskEnv(gymnasium.wrappers.TimeLimit(Old(), 9), POOL)
    env.reset(options={"task": 1})
    with pytest.raises(ValueError, match="to unpack") as error:
        env.step(0)
    assert "(length=2, mass=3); step must return 5 values: observation" in note_of(error)


class Reading(Scripted):
    """Reads its task in a way that a test chooses."""

    def __init__(self, read):
        super().__init__()
        self.read = read

    def reset(self, *, seed=None, options=None):
        self.read(options)
        return np.zeros(1, np.float32), {}


def unpack(numbers, count):
    if count == 1:
        (_,) = numbers
    elif count == 3:
        _, _, _ = numbers
    elif count == 4:
        _, _, _, *_ = numbers


@pytest.mark.parametrize(
    ("read", "remedy"),
    [
        (lambda task: unpack(task, 3), "at least 3: add the missing columns to the pool, or read"),
        (lambda task: unpack(task, 4), "at least 3: add the missing columns to the pool, or read"),
        (lambda task: task[2], "at least 3: add the missing columns to the pool, or read"),
        (lambda task: unpack(task, 1), "1: read all of them, or leave the other columns out"),
    ],
)
def test_an_environment_that_reads_more_or_fewer_columns_is_told_so(read, remedy):
    env = TaskEnv(Reading(lambda options: read(options["context"])), POOL)
    with pytest.raises((ValueError, IndexError)) as error:
        env.reset(options={"task": 1})
    assert (
        "TaskEnv: in the reset of task 1 (length=2, mass=3); a task of this pool has 2 numbers "
        f"(length, mass), and the environment reads {remedy}"
    ) in note_of(error)


def test_set_task_that_reads_more_columns_is_told_so():
    env = TaskEnv(Scripted(), POOL, set_task=lambda env, task: unpack(task, 3))
    with pytest.raises(ValueError, match="to unpack") as error:
        env.reset(options={"task": 1})
    assert "(length=2, mass=3); a task of this pool has 2 numbers (length, mass)" in note_of(error)


def test_an_error_about_other_numbers_has_the_usual_remedy():
    for read in (lambda _: unpack([0.0], 3), lambda _: np.zeros(7)[9]):
        with pytest.raises((ValueError, IndexError)) as error:
            TaskEnv(Reading(read), POOL).reset(options={"task": 1})
        assert "repeat it with TaskEnv(env, pool)" in note_of(error)


@pytest.mark.parametrize(
    ("pool", "read", "passed"),
    [
        (POOL, lambda options: options["task"], "reset(options={'context': task})"),
        (
            TaskPool([{"level": 1}, {"level": 2}]),
            lambda options: options["context"],
            "reset(options={'task': task})",
        ),
        (TaskPool.from_seeds(2), lambda options: options["context"], "reset(seed=task)"),
    ],
)
def test_a_reset_that_looks_for_its_task_in_vain_is_told_where_it_is(pool, read, passed):
    with pytest.raises((KeyError, TypeError)) as error:
        TaskEnv(Reading(read), pool).reset(options={"task": 1})
    assert f"; the task is passed as {passed}: let reset read it from there" in note_of(error)


def test_with_set_task_a_reset_that_reads_options_is_told_that_there_are_none():
    env = TaskEnv(Scripted(), POOL, set_task=lambda env, task: None)
    with pytest.raises(TypeError) as error:
        env.reset(options={"task": 1})
    assert "; with set_task, the task is passed to set_task(env, task)" in note_of(error)


def test_set_task_must_take_an_environment_and_a_task():
    message = r"set_task is called as set_task\(env, task\), but takes \(task\): define it with"
    with pytest.raises(TypeError, match=message):
        TaskEnv(Scripted(), POOL, set_task=lambda task: None)
    TaskEnv(Scripted(), POOL, set_task=lambda env, task, strict=True: None)
    TaskEnv(Scripted(), POOL, set_task=lambda *both: None)
