"""What reset and step return is checked where a task is played."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from procurl import TaskEnv, TaskPool

POOL = TaskPool([[4.0], [6.0]], names=["width"])
START = np.zeros(2, np.float32)


class Fixed(gymnasium.Env):
    """Returns the same from every reset and every step."""

    observation_space = Box(-1.0, 1.0, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, at_reset=(START, {}), at_step=(START, 0.0, False, False, {})):
        self.at_reset, self.at_step = at_reset, at_step

    def reset(self, *, seed=None, options=None):
        return self.at_reset

    def step(self, action):
        return self.at_step


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            START,
            "the reset of task 1 (width=6) returned 1 value of type ndarray; Gymnasium's reset "
            "returns 2: observation, info",
        ),
        ((START, {}, 0), "returned 3 values; Gymnasium's reset returns 2"),
        (
            (np.zeros(3), {}),
            "the observation in the reset of task 1 (width=6) has shape (3,), its space (2,): "
            "correct the environment or its observation_space",
        ),
        ((START, None), "info must be a dict, got None in the reset of task 1 (width=6)"),
    ],
)
def test_a_malformed_reset_names_the_task(result, message):
    env = TaskEnv(Fixed(at_reset=result), POOL)
    with pytest.raises(TypeError) as error:
        env.reset(options={"task": 1})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            (START, 0.0, False, {}),
            "step 1 of task 1 (width=6) returned 4 values; Gymnasium's step returns 5: "
            "observation, reward, terminated, truncated, info",
        ),
        ((START, np.zeros(1), False, False, {}), "must be a number, got array([0.]) in step 1 of"),
        ((np.zeros((2, 2)), 0.0, False, False, {}), "in step 1 of task 1 (width=6) has shape (2,"),
        ((START, 0.0, False, False, []), "info must be a dict, got [] in step 1 of task 1"),
    ],
)
def test_a_malformed_step_names_task_and_step(result, message):
    env = TaskEnv(Fixed(at_step=result), POOL)
    env.reset(options={"task": 1})
    with pytest.raises(TypeError) as error:
        env.step(0)
    assert message in str(error.value)


def test_what_training_can_use_passes():
    usable = (np.zeros((1, 2)), np.array(0.5), np.False_, False, {})
    env = TaskEnv(Fixed(at_step=usable), POOL)
    env.reset(options={"task": 1})
    assert env.step(0)[1] == 0.5
