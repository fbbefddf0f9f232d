"""Play an environment task by task, with random actions; errors name the task."""

import hashlib
import logging
import pickle
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete

from procurl.envs.adapters.declarations import require_spaces
from procurl.envs.adapters.play_pool import play_pool, task_env_of
from procurl.envs.adapters.results import (
    ResultError,
    require_info,
    require_reward,
    require_values,
)
from procurl.envs.adapters.task_errors import (
    RAISED,
    EnvironmentFailure,
    add_task,
    environment_failure,
)
from procurl.tasks.pool import TaskPool

log = logging.getLogger(__name__)
T = TypeVar("T")


class Step(NamedTuple):
    """The result of one action."""

    observation: Any
    reward: float
    over: bool
    info: Mapping[str, Any]


class PlayError(Exception):
    """An exception of the environment, or a result that TaskEnv rejects.

    Args:
        failure: what happened, where, and what to do.
    """

    def __init__(self, failure: EnvironmentFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class Player:
    """Plays chosen tasks of a pool, one after the other.

    Args:
        env: an environment, wrapped in `TaskEnv` if it is not one already.
        pool: its tasks; None uses those of the `TaskEnv`.
        set_task: as for `TaskEnv`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        pool: TaskPool | None = None,
        set_task: Callable[[Any, Any], None] | None = None,
    ) -> None:
        if not isinstance(env, gymnasium.Env):
            raise TypeError(f"env must be a Gymnasium environment, got {env!r}")
        require_spaces(env, type(env.unwrapped).__name__)
        if pool is not None:
            env = play_pool(env, pool, set_task)
        inside = task_env_of(env)
        if inside is None:
            raise ValueError("pool is required: env is not a TaskEnv, which has a pool")
        self.pool = inside.pool
        self.has_set_task = inside.task_setter is not None
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.seconds = 0.0  # spent in the environment
        self._env = env
        # Not through TaskEnv if it is outermost: it raises on what is to be found here.
        self._stepped = env.env if env is inside else env
        self._task, self._length = 0, 0
        self._names = set(vars(env.unwrapped))  # of attributes, before any task is set
        masked = isinstance(self.action_space, Discrete | MultiDiscrete)
        self._masked = masked and env.has_wrapper_attr("action_masks")

    def reset(self, task: int, seed: int) -> Any:
        """The first observation of a task; `seed` has no effect with a pool of seeds."""
        self._task, self._length = task, 0
        observation, _ = self._timed(self._env.reset, seed=seed, options={"task": task})
        return observation

    def step(self, action: Any) -> Step:
        self._length += 1
        return self._timed(self._step, action)

    def _step(self, action: Any) -> Step:
        place = (self.pool, self._task, self._length)
        result = self._stepped.step(action)
        observation, reward, ended, cut, info = require_values(result, *place)
        require_info(info, *place)
        return Step(observation, require_reward(reward, *place), bool(ended or cut), info)

    def attributes(self) -> dict[str, bytes]:
        """The pickled attributes of the innermost environment, but for its random generator.

        Those that only `set_task` has added are left out: the environment does not read them.
        """
        inside, found = self._env.unwrapped, {}
        for name, value in vars(inside).items():
            own = name in self._names or hasattr(type(inside), name) or not self.has_set_task
            if name.startswith("_np_random") or not own:
                continue
            try:
                found[name] = pickle.dumps(value)
            except Exception as error:  # of whatever the environment holds
                log.debug("attribute %s cannot be pickled: %s", name, error)
        return found

    def seed_actions(self, seed: int) -> None:
        """Make `random_action` start again from a seed."""
        self.action_space.seed(seed)

    def random_action(self) -> Any:
        """A random action, among those that `action_masks` allows if the environment has it."""
        if not self._masked:
            return self.action_space.sample()
        mask = np.asarray(self._env.get_wrapper_attr("action_masks")(), dtype=np.int8)
        if isinstance(self.action_space, MultiDiscrete):
            parts = np.split(mask.ravel(), np.cumsum(self.action_space.nvec)[:-1])
            return self.action_space.sample(mask=tuple(parts))
        return self.action_space.sample(mask=mask)

    def _timed(self, act: Callable[..., T], *args: Any, **options: Any) -> T:
        start = perf_counter()
        try:
            return act(*args, **options)
        except RAISED as error:
            raise PlayError(self._failure(error)) from error
        finally:
            self.seconds += perf_counter() - start

    def _failure(self, error: BaseException) -> EnvironmentFailure:
        if isinstance(error, ResultError):
            return EnvironmentFailure(str(error), "")
        if (found := environment_failure(error)) is not None:
            return found
        # Not from inside TaskEnv, which adds the task.
        add_task(error, self.pool, self._task, self._length)
        found = environment_failure(error)
        assert found is not None
        return found


def digest(observation: Any) -> bytes:
    """A short hash: equal observations have equal ones."""
    found = hashlib.blake2b(digest_size=16)
    for part in _arrays(observation):
        found.update(repr((part.shape, part.dtype.str)).encode())
        found.update(repr(part).encode() if part.dtype.kind == "O" else part.tobytes())
    return found.digest()


def is_finite(observation: Any) -> bool:
    """Whether all numbers in an observation are finite."""
    parts = (part for part in _arrays(observation) if part.dtype.kind == "f")
    return all(bool(np.isfinite(part).all()) for part in parts)


def _arrays(observation: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays in an observation, which may be nested dictionaries and tuples."""
    if isinstance(observation, Mapping):
        return [part for key in sorted(observation) for part in _arrays(observation[key])]
    if isinstance(observation, tuple):
        return [part for each in observation for part in _arrays(each)]
    return [np.asarray(observation)]
