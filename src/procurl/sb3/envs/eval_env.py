"""A second environment for rollouts and evaluations, with the same observations as training."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecEnv,
    VecEnvWrapper,
    VecExtractDictObs,
    VecFrameStack,
    VecNormalize,
    VecTransposeImage,
)

from procurl.sb3.envs.observations import (
    UNCHANGED,
    channels_order,
    is_known,
    wrappers_of,
)

EnvLike = gymnasium.Env[Any, Any] | VecEnv | Callable[[], gymnasium.Env[Any, Any]]
COPIES = 16  # environments side by side, if a function makes them


def vec_env_of(given: EnvLike, argument: str = "eval_env") -> VecEnv:
    """A vector environment for evaluations, from what a user passed.

    Args:
        given: a vector environment, one environment, or a function that makes one, which is called
            several times.
        argument: its name in error messages.
    """
    if isinstance(given, VecEnv):
        return given
    if isinstance(given, gymnasium.Env):
        return DummyVecEnv([lambda: given])
    if callable(given):
        return DummyVecEnv([given] * COPIES)
    raise TypeError(
        f"{argument} must be a Gymnasium environment, a vector environment of Stable-Baselines3 or "
        f"a function that makes an environment, got {given!r}"
    )


def copy_env(env: VecEnv) -> VecEnv:
    """Copies of the environments in `env`, made by `gymnasium.make`."""
    spec = None
    in_processes = isinstance(env.unwrapped, SubprocVecEnv)
    if not in_processes or env.get_attr("spec_is_picklable", indices=0)[0]:
        spec = env.get_attr("spec", indices=0)[0]
    if spec is None:
        raise ValueError(_REBUILD + "it was not made by gymnasium.make. " + _PASS_ONE)
    own = tuple(w for w in spec.additional_wrappers if w.name != Monitor.class_name())
    for wrapper in own:
        if wrapper.kwargs is None:
            raise ValueError(
                f"{_REBUILD}the wrapper {wrapper.name} does not record its arguments "
                f"(gymnasium.utils.RecordConstructorArgs). {_PASS_ONE}"
            )
    plain = replace(spec, additional_wrappers=own)
    return DummyVecEnv([lambda: gymnasium.make(plain, disable_env_checker=True)] * COPIES)


def match_wrappers(env: VecEnv, training: VecEnv | None) -> VecEnv:
    """`env` in the vector wrappers of `training`, so that its observations look the same.

    A vector environment whose own wrappers already change observations is returned as it is, except
    that its statistics become those of `training` and are no longer updated.
    """
    if any(type(wrapper) not in UNCHANGED for wrapper in wrappers_of(env)):
        for wrapper in wrappers_of(env):
            if isinstance(wrapper, VecNormalize):
                wrapper.training = False
                _share_statistics(wrapper, training)
        return env
    for wrapper in [] if training is None else wrappers_of(training):
        if not is_known(wrapper):
            name = type(wrapper).__name__
            raise ValueError(
                f"the model's environment has the vector wrapper {name}, whose effect on "
                "observations is unknown, so an environment for evaluations and rollouts cannot be "
                f"wrapped alike. Pass {name}(DummyVecEnv([lambda: TaskEnv(MyEnv(), pool)]))"
            )
        env = _wrap_like(env, wrapper)
    return env


def share_environments(one: VecEnv, other: VecEnv | None) -> bool:
    """Whether a step in one of the two is a step in the other."""
    if other is None:
        return False
    return not _environments(one).isdisjoint(_environments(other))


def _environments(env: VecEnv) -> set[int]:
    """Ids of the innermost environments, or of the vector environment around subprocesses."""
    inside = env.unwrapped
    if isinstance(inside, DummyVecEnv):
        return {id(own.unwrapped) for own in inside.envs}
    return {id(inside)}


def require_same_spaces(env: VecEnv, training: Any, argument: str = "eval_env") -> None:
    """Raise if a policy trained in `training` cannot act in `env`.

    Args:
        env: the environment for evaluations.
        training: the model or its environment.
        argument: the name of `env` in error messages.
    """
    for name in ("observation_space", "action_space"):
        ours, theirs = getattr(training, name), getattr(env, name)
        if ours != theirs:
            raise ValueError(f"{argument} must have the model's {name}, {ours}, got {theirs}")


_REBUILD = (
    "the strategy needs a second environment, for rollouts or the first observations of new tasks, "
    "and env cannot be copied: "
)
_PASS_ONE = "Pass one: CurriculumCallback(…, eval_env=lambda: TaskEnv(MyEnv(), pool))"


def _wrap_like(env: VecEnv, wrapper: VecEnvWrapper) -> VecEnv:
    """`env` in a wrapper like `wrapper`, if that changes observations."""
    if isinstance(wrapper, VecNormalize):
        like = VecNormalize(
            env,
            training=False,
            norm_obs=wrapper.norm_obs,
            norm_reward=False,
            clip_obs=wrapper.clip_obs,
            epsilon=wrapper.epsilon,
            norm_obs_keys=wrapper.norm_obs_keys,
        )
        if wrapper.norm_obs:  # else there are no statistics
            like.obs_rms = wrapper.obs_rms  # the same object, which training keeps updating
        return like
    if isinstance(wrapper, VecTransposeImage):
        return VecTransposeImage(env, skip=wrapper.skip)
    if isinstance(wrapper, VecExtractDictObs):
        return VecExtractDictObs(env, wrapper.key)
    if isinstance(wrapper, VecFrameStack):
        stack = wrapper.stacked_obs
        return VecFrameStack(env, stack.n_stack, channels_order(stack))
    return env


def _share_statistics(wrapper: VecNormalize, training: VecEnv | None) -> None:
    for theirs in [] if training is None else wrappers_of(training):
        if isinstance(theirs, VecNormalize) and theirs.norm_obs:
            wrapper.obs_rms = theirs.obs_rms
