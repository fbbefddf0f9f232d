"""What the doctor says of environments that fail or return what they should not."""

import re

import numpy as np
import pytest

from procurl.envs import check_environment
from tests.envs.checking.findings import check, found
from tests.envs.checking.toy import POOL, Corridor


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_reward_that_is_not_finite_is_named_with_task_and_step(value):
    result = check(bad_reward=value, steps=2000)
    ((level, text),) = found(result, "rewards")
    assert level == "problem"
    assert text.startswith(f"the reward at step 3 of task 5 is {value}")
    assert not result.usable


def test_an_observation_that_is_not_finite_is_named():
    ((level, text),) = found(check(bad_observation=True), "observations")
    assert level == "problem"
    assert text.startswith("the observation at step 2 of task ")


@pytest.mark.parametrize(
    ("traits", "level", "text"),
    [
        ({"dtype": np.float64}, "note", "is float64, its space float32"),
        ({"noise": 300.0}, "note", "is outside its space, "),
    ],
)
def test_what_differs_from_its_declaration_is_found(traits, level, text):
    ((seen, words),) = found(check(**traits), "spaces")
    assert (seen, text in words) == (level, True)


def test_an_observation_of_the_wrong_shape_ends_the_check():
    ((level, words),) = found(check(shape=(3,)), "errors")
    assert level == "problem"
    assert words.startswith(
        "the observation in the reset of task 0 (length=1) has shape (3,), its space (2,): correct "
        "the environment or its observation_space"
    )


@pytest.mark.parametrize("flag", [0.7, "yes"])
def test_a_success_that_is_no_flag_is_a_problem_of_success(flag):
    (level, words), _ = found(check(reports=1.0, flag=flag), "success")
    assert level == "problem"
    assert "must be True or False at the end of an episode, got " in words
    assert words.endswith("Leave it out if the environment has no notion of success.")


class Malformed(Corridor):
    """Returns from `step` what `change` makes of a correct result."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def step(self, action):
        return self.change(*super().step(action))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda o, r, t, c, info: (o, r, t, info),
            "step 1 of task 2 (length=3) returned 4 values; Gymnasium's step returns 5: "
            "observation, reward, terminated, truncated, info",
        ),
        (
            lambda o, r, t, c, info: (o, None, t, c, info),
            "the reward must be a number, got None in step 1 of task 2 (length=3): return a float",
        ),
        (
            lambda o, r, t, c, info: (o, np.array([0.5]), t, c, info),
            "the reward must be a number, got array([0.5]) in step 1 of task 2 (length=3)",
        ),
        (
            lambda o, r, t, c, info: (o, r, t, c, None),
            "info must be a dict, got None in step 1 of task 2 (length=3): return {}",
        ),
    ],
)
def test_a_malformed_result_names_task_and_step(change, text):
    # Task 2 comes first in the order of random play.
    ((level, words),) = found(check_environment(Malformed(change), POOL), "errors")
    assert level == "problem"
    assert words.startswith(text)


def test_an_error_of_set_task_is_told_from_one_of_the_reset():
    def set_task(env, task):
        raise RuntimeError("valve stuck")

    ((_, words),) = found(check(set_task=set_task), "errors")
    assert words.startswith("set_task raised RuntimeError: valve stuck (")
    assert "), on task 0 (length=1) Training would stop there" in words


def test_a_reset_without_keywords_gets_the_signature():
    class Plain(Corridor):
        def reset(self):
            return super().reset()

    ((_, words),) = found(check_environment(Plain(), POOL), "errors")
    assert "in the reset of task 0 (length=1) Training would stop there: reset must accept" in words
    assert "define reset(self, *, seed=None, options=None)" in words


@pytest.mark.parametrize(
    ("where", "text", "place"),
    [
        ("reset", "the environment raised KeyError: 'level 6' (", "the reset"),
        ("step", "the environment raised ZeroDivisionError: division by zero (", "step 1"),
    ],
)
def test_errors_name_the_task(where, text, place):
    result = check(fails=where, steps=2000)
    ((level, words),) = found(result, "errors")
    assert level == "problem"
    assert words.startswith(text)
    line = re.escape(f"), in {place} of task 5 (length=6) Training would stop there: repeat it")
    assert re.search(rf"toy\.py, line \d+{line}", words)
    # How the task is passed helps in the reset only.
    assert words.endswith("passed as reset(options={'context': task}).") == (where == "reset")
    assert not result.usable


def test_success_under_another_name_is_noted():
    def rename(observation, reward, terminated, truncated, info):
        return observation, reward, terminated, truncated, {"success": bool(terminated)}

    ((level, text),) = found(check_environment(Malformed(rename), POOL, steps=500), "success")
    assert level == "note"
    assert text.startswith("found info['success']; procurl reads info['is_success']")
