"""What the policy sees at the start of every task.

The raw observations of the environments are recorded once. Vector wrappers such as `VecNormalize`,
whose statistics change during training, are applied each time they are used.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import (
    VecCheckNan,
    VecEnv,
    VecEnvWrapper,
    VecExtractDictObs,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
    VecVideoRecorder,
)
from stable_baselines3.common.vec_env.stacked_observations import StackedObservations

from procurl.envs.adapters.looks import require_different_looks
from procurl.internals.arrays import Ids

Observations = NDArray[Any] | dict[str, NDArray[Any]]  # m, also in each entry of a dict
View = Callable[[Observations], Observations]

UNCHANGED = (VecMonitor, VecCheckNan, VecVideoRecorder)  # do not change observations
PROBE_SEED = 1


def wrappers_of(env: VecEnv) -> list[VecEnvWrapper]:
    """The vector wrappers around the environments, innermost first."""
    found: list[VecEnvWrapper] = []
    while isinstance(env, VecEnvWrapper):
        found.append(env)
        env = env.venv
    return found[::-1]


def view_of(env: VecEnv) -> View:
    """A function that applies the wrappers of `env` to observations and changes none of them."""
    steps = [_step_of(wrapper) for wrapper in wrappers_of(env)]

    def seen(observations: Observations) -> Observations:
        for step in steps:
            observations = step(observations)
        return observations

    return seen


def is_known(wrapper: VecEnvWrapper) -> bool:
    """Whether the effect of a vector wrapper on observations is known."""
    known = (VecNormalize, VecTransposeImage, VecExtractDictObs, VecFrameStack, *UNCHANGED)
    return type(wrapper) in known  # exact types only: a subclass may behave differently


def first_observations(env: VecEnv, tasks: Ids) -> Observations:
    """The raw first observations of `tasks` [m]; ends the current episodes."""
    base, b = env.unwrapped, env.num_envs
    rounds = -(-len(tasks) // b)
    seen = []
    for chunk in np.resize(tasks, (rounds, b)):
        base.set_options([{"task": int(task)} for task in chunk])
        seen.append(base.reset())
    return rows(concatenate(seen), slice(len(tasks)))


def require_differences(env: VecEnv, n: int) -> None:
    """Raise if all n tasks have the same first observation under one seed; ends an episode.

    One environment is reset to one task after another until two observations differ.
    """
    seen = view_of(env)

    def look(task: int) -> Observations:
        shown, _ = env.env_method("reset", seed=PROBE_SEED, options={"task": task}, indices=0)[0]
        return seen(_batch_of_one(shown))

    require_different_looks(n, look)


def rows(observations: Observations, which: slice) -> Observations:
    """A slice of the observations."""
    if isinstance(observations, dict):
        return {key: part[which] for key, part in observations.items()}
    return observations[which]


def put_rows(observations: Observations, which: Ids, new: Observations) -> Observations:
    """A copy of the observations with the rows `which` [m] replaced by `new`."""
    if isinstance(observations, dict):
        assert isinstance(new, dict)
        return {key: _put(part, which, new[key]) for key, part in observations.items()}
    assert not isinstance(new, dict)
    return _put(observations, which, new)


def _put(array: NDArray[Any], which: Ids, new: NDArray[Any]) -> NDArray[Any]:
    array = array.copy()
    array[which] = new
    return array


def concatenate(parts: Sequence[Any]) -> Observations:
    """The observations of several batches, concatenated."""
    if isinstance(parts[0], dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return np.concatenate(parts)


def count(observations: Observations) -> int:
    """The number of observations."""
    return len(
        next(iter(observations.values())) if isinstance(observations, dict) else observations
    )


def _step_of(wrapper: VecEnvWrapper) -> View:
    """What a vector wrapper does to observations; raises if that is unknown."""
    if not is_known(wrapper):
        raise ValueError(
            f"env has the vector wrapper {type(wrapper).__name__}, whose effect on observations is "
            "unknown, so the critic might receive something that the policy never sees. Use a "
            "Gymnasium wrapper around each environment instead"
        )
    if isinstance(wrapper, VecNormalize):
        return wrapper.normalize_obs
    if isinstance(wrapper, VecTransposeImage):
        return wrapper.transpose_observations
    if isinstance(wrapper, VecExtractDictObs):
        return lambda observations: observations[wrapper.key]
    if isinstance(wrapper, VecFrameStack):
        return lambda observations: _stack_frames(wrapper, observations)
    return lambda observations: observations


def _stack_frames(wrapper: VecFrameStack, observations: Observations) -> Observations:
    """The observations on an otherwise empty stack, as after a reset."""
    stack = wrapper.stacked_obs
    inside: Any = wrapper.venv.observation_space
    fresh: Any = StackedObservations(
        count(observations), stack.n_stack, inside, channels_order(stack)
    )
    stacked: Observations = fresh.reset(observations)
    return stacked


def channels_order(stack: Any) -> Any:
    """The `channels_order` argument that gives an equivalent stack of frames."""
    if hasattr(stack, "sub_stacked_observations"):
        return {key: channels_order(part) for key, part in stack.sub_stacked_observations.items()}
    return "first" if stack.channels_first else "last"


def _batch_of_one(observation: Any) -> Observations:
    if isinstance(observation, dict):
        return {key: np.asarray(part)[None] for key, part in observation.items()}
    return np.asarray(observation)[None]
