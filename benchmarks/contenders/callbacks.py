"""Curricula in Stable-Baselines3's PPO on PointMass-s: what they add to an update."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gymnasium

from contenders.success_rates import SuccessRates
from contenders.training import ENV, N_STEPS, settings
from turns import Turn


class Teaching(NamedTuple):
    """One way to bring a curriculum into Stable-Baselines3."""

    name: str
    package: str
    make: Callable[[Any], tuple[Any, Any]]  # from a pool to (environment, callback)


def turn_of(teaching: Teaching, n: int) -> Turn:
    """One update of 1,024 steps on a pool of n tasks."""
    import torch
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import DummyVecEnv

    from procurl.envs import make_pool
    from procurl.experiments.engines.sb3_ppo import paper_ppo

    torch.set_num_threads(1)
    env, callback = teaching.make(make_pool(ENV, size=n))
    model = paper_ppo(DummyVecEnv([lambda: env]), settings(), seed=0)
    model.set_logger(Logger(None, []))

    def turn() -> int:
        model.learn(N_STEPS, callback, reset_num_timesteps=False)
        return N_STEPS

    return turn


def no_curriculum(pool: Any) -> tuple[Any, Any]:
    """The environment draws its tasks uniformly."""
    from procurl.envs import GymEnv

    return GymEnv(ENV, pool), None


def procurl(strategy: str, pool: Any) -> tuple[Any, Any]:
    from procurl import TaskEnv
    from procurl.envs import GymEnv
    from procurl.sb3 import CurriculumCallback

    return TaskEnv(GymEnv(ENV, pool), pool), CurriculumCallback(strategy)


class NextTask(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Plays the task in `task`, or `new_task`, which Syllabus hands over."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.task = 0

    def reset(self, *, new_task: int | None = None, **options: Any) -> tuple[Any, Any]:
        self.task = self.task if new_task is None else int(new_task)
        return self.env.reset(seed=options.get("seed"), options={"task": self.task})

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        info["task_completion"] = float(info.get("is_success", False))
        return observation, reward, terminated, truncated, info


def by_hand(pool: Any) -> tuple[Any, Any]:
    """A callback that sets the task after the next, since the environment has reset already."""
    from stable_baselines3.common.callbacks import BaseCallback

    from procurl.envs import GymEnv

    env = NextTask(GymEnv(ENV, pool))

    class Callback(BaseCallback):
        rates = SuccessRates(len(pool))

        def _on_step(self) -> bool:
            for info, done in zip(self.locals["infos"], self.locals["dones"], strict=True):
                if done:
                    self.rates.record(info["task"], float(info["is_success"]))
                    env.task = int(self.rates.next(1)[0])
            return True

    return env, Callback()


def syllabus_sync(pool: Any) -> tuple[Any, Any]:
    """Uniform draws through Syllabus' queues, in the way its pages show for many processes."""
    from syllabus.core import GymnasiumSyncWrapper, make_multiprocessing_curriculum
    from syllabus.curricula import DomainRandomization
    from syllabus.task_space import DiscreteTaskSpace

    from procurl.envs import GymEnv

    space = DiscreteTaskSpace(len(pool))
    curriculum = make_multiprocessing_curriculum(DomainRandomization(space))
    return GymnasiumSyncWrapper(NextTask(GymEnv(ENV, pool)), space, curriculum.components), None


TEACHINGS = {
    "none": Teaching("no curriculum", "stable_baselines3", no_curriculum),
    "procurl": Teaching("procurl, `procurl`", "stable_baselines3", partial(procurl, "procurl")),
    "procurl-iid": Teaching("procurl, `iid`", "stable_baselines3", partial(procurl, "iid")),
    "by-hand": Teaching("callback by hand", "stable_baselines3", by_hand),
    "syllabus": Teaching("Syllabus, DomainRandomization", "syllabus", syllabus_sync),
}
