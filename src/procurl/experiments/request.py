"""What a user asks of a comparison, checked before anything is started."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from procurl.envs import make_host_env, make_pool
from procurl.envs.mujoco.threads import thread_count
from procurl.experiments.presets import paper_strategy
from procurl.experiments.running.batch import has_host_form, host_environments
from procurl.internals.checks import require_choice, require_whole
from procurl.internals.hardware import cores
from procurl.internals.settings import flat_settings, with_settings
from procurl.ppo.learning.settings import PPOSettings, paper_settings
from procurl.records.experiment import Contender, read_settings
from procurl.strategies import strategy_names
from procurl.tasks.pool import TaskPool

ENGINES = ("jax", "host", "sb3")
BACKENDS = ("local", "ray")
CPU_WIDTH = 8
GPU_WIDTH = 128


class Asked(NamedTuple):
    """What a user wants of a comparison."""

    env: str
    strategies: list[str]
    seeds: int
    out: Path
    steps: int | None = None  # None for the paper's
    n_envs: int = 1
    engine: str = "jax"
    pool: str | None = None  # files
    test_pool: str | None = None
    eval_every: int | None = None  # training steps between evaluations, None for the paper's
    eval_episodes: int | None = None  # on each task of an evaluation, None for the paper's
    ppo: Sequence[str] = ()  # settings beside the paper's, name=value
    keep_models: bool = False
    backend: str = "local"
    ray_address: str | None = None
    workers: int | None = None  # processes at a time; None for one per core, or one for a GPU
    tensorboard: Path | None = None
    wandb: str | None = None
    command: str | None = None  # how to run this again

    def check(self) -> tuple[list[Contender], PPOSettings]:
        """(contenders, PPO's settings); raises on what is known to be wrong before any file."""
        require_choice("engine", self.engine, ENGINES)
        require_choice("backend", self.backend, BACKENDS)
        if self.ray_address is not None and self.backend != "ray":
            raise ValueError("ray_address is of use with the backend ray only")
        if (self.ray_address or "").startswith("ray://"):
            raise ValueError(
                f"ray_address must be auto or HOST:PORT, got {self.ray_address!r}: Ray's client "
                "cannot pass on what tasks stream. Give the command on a node of the cluster"
            )
        if self.workers is not None and self.backend == "ray":
            raise ValueError(
                f"workers is of use with the backend local only, got {self.workers}: "
                "Ray decides how many batches it trains at a time"
            )
        for name in ("seeds", "steps", "n_envs", "workers", "eval_every", "eval_episodes"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), at_least=1)
        make_host_env(self.env)
        if has_host_form(self.env):
            thread_count(None)  # raises where the environment's variable cannot be used
        elif self.engine == "host":
            raise ValueError(
                f"engine host is for {', '.join(host_environments())}, got environment "
                f"{self.env!r}: its steps are always compiled, use the engine jax"
            )
        contenders = [Contender.parse(text) for text in self.strategies]
        for contender in contenders:
            if "," in contender.strategy and contender.strategy not in strategy_names():
                raise ValueError(
                    f"strategy {contender.strategy!r} is not known: separate names by spaces"
                )
            paper_strategy(self.env, contender.strategy, **contender.settings()).check()
        ppo = ppo_asked(self.env, self.ppo)
        ppo.check()
        if ppo.n_steps % self.n_envs:
            raise ValueError(
                f"n_envs must divide the {ppo.n_steps} steps of an update, got {self.n_envs}"
            )
        if self.eval_every is not None and self.eval_every < ppo.n_steps:
            raise ValueError(
                f"eval_every must be at least the {ppo.n_steps} steps of an update, got "
                f"{self.eval_every}: runs are evaluated between updates, so most would be left out"
            )
        return contenders, ppo


def ppo_asked(env: str, given: Sequence[str]) -> PPOSettings:
    """The paper's settings of PPO for an environment, with those `given` as `name=value`."""
    settings = read_settings(",".join(given), "PPO")
    ppo: PPOSettings = with_settings("PPO", paper_settings(env), settings)
    return ppo


def read_pools(asked: Asked) -> tuple[TaskPool, TaskPool | None]:
    """The training and the test pool, all of whose tasks can be played."""
    env = make_host_env(asked.env)
    pool = make_pool(asked.env) if asked.pool is None else env.read_pool(asked.pool)
    test_pool = None if asked.test_pool is None else env.read_pool(asked.test_pool)
    for each in (pool, test_pool):
        if each is not None:
            env.contexts_of(each)
    return pool, test_pool


def width_of(asked: Asked, device: str) -> int:
    """Seeds side by side.

    On a CPU there are as many batches as cores where there are few seeds, and otherwise as few as
    `CPU_WIDTH` allows, with the seeds spread evenly over them.
    """
    on_host = device == "cpu" and has_host_form(asked.env)
    if asked.engine in ("host", "sb3") or on_host:
        return 1  # runs of a batch would take turns
    if device == "gpu":
        return min(asked.seeds, GPU_WIDTH)
    few = asked.seeds < CPU_WIDTH
    return math.ceil(asked.seeds / (cores() if few else math.ceil(asked.seeds / CPU_WIDTH)))


def cost_of(env: str, contender: Contender, pool: TaskPool) -> float:
    """About how many environment steps a contender takes for one of training."""
    strategy = paper_strategy(env, contender.strategy, **contender.settings())
    plan = strategy.rollout_plan()
    if plan is None:
        return 1.0
    episodes = len(pool) * plan.episodes / (strategy.refresh_every or 1)
    cost = 1.0 + episodes * make_host_env(env).horizon
    return float(min(cost, flat_settings(strategy).get("budget") or cost))
