"""What a user asks of a comparison, checked before any file is written."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from procurl.envs import make_host_env, make_pool
from procurl.envs.mujoco.threads import thread_count
from procurl.experiments.engines.registry import (
    ENGINES,
    has_host_form,
    host_environments,
    resolve_engine,
)
from procurl.experiments.presets import paper_ppo_settings, paper_strategy, preset
from procurl.internals.checks import require_choice, require_integer
from procurl.internals.settings import describe, flat_settings
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.experiment import Contender, Experiment
from procurl.strategies import strategy_names
from procurl.tasks.pool import TaskPool

BACKENDS = ("local", "ray")
CPU_WIDTH = 8
GPU_WIDTH = 128


@dataclass(frozen=True)
class TrainingOptions:
    """How runs are trained.

    Args:
        steps: training steps per run; None for the paper's.
        n_envs: environments per run.
        engine: `jax`, `host` or `sb3`.
        ppo: settings that replace the paper's, each as `name=value`.
        pool: file of the training pool; None for the environment's own.
        width: seeds of a strategy that are trained side by side; None for the width of the
            directory, or a default that depends on the number of seeds and the kind of device.
    """

    steps: int | None = None
    n_envs: int = 1
    engine: str = "jax"
    ppo: Sequence[str] = ()
    pool: str | None = None
    width: int | None = None

    def check(self) -> None:
        """Raise ValueError on an unknown engine or a number out of range."""
        require_choice("engine", self.engine, ENGINES)
        require_integer("n_envs", self.n_envs, at_least=1)
        _require_positive("steps", self.steps)
        _require_positive("width", self.width)


@dataclass(frozen=True)
class EvaluationOptions:
    """How runs are evaluated.

    Args:
        eval_every: training steps between evaluations; None for the paper's.
        eval_episodes: episodes on each task; None for the paper's.
        test_pool: file of a pool to play at every evaluation; None for none.
    """

    eval_every: int | None = None
    eval_episodes: int | None = None
    test_pool: str | None = None

    def check(self) -> None:
        """Raise ValueError on a number out of range."""
        _require_positive("eval_every", self.eval_every)
        _require_positive("eval_episodes", self.eval_episodes)


@dataclass(frozen=True)
class ExecutionOptions:
    """Where runs are trained.

    Args:
        backend: `local` for this machine, or `ray` for a cluster.
        ray_address: `auto` or HOST:PORT; None for $RAY_ADDRESS or a new local cluster.
        workers: processes on this machine; None for one per core, or one per GPU.
    """

    backend: str = "local"
    ray_address: str | None = None
    workers: int | None = None

    def check(self) -> None:
        """Raise ValueError on an unknown backend or options that it does not have."""
        require_choice("backend", self.backend, BACKENDS)
        if self.ray_address is not None and self.backend != "ray":
            raise ValueError(
                f"ray_address needs the backend ray, got backend {self.backend!r} with "
                f"ray_address {self.ray_address!r}"
            )
        if (self.ray_address or "").startswith("ray://"):
            raise ValueError(
                f"ray_address must be auto or HOST:PORT, got {self.ray_address!r}: the Ray client "
                "does not support streaming tasks. Run the command on a node of the cluster"
            )
        _require_positive("workers", self.workers)
        if self.workers is not None and self.backend == "ray":
            raise ValueError(
                f"workers needs the backend local, got {self.workers}: "
                "Ray decides how many batches it trains at a time"
            )


@dataclass(frozen=True)
class OutputOptions:
    """What is written in addition to results and the report.

    Args:
        keep_models: whether to save the last and the best weights of every run.
        tensorboard: directory for TensorBoard files; None for none.
        wandb: project of Weights & Biases; None for none.
        command: how to run this again, for the report; None for this process's command line.
    """

    keep_models: bool = False
    tensorboard: Path | None = None
    wandb: str | None = None
    command: str | None = None


@dataclass(frozen=True)
class ComparisonRequest:
    """What a user asks of `compare`.

    Args:
        env: name of the environment.
        strategies: names, each with settings if given: `procurl-val:beta=10`.
        seeds: runs per strategy, with seeds 0 to n − 1.
        out: directory of the results; an existing one is continued.
        training: how runs are trained.
        evaluation: how they are evaluated.
        execution: where they are trained.
        output: what is written in addition to results and the report.
    """

    env: str
    strategies: Sequence[str]
    seeds: int
    out: Path
    training: TrainingOptions = TrainingOptions()
    evaluation: EvaluationOptions = EvaluationOptions()
    execution: ExecutionOptions = ExecutionOptions()
    output: OutputOptions = OutputOptions()

    @property
    def contenders(self) -> list[Contender]:
        """The strategies with their settings."""
        return [Contender.parse(text) for text in self.strategies]

    @property
    def ppo(self) -> PPOSettings:
        """The paper's settings of PPO, with the user's in their place."""
        return paper_ppo_settings(self.env, self.training.ppo)

    def check(self) -> None:
        """Raise ValueError on everything that can be found wrong before any file is read."""
        self.training.check()
        self.execution.check()
        require_integer("seeds", self.seeds, at_least=1)
        self.evaluation.check()
        make_host_env(self.env)  # raises if it is unknown or a package is missing
        self._check_engine()
        self._check_strategies()
        self._check_ppo()

    def _check_engine(self) -> None:
        if has_host_form(self.env):
            thread_count(None)  # raises if PROCURL_THREADS is not a number
        elif self.training.engine == "host":
            raise ValueError(
                f"engine host is for {', '.join(host_environments())}, got environment "
                f"{self.env!r}: use the engine jax"
            )

    def _check_strategies(self) -> None:
        for contender in self.contenders:
            if "," in contender.strategy and contender.strategy not in strategy_names():
                raise ValueError(
                    f"strategy {contender.strategy!r} is not known: separate names by spaces"
                )
            paper_strategy(self.env, contender.strategy, **contender.settings()).check()

    def _check_ppo(self) -> None:
        ppo, n_envs, eval_every = self.ppo, self.training.n_envs, self.evaluation.eval_every
        ppo.check()
        if ppo.n_steps % n_envs:
            raise ValueError(
                f"n_envs must divide the {ppo.n_steps} steps of an update, got {n_envs}"
            )
        if eval_every is not None and eval_every < ppo.n_steps:
            raise ValueError(
                f"eval_every must be at least the {ppo.n_steps} steps of an update, got "
                f"{eval_every}: runs are evaluated between updates"
            )


def _require_positive(name: str, value: int | None) -> None:
    if value is not None:
        require_integer(name, value, at_least=1)


def read_pools(request: ComparisonRequest) -> tuple[TaskPool, TaskPool | None]:
    """The training and the test pool; raises if the environment cannot play one of their tasks."""
    env = make_host_env(request.env)
    file, test_file = request.training.pool, request.evaluation.test_pool
    pool = make_pool(request.env) if file is None else env.read_pool(file)
    test_pool = None if test_file is None else env.read_pool(test_file)
    for each in (pool, test_pool):
        if each is not None:
            env.contexts_of(each)
    return pool, test_pool


def make_experiment(
    request: ComparisonRequest, device: str, test_pool: TaskPool | None
) -> Experiment:
    """What all runs of the request have in common.

    Args:
        request: what the user asks.
        device: `cpu` or `gpu`, which decides the engine and the width of batches.
        test_pool: as read from its file.
    """
    paper, training, evaluation = preset(request.env), request.training, request.evaluation
    every, episodes = evaluation.eval_every, evaluation.eval_episodes
    return Experiment(
        env=request.env,
        engine=resolve_engine(training.engine, request.env, device),
        steps=paper.steps if training.steps is None else training.steps,
        n_envs=training.n_envs,
        width=width_of(request, device),
        pool=_absolute(training.pool),
        test_pool=_absolute(evaluation.test_pool),
        test_hash=None if test_pool is None else test_pool.fingerprint,
        device=device,
        student=describe(request.ppo),
        # The paper's own numbers, written out, are the same experiment as the default.
        eval_every=None if every == paper.eval_every else every,
        eval_episodes=None if episodes == paper.eval_episodes else episodes,
    )


def _absolute(file: str | None) -> str | None:
    return None if file is None else os.path.abspath(file)


def width_of(request: ComparisonRequest, device: str) -> int:
    """The number of seeds to train side by side in a new directory.

    It depends on the request and the kind of device only, never on the number of cores, because a
    run's numbers depend on it. By default seeds fill as few batches as `CPU_WIDTH` or `GPU_WIDTH`
    allows; on a CPU all batches have about the same width.
    """
    width = request.training.width
    engine = resolve_engine(request.training.engine, request.env, device)
    if engine in ("host", "sb3"):
        if width not in (None, 1):
            raise ValueError(
                f"width must be 1 for the engine {engine}, which trains one run at a time in each "
                f"process, got {width}"
            )
        return 1
    if width is not None:
        return width
    if device == "gpu":
        return min(request.seeds, GPU_WIDTH)
    batches = math.ceil(request.seeds / CPU_WIDTH)
    return math.ceil(request.seeds / batches)


def cost_of(env: str, contender: Contender, pool: TaskPool) -> float:
    """About how many environment steps a contender takes for each step of training."""
    strategy = paper_strategy(env, contender.strategy, **contender.settings())
    plan = strategy.rollout_plan()
    if plan is None:
        return 1.0
    episodes = len(pool) * plan.episodes / (strategy.refresh_every or 1)
    cost = 1.0 + episodes * make_host_env(env).horizon
    return float(min(cost, flat_settings(strategy).get("budget") or cost))
