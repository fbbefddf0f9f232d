"""Steps per second of the environments, compared with conventional implementations.

    python benchmarks/envs.py [--rounds 7] [--only ENV ...]

Random actions, automatic resets to random tasks. The contenders take turns, and the best round of
each counts.

PointMass and Karel run on one core and are measured in CPU time, so that other programs do not
matter. Noise is drawn as part of the step, unless the row says otherwise. Compilation is excluded
and shown separately.

BallCatching and AntGoal run on all cores with MuJoCo's threads. Wall-clock time needs an otherwise
idle machine; CPU time shows the savings per core.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
if hasattr(os, "sched_setaffinity"):  # before JAX starts a thread per core
    CORES = os.sched_getaffinity(0)  # all available cores
    os.sched_setaffinity(0, {max(CORES)})

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from procurl.envs import GymEnv, GymVectorEnv, make_array_env, make_host_env
from procurl.envs.array_env import ArrayEnv
from procurl.envs.mujoco.threads import thread_count
from usual_envs import UsualKarel, UsualPointMass
from usual_mujoco import UsualAntGoal, UsualBallCatching

WIDE = 256
WIDEST = 4096
MUJOCO_WIDTHS = (16, 64, 256)
CHUNK = 2  # steps whose noise is drawn at once: it stays in the cache, and XLA draws it only once
USUAL: dict[str, Callable[[Any], gymnasium.Env[Any, Any]]] = {
    "pointmass-s": UsualPointMass,
    "basickarel": UsualKarel,
}
USUAL_MUJOCO: dict[str, Callable[[Any], gymnasium.Env[Any, Any]]] = {
    "ballcatching": UsualBallCatching,
    "antgoal": UsualAntGoal,
}

Run = Callable[[], int]  # does some steps and says how many
Clock = Callable[[], float]


def one_at_a_time(env: gymnasium.Env[Any, Any], steps: int = 1000) -> Run:
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(steps)]

    def run() -> int:
        env.reset()
        for action in actions:
            if env.step(action)[2]:
                env.reset()
        return steps

    return run


def vector(name: str, n: int = WIDE, steps: int = 200) -> Run:
    env = GymVectorEnv(name, n)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(steps)]

    def run() -> int:
        for action in actions:
            env.step(action)
        return steps * n

    return run


def vector_by_mask(name: str, steps: int = 200) -> Run:
    """The vector environment without automatic resets."""
    env = GymVectorEnv(name, WIDE, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(steps)]

    def run() -> int:
        env.reset()
        for action in actions:
            done = env.step(action)[2]
            if done.any():
                env.reset(options={"reset_mask": done})
        return steps * WIDE

    return run


def compiled(env: ArrayEnv, draws_noise: bool, steps: int = 200) -> Run:
    """The pure functions under `jit` and `lax.scan`."""
    contexts = jnp.asarray(env.contexts_of(env.default_pool()), dtype=jnp.float32)
    starts = env.initial(contexts)
    actions = _random_actions(env, steps).reshape(steps // CHUNK, CHUNK, WIDEST, -1)
    if env.n_actions is not None:
        actions = actions[..., 0]
    given = None if draws_noise else _noise(env, jax.random.key(1))

    def step(carry: Any, inputs: Any) -> Any:
        action, noise, task = inputs
        transition = env.step(carry[0], action, noise)

        def restarted(of_pool: Any, old: Any) -> Any:
            done = transition.done.reshape(-1, *(1,) * (old.ndim - 1))
            return jnp.where(done, of_pool[task], old)

        state = jax.tree.map(restarted, starts, transition.state)
        return (state, env.observe(state)), transition.reward

    def chunk(carry: Any, inputs: Any) -> Any:
        actions, key = inputs
        noise = _noise(env, key) if given is None else given
        share = jax.random.uniform(jax.random.fold_in(key, 1), (CHUNK, WIDEST))
        tasks = (share * len(contexts)).astype(jnp.int32)
        return lax.scan(step, carry, (actions, noise, tasks))

    @jax.jit
    def episode(key: Any, actions: Any) -> Any:
        state = env.initial(contexts[jnp.arange(WIDEST) % len(contexts)])
        keys = jax.random.split(key, steps // CHUNK)
        return lax.scan(chunk, (state, env.observe(state)), (actions, keys))

    def run() -> int:
        jax.block_until_ready(episode(jax.random.key(0), actions))  # type: ignore[no-untyped-call]
        return steps * WIDEST

    return run


def _noise(env: ArrayEnv, key: Any) -> Any:
    """[CHUNK, WIDEST, *noise_shape], laid out with the batch last."""
    drawn = jax.random.normal(key, (CHUNK, *env.noise_shape, WIDEST))
    return jnp.moveaxis(drawn, -1, 1)


def _random_actions(env: ArrayEnv, steps: int) -> Any:
    key = jax.random.key(2)
    if env.n_actions is not None:
        return jax.random.randint(key, (steps, WIDEST, 1), 0, env.n_actions)
    low: Any = env.action_low
    high: Any = env.action_high
    return jax.random.uniform(key, (steps, WIDEST, len(low)), minval=low, maxval=high)


def contenders(name: str) -> dict[str, Run]:
    env = make_array_env(name)
    usual = USUAL[name](env.contexts_of(env.default_pool()))
    runs = {
        "the usual way, 1": one_at_a_time(usual),
        "GymEnv, 1": one_at_a_time(GymEnv(name)),
        f"GymVectorEnv, {WIDE}": vector(name),
        f"GymVectorEnv, {WIDE}, reset by mask": vector_by_mask(name),
        f"JAX, {WIDEST}": compiled(env, draws_noise=True),
    }
    if np.prod(env.noise_shape) > 0:
        runs[f"JAX, {WIDEST}, noise drawn before"] = compiled(env, draws_noise=False)
    return runs


def mujoco_contenders(name: str) -> dict[str, Run]:
    env = make_host_env(name)
    contexts = env.contexts_of(env.default_pool())
    return {
        "the usual way, 1": one_at_a_time(USUAL_MUJOCO[name](contexts), steps=400),
        "GymEnv, 1": one_at_a_time(GymEnv(name), steps=400),
        **{f"GymVectorEnv, {n}": vector(name, n, steps=1280 // n) for n in MUJOCO_WIDTHS},
    }


def measure(runs: dict[str, Run], rounds: int, seconds: Clock) -> dict[str, float]:
    """Steps per second of each contender by that clock: the best of `rounds`, in turns."""
    for label, run in runs.items():
        start = seconds()
        run()
        if label.startswith("JAX"):
            print(f"  {label}: first call, with compilation, {seconds() - start:.1f} s")
    best = dict.fromkeys(runs, 0.0)
    for _ in range(rounds):
        for label, run in runs.items():
            start = seconds()
            steps = run()
            best[label] = max(best[label], steps / (seconds() - start))
    return best


def show(rates: dict[str, float]) -> None:
    base = rates["the usual way, 1"]
    for label, rate in rates.items():
        print(f"  {label:36} {rate:14,.0f} steps/s {rate / base:8.1f} ×")


def main() -> None:
    names = (*USUAL, *USUAL_MUJOCO)
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=7, help="turns of each contender")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="ENV")
    chosen = parser.parse_args()
    for name in chosen.only:
        if name in USUAL:
            print(f"{name}, one core")
            show(measure(contenders(name), chosen.rounds, time.process_time))
            continue
        if hasattr(os, "sched_setaffinity"):  # for this thread and those that it starts
            os.sched_setaffinity(0, CORES)
        runs = mujoco_contenders(name)
        print(f"{name}, {thread_count(None)} cores, by the clock")
        show(measure(runs, chosen.rounds, time.perf_counter))
        print(f"{name}, per second of the processor, of all cores together")
        show(measure(runs, chosen.rounds, time.process_time))


if __name__ == "__main__":
    main()
