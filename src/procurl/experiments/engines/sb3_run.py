"""One run of Stable-Baselines3's PPO in one of our environments, an update at a time."""

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from procurl.envs import make_host_env
from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.adapters.task_env import TaskEnv
from procurl.experiments.engines.sb3_ppo import paper_ppo
from procurl.experiments.presets import Preset
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.results import Measured
from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.envs.workers import Workers
from procurl.sb3.evaluation import PoolEvaluation, evaluate
from procurl.sb3.recorder import measured_of
from procurl.sb3.saving.random_state import random_state, restore_random_state
from procurl.sb3.saving.runs import Saved, state_of, within
from procurl.sb3.seeds import seed_of
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool

Arrays = dict[str, NDArray[Any]]
EVAL_WIDTH = 32  # environments at a time in evaluations and rollouts
START_SAMPLES = 16  # where resets are random, the starts of a task that its value is the mean over


class SB3Run:
    """A run that has random numbers of its own, so that runs may take turns in a process.

    Args:
        env: name of the environment.
        pool: the tasks.
        strategy: chooses among them.
        ppo: settings of the student.
        seed: of all random numbers.
        n_envs: environments that share the steps of an update.
        how: when and how the run is evaluated.
        eval_tasks: ids [m] of the tasks that evaluations play.
        test_pool: played at every evaluation, too.
    """

    def __init__(
        self,
        env: str,
        pool: TaskPool,
        strategy: Strategy,
        ppo: PPOSettings,
        seed: int,
        *,
        n_envs: int,
        how: Preset,
        eval_tasks: NDArray[np.int64],
        test_pool: TaskPool | None,
    ) -> None:
        self.env_name = env
        self.strategy = strategy
        self.ppo = ppo
        self.seed = seed
        self.eval_every = how.eval_every
        self.measured: list[Measured] = []
        self.seconds = 0.0
        self.stopped_at: int | None = None
        self.best = -np.inf
        self._how = how
        self._eval_tasks = eval_tasks
        self._steps = 0  # of training, those of a run that was stopped included
        self._workers = _for_evaluations(env, pool)
        self._test = None if test_pool is None else _for_evaluations(env, test_pool)
        dynamics = make_host_env(env)
        self.model = paper_ppo(_envs(env, pool, n_envs), ppo, seed)
        self.model.set_logger(Logger(None, []))
        self.callback = CurriculumCallback(
            strategy,
            seed=seed,
            eval_env=self._workers.env,
            reset_samples=START_SAMPLES if np.prod(dynamics.start_noise_shape) else 1,
        )
        self.callback.picks = []
        self.best_weights = self.weights()
        self._random = random_state()

    @property
    def train_steps(self) -> int:
        """Training steps taken; a run that was stopped counts on beside the others."""
        return self._steps

    def weights(self) -> Arrays:
        """Copies of the policy's weights, by name."""
        return {name: part.numpy().copy() for name, part in self.model.policy.state_dict().items()}

    def advance(self) -> None:
        """Train for one update, and evaluate where due."""
        before = self._steps
        self._steps += self.ppo.n_steps
        if self.stopped_at is None:
            start = time.perf_counter()
            self._learn()
            self.seconds += time.perf_counter() - start
        reached = self._steps // self.eval_every
        if before // self.eval_every < reached:
            self.evaluate(reached * self.eval_every)

    def _learn(self) -> None:
        """One update; weights that are no longer finite stop the run and are taken back."""
        kept = self.weights()
        restore_random_state(self._random)
        try:
            self.model.learn(self.ppo.n_steps, self.callback, reset_num_timesteps=False)
            self.callback.tell()  # now, so that evaluations see it
        except ValueError:  # so PyTorch says that a distribution has no finite parameters
            if _all_finite(self.weights()):
                raise
        self._random = random_state()
        if not _all_finite(self.weights()):
            self.stopped_at = self._steps
            self._set_weights(kept)

    def evaluate(self, step: int) -> Measured:
        """Play the evaluation's episodes, and keep the best weights so far."""
        restore_random_state(self._random)
        found = self._played(self._workers, self._eval_tasks, step)
        test = None if self._test is None else self._played(self._test, None, step)
        self._random = random_state()
        measured = measured_of(self.callback, found, step, self.seconds, test)
        measured = measured._replace(train_steps=self._steps)
        self.measured.append(measured)
        if measured.performance > self.best:
            self.best, self.best_weights = measured.performance, self.weights()
        return measured

    def _played(self, workers: Workers, tasks: Any, step: int) -> PoolEvaluation:
        return evaluate(
            self.model,
            workers,
            episodes=self._how.eval_episodes,
            deterministic=not self._how.eval_stochastic,
            tasks=tasks,
            seed=seed_of(self.seed, step),
        )

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """(JSON values, arrays) to go on from; what was measured is kept by whoever asks."""
        restore_random_state(self._random)
        saved = state_of(self.callback.teacher)
        meta = {
            "steps": self._steps,
            "updates": self.model._n_updates,
            "seconds": self.seconds,
            "stopped_at": self.stopped_at,
            "best": self.best if np.isfinite(self.best) else None,
            "teacher": saved.meta,
        }
        picks = np.concatenate([*(self.callback.picks or []), np.zeros(0, dtype=np.int64)])
        groups = {
            "teacher": saved.arrays,
            "weights": self.weights(),
            "best": self.best_weights,
            "adam": _optimizer_state(self.model.policy.optimizer),
            "": {"picks": picks},
        }
        named = {f"{g}/{name}": part for g, own in groups.items() for name, part in own.items()}
        return meta, named

    def restore(self, meta: dict[str, Any], arrays: Arrays, measured: list[Measured]) -> None:
        """Go on from `state`, in a run that was just made."""
        self._steps, self.seconds = meta["steps"], meta["seconds"]
        self.stopped_at = meta["stopped_at"]
        self.best = -np.inf if meta["best"] is None else meta["best"]
        self.measured = measured
        self.best_weights = within("best/", arrays)
        self._set_weights(within("weights/", arrays))
        _restore_optimizer(self.model.policy.optimizer, within("adam/", arrays))
        self.model.num_timesteps = meta["teacher"]["step"]
        self.model._n_updates = meta["updates"]
        self.callback.picks = [arrays["/picks"]]
        self.callback.resume_from(Saved(meta["teacher"], within("teacher/", arrays), None))
        self.model.learn(0, self.callback, reset_num_timesteps=False)  # takes it up, no more
        self._random = random_state()

    def _set_weights(self, weights: Arrays) -> None:
        self.model.policy.load_state_dict(
            {name: torch.from_numpy(part) for name, part in weights.items()}
        )


def _for_evaluations(name: str, pool: TaskPool) -> Workers:
    return Workers(_envs(name, pool, min(EVAL_WIDTH, len(pool))), "eval_env")


def _envs(name: str, pool: TaskPool, n: int) -> VecEnv:
    """n environments side by side, which share their dynamics."""
    dynamics = make_host_env(name)
    return DummyVecEnv([lambda: TaskEnv(GymEnv(dynamics, pool), pool)] * n)


def _all_finite(weights: Arrays) -> bool:
    return all(np.isfinite(part).all() for part in weights.values())


def _optimizer_state(optimizer: torch.optim.Optimizer) -> Arrays:
    """What Adam remembers of every parameter."""
    return {
        f"{parameter}.{name}": part.numpy().copy()
        for parameter, own in optimizer.state_dict()["state"].items()
        for name, part in own.items()
    }


def _restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, part in arrays.items():
        parameter, _, field = name.partition(".")
        state.setdefault(int(parameter), {})[field] = torch.from_numpy(part)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
