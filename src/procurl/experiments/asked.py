"""What a user asks of a comparison, checked before anything is started."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from procurl.checks import require_choice, require_whole
from procurl.envs import make_host_env, make_pool
from procurl.experiments.local import cores
from procurl.experiments.plans import Contender, read_settings
from procurl.experiments.presets import paper_strategy
from procurl.pool import TaskPool
from procurl.ppo.settings import PPOSettings, paper_settings
from procurl.settings import flat_settings, with_settings

ENGINES = ("jax", "sb3")
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
    ppo: Sequence[str] = ()  # settings beside the paper's, name=value
    keep_models: bool = False
    backend: str = "local"
    ray_address: str | None = None
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
        for name in ("seeds", "steps", "n_envs"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), at_least=1)
        make_host_env(self.env)
        contenders = [Contender.parse(text) for text in self.strategies]
        for contender in contenders:
            paper_strategy(self.env, contender.strategy, **contender.settings()).check()
        given = read_settings(",".join(self.ppo), "PPO")
        ppo: PPOSettings = with_settings("PPO", paper_settings(self.env), given)
        ppo.check()
        if ppo.n_steps % self.n_envs:
            raise ValueError(
                f"n_envs must divide the {ppo.n_steps} steps of an update, got {self.n_envs}"
            )
        return contenders, ppo


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
    """Seeds side by side: on a CPU, as many batches as cores where there are few seeds."""
    if asked.engine == "sb3":
        return 1
    if device == "gpu":
        return min(asked.seeds, GPU_WIDTH)
    return math.ceil(asked.seeds / cores()) if asked.seeds < CPU_WIDTH else CPU_WIDTH


def cost_of(env: str, contender: Contender, pool: TaskPool) -> float:
    """About how many environment steps a contender takes for one of training."""
    strategy = paper_strategy(env, contender.strategy, **contender.settings())
    plan = strategy.rollout_plan()
    if plan is None:
        return 1.0
    episodes = len(pool) * plan.episodes / (strategy.n_pos or 1)
    cost = 1.0 + episodes * make_host_env(env).horizon
    return float(min(cost, flat_settings(strategy).get("budget") or cost))
