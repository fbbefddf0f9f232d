"""The cost of a curriculum in Stable-Baselines3's PPO, compared with the same run without one.

    python benchmarks/sb3_overhead.py [--updates 40] [--karel-updates 12]

PPO has the paper's settings and network. Without a curriculum it trains in the plain environment,
which draws its tasks uniformly. The contenders take turns, one update each, on one core. Times are
CPU time, so that other programs do not matter, and the median over the updates is shown.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import TaskEnv
from procurl.envs import GymEnv, make_pool
from procurl.experiments.engines.sb3_ppo import paper_ppo
from procurl.experiments.presets import paper_strategy
from procurl.ppo.learning.settings import paper_settings
from procurl.sb3 import CurriculumCallback
from procurl.tasks.pool import TaskPool

WARM_UP = 2  # updates that are not counted
CONTENDERS = ("no curriculum", "iid", "procurl-val")
TARGETS = {"pointmass-s": 0.03, "basickarel": 0.10}  # for procurl-val

Update = Callable[[], Any]


def contender(name: str, env: str, pool: TaskPool) -> Update:
    """A function that trains for one update."""

    def make() -> gymnasium.Env[Any, Any]:
        own = GymEnv(env, pool)
        return own if name == "no curriculum" else TaskEnv(own, pool)

    settings = paper_settings(env)
    model = paper_ppo(DummyVecEnv([make]), settings, seed=0)
    model.set_logger(Logger(None, []))
    callback = None
    if name != "no curriculum":
        callback = CurriculumCallback(paper_strategy(env, name))
    return lambda: model.learn(settings.n_steps, callback, reset_num_timesteps=False)


def measure(env: str, updates: int) -> None:
    """Print a table for one environment."""
    pool = make_pool(env)
    runs = {name: contender(name, env, pool) for name in CONTENDERS}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(WARM_UP + updates):
        # Rotate the order, so that no contender gains from a machine that warms up.
        order = np.roll(list(runs), number)
        for name in order:
            start = time.process_time()
            runs[name]()
            if number >= WARM_UP:
                seconds[name].append(time.process_time() - start)
    plain = float(np.median(seconds["no curriculum"]))
    steps = paper_settings(env).n_steps
    print(f"\n{env}, {len(pool)} tasks, median of {updates} updates of {steps} steps")
    print(f"{'':16}{'steps/s':>9}{'longer by':>11}")
    for name, own in seconds.items():
        median = float(np.median(own))
        print(f"{name:16}{steps / median:>9,.0f}{median / plain - 1:>11.1%}")
    longer = float(np.median(seconds["procurl-val"])) / plain - 1
    kept = "kept" if longer <= TARGETS[env] else "MISSED"
    print(f"procurl-val at most {TARGETS[env]:.0%} longer: {kept}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--karel-updates", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    measure("pointmass-s", args.updates)
    measure("basickarel", args.karel_updates)


if __name__ == "__main__":
    main()
