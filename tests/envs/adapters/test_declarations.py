"""Environments without spaces are refused by name."""

import gymnasium
import pytest
from gymnasium import spaces

from procurl import TaskPool
from procurl.envs import check_environment
from procurl.envs.adapters.declarations import require_spaces


class Undeclared(gymnasium.Env):
    observation_space = spaces.Discrete(2)


def test_a_space_that_is_missing_is_named():
    with pytest.raises(ValueError, match="maze must have an action_space from gymnasium.spaces"):
        require_spaces(Undeclared(), "maze")
    wrapped = gymnasium.Wrapper(Undeclared())
    with pytest.raises(ValueError, match="Undeclared must have an action_space .* got None: set"):
        check_environment(wrapped, TaskPool([[1.0], [2.0]]))


def test_an_environment_with_both_spaces_is_accepted():
    env = Undeclared()
    env.action_space = spaces.Discrete(3)
    require_spaces(env, "maze")
