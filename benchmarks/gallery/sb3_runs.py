"""Runs with an algorithm of Stable-Baselines3."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from gallery.problem import EVALUATIONS, Run
from procurl.evidence import Scale, scale_of
from procurl.sb3 import CurriculumCallback, PoolEvaluation, evaluate_pool
from procurl.tasks.pool import TaskPool

EVAL_ENVS = 16


@dataclass(frozen=True)
class Sb3Learner:
    """An algorithm, its environment and how success is measured."""

    pool: TaskPool
    make_env: Callable[[], gymnasium.Env[Any, Any]]  # a `TaskEnv`
    algorithm: type[BaseAlgorithm]
    settings: Mapping[str, Any]
    steps: int
    n_envs: int = 8
    returns: tuple[float, float] | None = None  # what counts as 0 and 1; None: success is reported
    eval_tasks: int = 40  # of larger pools, a fixed sample
    episodes: int = 4  # per task and evaluation from the middle of training on; one before

    def train(self, strategy: str, seed: int) -> Run:
        """One run, evaluated with the policy that it trains with."""
        env = DummyVecEnv([self.make_env] * self.n_envs)
        model = self.algorithm("MlpPolicy", env, seed=seed, device="cpu", **self.settings)
        curriculum = CurriculumCallback(strategy, eval_env=self.make_env)
        probe = _Probe(self, curriculum)
        model.learn(self.steps, callback=[curriculum, probe])
        return probe.run

    def achieved(self, found: PoolEvaluation, scale: Scale | None = None) -> NDArray[np.float64]:
        """[m] the success rates, or the mean returns on `scale` or the problem's range."""
        if self.returns is None:
            return found.success
        low, high = self.returns if scale is None else (float(scale.low), float(scale.high))
        return np.clip((found.returns - low) / (high - low), 0.0, 1.0)


class _Probe(BaseCallback):
    """Evaluates the policy on the pool at even intervals."""

    def __init__(self, learner: Sb3Learner, curriculum: CurriculumCallback) -> None:
        super().__init__()
        self.learner = learner
        self.curriculum = curriculum
        self.run = Run([], [], [])
        self.env = DummyVecEnv([learner.make_env] * EVAL_ENVS)
        n = len(learner.pool)
        self.tasks = np.random.default_rng(0).permutation(n)[: learner.eval_tasks]

    def _on_step(self) -> bool:
        due = (len(self.run.steps) + 1) * self.learner.steps / EVALUATIONS
        if self.num_timesteps >= due and len(self.run.steps) < EVALUATIONS:
            self._evaluate()
        return True

    def _evaluate(self) -> None:
        late = len(self.run.steps) + 1 >= EVALUATIONS / 2
        found = evaluate_pool(
            self.model,
            self.env,
            self.learner.pool,
            episodes=self.learner.episodes if late else 1,
            deterministic=False,
            tasks=self.tasks,
            seed=self.num_timesteps,
        )
        self.run.steps.append(float(self.num_timesteps))
        self.run.performance.append(float(self.learner.achieved(found).mean()))
        self.run.calibration.append(self._error(found))

    def _error(self, found: PoolEvaluation) -> float:
        """How far PoS is off, on the scale of returns that the strategy has found."""
        estimate = self.curriculum.curriculum.success()
        if estimate is None:
            return np.nan
        teacher = self.curriculum.teacher
        scale = scale_of(teacher.totals.returns, teacher.strategy.outcome_measure)
        return float(np.abs(estimate[self.tasks] - self.learner.achieved(found, scale)).mean())
