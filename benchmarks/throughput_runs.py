"""Shared by the throughput benchmarks: runs without evaluations, and the machine."""

import os
import platform
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NEVER = sys.maxsize  # training steps between evaluations, to disable them
PACKAGES = ("jax", "jaxlib", "optax", "stable_baselines3", "torch", "gymnasium", "numpy")


def make_runs(env: str, strategy: str, seeds: int, n_envs: int = 1, ppo: Any = None) -> Any:
    """Runs of the JAX engine with the paper's settings, or with those of `ppo`."""
    from procurl.envs import make_array_env, make_pool
    from procurl.experiments.presets import paper_strategy
    from procurl.ppo.evaluation.plan import EvaluationPlan
    from procurl.ppo.learning.settings import paper_settings
    from procurl.ppo.runs import Runs

    dynamics, pool = make_array_env(env), make_pool(env)
    return Runs(
        dynamics,
        pool,
        strategies=[paper_strategy(env, strategy)] * seeds,
        ppo=[paper_settings(env) if ppo is None else ppo] * seeds,
        seeds=list(range(seeds)),
        n_envs=n_envs,
        evaluation=EvaluationPlan(every=NEVER),
    )


def finished(arrays: Any) -> Any:
    """`arrays`, once they are computed."""
    import jax

    return jax.block_until_ready(arrays)  # type: ignore[no-untyped-call]


def machine() -> str:
    """The machine and the versions that matter, in one line."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    model = text.partition("model name\t: ")[2].partition("\n")[0] or platform.machine()
    packages = [f"{name} {version(name)}" for name in PACKAGES if find_spec(name)]
    return f"{model}, {os.cpu_count()} cores; {', '.join(packages)}"
