"""What a user asks of a comparison, checked before any file is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from procurl.envs import EnvSource, environment_names, make_host_env, resolve_environment
from procurl.envs.adapters.closing import close_env
from procurl.envs.mujoco.threads import thread_count
from procurl.experiments.algorithms import (
    AlgorithmSettings,
    algorithm_settings,
    make_model,
)
from procurl.experiments.engines.registry import (
    ENGINES,
    default_engine,
    has_host_form,
    host_environments,
)
from procurl.experiments.presets import (
    OWN_STEPS,
    Preset,
    changed_ppo_settings,
    contender_strategy,
    own_preset,
    paper_ppo_settings,
    preset,
)
from procurl.experiments.training_pools import (
    Pools,
    PoolText,
    check_pool_options,
    listed,
    read_pools,
)
from procurl.internals.checks import require_choice, require_integer
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.experiment import TARGETS, TEST, Contender
from procurl.strategies import strategy_names
from procurl.strategies.registry import DEFAULT_STRATEGY

BACKENDS = ("local", "ray")


@dataclass(frozen=True)
class TrainingOptions:
    """How runs are trained.

    Args:
        steps: training steps per run; None for the paper's, or 100,000 for other environments.
        n_envs: environments per run.
        engine: `jax`, `host` or `sb3`; None for the one that fits.
        settings: of the algorithm that replace its defaults or the paper's, each as `name=value`.
        pool: the training pool, its file, `seeds:N` or `FILE.py:function`, or a list of several
            pools that runs are spread over; None for the environment's own.
        pools: number of pools to draw with the seeds 0 to n − 1, over which runs are spread; None
            for `pool`. With several pools, the run with seed i plays the pool i mod n.
        target_pool: tasks that matter more than the others, as for `pool`: they are added to the
            pool, marked as targets, and are the test pool unless another one is given.
        width: seeds of a strategy that are trained side by side; None for the width of the
            directory, or a default that depends on the number of seeds and the kind of device.
        algo: class of Stable-Baselines3 or sb3-contrib, for the engine `sb3`; None for PPO.
        policy: of that class; None for the one that fits the observations.
        set_task: `FILE.py:function` that sets the task of an environment that is not ours.
    """

    steps: int | None = None
    n_envs: int = 1
    engine: str | None = None
    settings: Sequence[str] = ()
    pool: PoolText | Sequence[PoolText] | None = None
    pools: int | None = None
    target_pool: PoolText | None = None
    width: int | None = None
    algo: str | None = None
    policy: str | None = None
    set_task: str | None = None

    def check(self) -> None:
        """Raise ValueError on an unknown engine or a number out of range."""
        if self.engine is not None:
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
        eval_tasks: number of tasks of the training pool to play, always the same ones, or all if
            there are fewer; None for the paper's.
        eval_stochastic: whether to sample actions instead of acting deterministically; None for as
            in the paper.
        test_pool: a pool to play at every evaluation, as for training; None for the targets, if
            `target_pool` names or the training pool marks any.
    """

    eval_every: int | None = None
    eval_episodes: int | None = None
    eval_tasks: int | None = None
    eval_stochastic: bool | None = None
    test_pool: PoolText | None = None

    def check(self) -> None:
        """Raise ValueError on a number out of range."""
        _require_positive("eval_every", self.eval_every)
        _require_positive("eval_episodes", self.eval_episodes)
        _require_positive("eval_tasks", self.eval_tasks)


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


class Spaces(NamedTuple):
    """What an agent sees and does in an environment, as Gymnasium describes it."""

    observations: Any
    actions: Any
    horizon: int | None  # the most steps of an episode, if it is known


@dataclass(frozen=True)
class ComparisonRequest:
    """What a user asks of `compare`.

    Args:
        env: the environment: a name, a Gymnasium id, or a function that makes it.
        strategies: names, each with settings if given: `procurl-val:beta=10`. If empty, `procurl`
            and `iid`.
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

    @cached_property
    def source(self) -> EnvSource | None:
        """How to make the environment; None for one of ours."""
        set_task = self.training.set_task
        if self.env not in environment_names():
            return resolve_environment(self.env, set_task)
        if set_task is not None:
            raise ValueError(
                f"set_task is for environments that are not ours, got {set_task!r}: {self.env} "
                "takes its tasks from the pool"
            )
        return None

    @property
    def name(self) -> str:
        """The environment's name in records."""
        return self.env if self.source is None else self.source.name

    @cached_property
    def spaces(self) -> Spaces:
        """The observations and actions of the environment."""
        env = self._make_env()
        horizon = None if env.spec is None else env.spec.max_episode_steps
        found = Spaces(env.observation_space, env.action_space, horizon)
        close_env(env)
        return found

    @cached_property
    def engine(self) -> str:
        """The engine: the one requested, or the one that fits."""
        if self.training.engine is not None:
            return self.training.engine
        if self.training.algo is not None:
            return "sb3"
        return "jax" if self.source is None else default_engine(*self.spaces[:2])

    @cached_property
    def student(self) -> PPOSettings | AlgorithmSettings:
        """The learning algorithm with the user's settings."""
        training = self.training
        if self.engine == "sb3" and (self.source is not None or training.algo is not None):
            algo, seen = training.algo or "PPO", self.spaces.observations
            return algorithm_settings(algo, training.policy, training.settings, seen)
        if self.source is None:
            return paper_ppo_settings(self.env, training.settings)
        return changed_ppo_settings(PPOSettings(), training.settings)

    @cached_property
    def pools(self) -> Pools:
        """The training and the test pool; raises if the environment cannot play their tasks."""
        training = self.training
        given, targets = listed(training.pool), training.target_pool
        return read_pools(
            self.env, self.source, given, training.pools, targets, test=self.test_pool
        )

    @property
    def test_pool(self) -> PoolText | None:
        """The pool to play at every evaluation, or its text, if a user names one or targets."""
        given = self.evaluation.test_pool
        return self.training.target_pool if given is None else given

    @property
    def test_name(self) -> str:
        """What tables call the test pool."""
        by_default = self.evaluation.test_pool is None and self.pools.test is not None
        return TARGETS if by_default else TEST

    @property
    def contenders(self) -> list[Contender]:
        """The strategies with their settings."""
        return [Contender.parse(text) for text in self.strategies or (DEFAULT_STRATEGY, "iid")]

    @property
    def preset(self) -> Preset:
        """How the environment is trained and evaluated by default."""
        if self.source is None:
            return preset(self.env)
        return own_preset(self.training.steps or OWN_STEPS, self.update_steps)

    @property
    def update_steps(self) -> int:
        """Training steps of one update, over all environments."""
        student = self.student
        if isinstance(student, PPOSettings):
            return student.n_steps
        return student.update_steps * self.training.n_envs

    def check(self) -> None:
        """Raise ValueError on everything that can be found wrong before any file is read."""
        self.training.check()
        self.execution.check()
        require_integer("seeds", self.seeds, at_least=1)
        self.evaluation.check()
        if self.source is None:
            make_host_env(self.env)  # raises if a package is missing
        else:
            self.source.require_portable()
            self.source.require_new()
        own, training = self.source is None, self.training
        check_pool_options(self.env, listed(training.pool), training.pools, self.seeds, own)
        self._check_engine()
        self._check_strategies()
        self._check_student()

    def check_pools(self) -> None:
        """Raise if a training pool cannot be used, before any strategy is trained."""
        for pool in self.pools.training:
            if self.source is not None:
                from procurl.experiments.engines.task_envs import require_reset  # needs Gymnasium

                require_reset(self.source, pool)
            for contender in self.contenders:
                contender_strategy(self.name, contender).bind(pool)

    def _check_engine(self) -> None:
        own, engine = self.source is not None, self.engine
        for option in ("algo", "policy"):
            if engine != "sb3" and getattr(self.training, option) is not None:
                value = getattr(self.training, option)
                raise ValueError(f"{option} needs the engine sb3, got {value!r} with {engine!r}")
        if not own and self.training.policy is not None and self.training.algo is None:
            raise ValueError(
                f"policy needs an algorithm in {self.env}, got {self.training.policy!r}: pass algo "
                "too, or leave the policy out for the paper's network"
            )
        if own and engine == "jax":
            raise ValueError(
                f"engine jax compiles {', '.join(environment_names())}, got environment "
                f"{self.name!r}: use the engine host for our PPO, or sb3"
            )
        if not own and has_host_form(self.env):
            thread_count(None)  # raises if PROCURL_THREADS is not a number
        elif not own and engine == "host":
            raise ValueError(
                f"engine host is for {', '.join(host_environments())} and environments that are "
                f"not ours, got environment {self.env!r}: use the engine jax"
            )

    def _check_strategies(self) -> None:
        contenders = self.contenders
        for contender in contenders:
            if "," in contender.strategy and contender.strategy not in strategy_names():
                raise ValueError(
                    f"strategy {contender.strategy!r} is not known: separate names by spaces"
                )
            contender_strategy(self.name, contender).check()
        for contender in contenders:
            if contenders.count(contender) > 1:
                raise ValueError(
                    f"strategies must differ, got {contender.label!r} more than once: --seeds sets "
                    "the number of runs"
                )

    def _check_student(self) -> None:
        student, eval_every = self.student, self.evaluation.eval_every
        if isinstance(student, PPOSettings):
            student.check()
            if student.n_steps % self.training.n_envs:
                raise ValueError(
                    f"n_envs must divide the {student.n_steps} steps of an update, got "
                    f"{self.training.n_envs}"
                )
        else:
            close_env(make_model(student, self._make_env()).env)  # raises if it does not fit
        if eval_every is not None and eval_every < self.update_steps:
            raise ValueError(
                f"eval_every must be at least the {self.update_steps} steps of an update, got "
                f"{eval_every}: runs are evaluated between updates"
            )

    def _make_env(self) -> Any:
        return (self.source or resolve_environment(self.env)).make()


def _require_positive(name: str, value: int | None) -> None:
    if value is not None:
        require_integer(name, value, at_least=1)
