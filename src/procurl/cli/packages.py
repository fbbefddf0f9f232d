"""The packages that a training command needs."""

import argparse
from importlib.util import find_spec

from procurl.envs.registry import ENVIRONMENTS
from procurl.internals.extras import JAX, REPORT


def known_packages(parsed: argparse.Namespace) -> list[str]:
    """The packages that `compare` or `train` needs, as far as its options tell.

    The engine of an environment that is not ours depends on its spaces if both JAX and
    Stable-Baselines3 could train it.
    """
    from procurl.experiments.engines.registry import engine_packages

    spec = ENVIRONMENTS.get(parsed.env)
    engine = parsed.engine or ("sb3" if parsed.algo else None)
    if engine is None and spec is not None:
        engine = "jax"
    elif engine is None and not all(map(find_spec, JAX)):
        engine = "sb3"
    needed = list(REPORT)
    if engine is not None:
        needed += engine_packages(engine)
    if spec is None:
        needed.append("gymnasium")
    elif spec.host_env is not None:
        needed.append("mujoco")
    if parsed.backend == "ray":
        needed.append("ray")
    return needed
