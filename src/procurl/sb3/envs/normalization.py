"""The running statistics of `VecNormalize` as arrays, and back."""

import math

import numpy as np
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from procurl.internals.arrays import NamedArrays
from procurl.sb3.envs.observations import wrappers_of

PARTS = ("mean", "var", "count")


def saved_statistics(env: VecEnv) -> NamedArrays:
    """The statistics of every `VecNormalize` around `env`."""
    return {
        f"{name}/{part}": np.array(getattr(running, part))
        for name, running in _running(env).items()
        for part in PARTS
    }


def restore_statistics(env: VecEnv, saved: NamedArrays) -> None:
    """Restore the result of `saved_statistics`; raises if `env` is wrapped differently."""
    running = _running(env)
    expected = {f"{name}/{part}" for name in running for part in PARTS}
    if expected != saved.keys():
        raise ValueError(
            f"the run was saved with statistics of VecNormalize {sorted(saved)}, env has "
            f"{sorted(expected)}: wrap env as in the saved run"
        )
    for name, own in running.items():
        own.mean, own.var = saved[f"{name}/mean"], saved[f"{name}/var"]
        own.count = float(saved[f"{name}/count"])


def reward_scale(env: VecEnv) -> float:
    """The factor by which `VecNormalize` currently divides rewards; 1 without it."""
    return math.prod(
        math.sqrt(float(wrapper.ret_rms.var) + wrapper.epsilon)
        for wrapper in wrappers_of(env)
        if isinstance(wrapper, VecNormalize) and wrapper.norm_reward
    )


def _running(env: VecEnv) -> dict[str, RunningMeanStd]:
    """The running statistics by name, in the order of the wrappers."""
    found: dict[str, RunningMeanStd] = {}
    for i, wrapper in enumerate(wrappers_of(env)):
        if not isinstance(wrapper, VecNormalize):
            continue
        found[f"{i}.rewards"] = wrapper.ret_rms
        if not wrapper.norm_obs:
            continue
        own = wrapper.obs_rms
        by_key = own if isinstance(own, dict) else {"": own}
        found |= {f"{i}.observations.{key}": running for key, running in by_key.items()}
    return found
