"""One run of Stable-Baselines3's PPO in one of our environments, an update at a time."""

import time
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from procurl.envs import make_host_env
from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.adapters.task_env import TaskEnv
from procurl.experiments.batches import Job
from procurl.experiments.engines.models import ModelWeights, RunModels
from procurl.experiments.engines.sb3_ppo import network_weights, paper_ppo
from procurl.experiments.engines.setup import RunSetup
from procurl.internals.arrays import NamedArrays
from procurl.records.evaluation import Evaluation
from procurl.records.packing import pack_evaluations, unpack_evaluations
from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.envs.workers import Workers
from procurl.sb3.evaluation import PoolEvaluation, evaluate
from procurl.sb3.recorder import evaluation_of
from procurl.sb3.saving.random_state import random_state, restore_random_state
from procurl.sb3.saving.runs import SavedRun, state_of, within
from procurl.sb3.seeds import seed_of
from procurl.tasks.pool import TaskPool

EVAL_WIDTH = 32  # environments at a time in evaluations and rollouts
START_SAMPLES = 16  # initial observations per task whose values are averaged, if resets are random


class SB3Run:
    """One run of a `SequentialTrainer`.

    It has its own random state, so that runs can take turns in one process.

    Args:
        job: the experiment and its pools.
        setup: what the runs of the batch share.
        seed: of all random numbers.
    """

    def __init__(self, job: Job, setup: RunSetup, seed: int) -> None:
        env, pool = job.experiment.env, job.pool
        self.strategy = setup.strategy
        self.ppo = setup.ppo
        self.seed = seed
        self.eval_every = setup.evaluation.every
        self.evaluations: list[Evaluation] = []
        self.seconds = 0.0
        self.stopped_at: int | None = None
        self.best = -np.inf
        self._evaluation = setup.evaluation
        self._steps = 0  # of training; a stopped run keeps counting
        self._workers = _for_evaluations(env, pool)
        self._test = None if job.test_pool is None else _for_evaluations(env, job.test_pool)
        dynamics = make_host_env(env)
        self.model = paper_ppo(_envs(env, pool, job.experiment.n_envs), setup.ppo, seed)
        self.model.set_logger(Logger(None, []))
        self.callback = CurriculumCallback(
            setup.strategy,
            seed=seed,
            eval_env=self._workers.env,
            reset_samples=START_SAMPLES if np.prod(dynamics.start_noise_shape) else 1,
        )
        self.callback.picks = []
        self.best_weights = self.weights()
        self._random = random_state()

    @property
    def train_steps(self) -> int:
        """Training steps taken; a stopped run keeps counting with the others."""
        return self._steps

    def weights(self) -> NamedArrays:
        """Copies of the policy's weights, by name."""
        return {name: part.numpy().copy() for name, part in self.model.policy.state_dict().items()}

    def advance(self) -> None:
        """Train for one update, and evaluate if due."""
        before = self._steps
        self._steps += self.ppo.n_steps
        if self.stopped_at is None:
            start = time.perf_counter()
            self._learn()
            self.seconds += time.perf_counter() - start
        if (due := self._evaluation.due_step(before, self._steps)) is not None:
            self.evaluate(due)

    def _learn(self) -> None:
        """Train for one update; if weights are no longer finite, stop and restore the last ones."""
        kept = self.weights()
        restore_random_state(self._random)
        try:
            self.model.learn(self.ppo.n_steps, self.callback, reset_num_timesteps=False)
            self.callback.refresh()  # now, so that evaluations see it
        except ValueError:  # PyTorch raises it if the parameters of a distribution are not finite
            if _all_finite(self.weights()):
                raise
        self._random = random_state()
        if not _all_finite(self.weights()):
            self.stopped_at = self._steps
            self._set_weights(kept)

    def evaluate(self, step: int) -> Evaluation:
        """Play the evaluation's episodes, and keep the best weights so far."""
        restore_random_state(self._random)
        found = self._evaluate_tasks(self._workers, self._evaluation.tasks, step)
        test = None if self._test is None else self._evaluate_tasks(self._test, None, step)
        self._random = random_state()
        evaluation = evaluation_of(self.callback, found, step, self.seconds, test)
        evaluation = evaluation._replace(train_steps=self._steps)
        self.evaluations.append(evaluation)
        if evaluation.performance > self.best:
            self.best, self.best_weights = evaluation.performance, self.weights()
        return evaluation

    def _evaluate_tasks(self, workers: Workers, tasks: Any, step: int) -> PoolEvaluation:
        return evaluate(
            self.model,
            workers,
            episodes=self._evaluation.episodes,
            deterministic=not self._evaluation.stochastic,
            tasks=tasks,
            seed=seed_of(self.seed, step),
        )

    def state(self) -> tuple[dict[str, Any], NamedArrays]:
        """(JSON values, arrays) of a checkpoint."""
        restore_random_state(self._random)
        saved = state_of(self.callback.teacher)
        scalars, columns = pack_evaluations([self.evaluations])
        meta = {
            "steps": self._steps,
            "updates": self.model._n_updates,
            "seconds": self.seconds,
            "stopped_at": self.stopped_at,
            "best": self.best if np.isfinite(self.best) else None,
            "teacher": saved.meta,
            "evaluations": scalars,
        }
        picks = np.concatenate([*(self.callback.picks or []), np.zeros(0, dtype=np.int64)])
        groups = {
            "teacher": saved.arrays,
            "evaluations": columns,
            "weights": self.weights(),
            "best": self.best_weights,
            "adam": _optimizer_state(self.model.policy.optimizer),
            "": {"picks": picks},
        }
        named = {f"{g}/{name}": part for g, own in groups.items() for name, part in own.items()}
        return meta, named

    def restore(self, meta: dict[str, Any], arrays: NamedArrays) -> None:
        """Continue from `state` in a new run."""
        self._steps, self.seconds = meta["steps"], meta["seconds"]
        self.stopped_at = meta["stopped_at"]
        self.best = -np.inf if meta["best"] is None else meta["best"]
        [self.evaluations] = unpack_evaluations(meta["evaluations"], within("evaluations/", arrays))
        self.best_weights = within("best/", arrays)
        self._set_weights(within("weights/", arrays))
        _restore_optimizer(self.model.policy.optimizer, within("adam/", arrays))
        self.model.num_timesteps = meta["teacher"]["step"]
        self.model._n_updates = meta["updates"]
        self.callback.picks = [arrays["/picks"]]
        self.callback.resume_from(SavedRun(meta["teacher"], within("teacher/", arrays), None))
        self.model.learn(0, self.callback, reset_num_timesteps=False)  # only restores
        self._random = random_state()

    def models(self) -> RunModels:
        """The last weights and the best ones so far."""

        def params(weights: NamedArrays) -> Any:
            return network_weights({name: torch.from_numpy(w) for name, w in weights.items()})

        return RunModels(
            ModelWeights(params(self.weights()), self.evaluations[-1].performance),
            ModelWeights(params(self.best_weights), self.best),
        )

    def _set_weights(self, weights: NamedArrays) -> None:
        self.model.policy.load_state_dict(
            {name: torch.from_numpy(part) for name, part in weights.items()}
        )


def _for_evaluations(name: str, pool: TaskPool) -> Workers:
    return Workers(_envs(name, pool, min(EVAL_WIDTH, len(pool))), "eval_env")


def _envs(name: str, pool: TaskPool, n: int) -> VecEnv:
    """n environments that share their dynamics."""
    dynamics = make_host_env(name)
    return DummyVecEnv([lambda: TaskEnv(GymEnv(dynamics, pool), pool)] * n)


def _all_finite(weights: NamedArrays) -> bool:
    return all(np.isfinite(part).all() for part in weights.values())


def _optimizer_state(optimizer: torch.optim.Optimizer) -> NamedArrays:
    """The state that Adam has for every parameter."""
    return {
        f"{parameter}.{name}": part.numpy().copy()
        for parameter, own in optimizer.state_dict()["state"].items()
        for name, part in own.items()
    }


def _restore_optimizer(optimizer: torch.optim.Optimizer, arrays: NamedArrays) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, part in arrays.items():
        parameter, _, field = name.partition(".")
        state.setdefault(int(parameter), {})[field] = torch.from_numpy(part)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
