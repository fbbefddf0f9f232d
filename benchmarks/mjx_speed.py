"""MJX's forms of the MuJoCo environments against MuJoCo's C library: speed and agreement.

    python benchmarks/mjx_speed.py [--batches 8 64 512] [--rounds 5]

Both step the same batches with the same random actions, in turns, on one core. Rates are steps per
second of CPU time, the median over the rounds; compilation is shown separately. Agreement is
measured after one action from the same state, over the states of the C library's episodes.
"""

import argparse
import os
import time
from statistics import median
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax
import jax.numpy as jnp
import numpy as np

from procurl.envs.ant_goal import host as ant_goal_host
from procurl.envs.ant_goal.mjx import MjxAntGoal, MjxAntState
from procurl.envs.array_env import ArrayEnv
from procurl.envs.ball_catching import host as ball_catching_host
from procurl.envs.ball_catching.mjx import MjxBallCatching, MjxBallState

ACTIONS = 20  # of a round


def ant_from(state: Any) -> MjxAntState:
    """A state of the host form for MJX."""
    physics = jnp.asarray(state.physics, dtype=jnp.float32)
    positions, velocities = physics[:, ant_goal_host.AT], physics[:, ant_goal_host.SPEED]
    goals = jnp.asarray(state.goals, dtype=jnp.float32)
    return MjxAntState(
        positions, velocities, jnp.zeros_like(velocities), goals, jnp.asarray(state.steps)
    )


def ball_from(state: Any) -> MjxBallState:
    """A state of the host form for MJX."""
    physics = jnp.asarray(state.physics, dtype=jnp.float32)
    positions = physics[:, ball_catching_host.POSITIONS]
    velocities = physics[:, ball_catching_host.VELOCITIES]
    return MjxBallState(positions, velocities, jnp.asarray(state.desired, dtype=jnp.float32))


PAIRS = {
    "antgoal": (MjxAntGoal(), ant_goal_host.HostAntGoal(threads=1), ant_from),
    "ballcatching": (MjxBallCatching(), ball_catching_host.HostBallCatching(threads=1), ball_from),
}


def compare(name: str, batch: int, rounds: int) -> None:
    """Print one line."""
    mjx, host, converted = PAIRS[name]
    rng = np.random.default_rng(0)
    contexts = mjx.contexts_of(mjx.default_pool())
    contexts = contexts[rng.integers(len(contexts), size=batch)]
    no_noise = np.zeros((batch, 0))
    start = host.start(contexts, rng.standard_normal((batch, *host.start_noise_shape)))
    actions = _actions(mjx, rng, batch)
    began = time.process_time()
    program = jax.jit(lambda s, a: mjx.step(s, a, no_noise))
    compiled = program.lower(converted(start), actions[0]).compile()
    compilation = time.process_time() - began
    ours, theirs, off, unpaid = [], [], [], []
    for _ in range(rounds):
        state, began = start, time.process_time()
        path = [state]
        for action in actions:
            state = host.step(state, action, no_noise).state
            path.append(state)
        theirs.append(time.process_time() - began)
        state, began = converted(start), time.process_time()
        for action in actions:
            state = jax.block_until_ready(compiled(state, action)).state  # type: ignore[no-untyped-call]
        ours.append(time.process_time() - began)
    for before, action in zip(path, actions, strict=False):
        right, got = host.step(before, action, no_noise), compiled(converted(before), action)
        going = ~right.done
        seen, expected = np.asarray(mjx.observe(got.state)), host.observe(right.state)
        off.append(np.abs(seen - expected)[going].max(axis=1))
        unpaid.append(np.abs(np.asarray(got.reward) - right.reward)[going])
    steps = batch * len(actions)
    rates = [steps / median(seconds) for seconds in (ours, theirs)]
    print(
        f"{name}, batch {batch}: MJX {rates[0]:,.0f} steps/s, the C library {rates[1]:,.0f}, ratio "
        f"{rates[0] / rates[1]:.2f}; compiled in {compilation:.0f} s; observations differ by "
        f"{_spread(off)}, rewards by {_spread(unpaid)}"
    )


def _actions(env: ArrayEnv, rng: np.random.Generator, batch: int) -> Any:
    low: Any = env.action_low
    return rng.uniform(low, -low, (ACTIONS, batch, len(low))).astype(np.float32)


def _spread(errors: list[Any]) -> str:
    together = np.concatenate(errors)
    return f"{np.median(together):.0e} (median), {np.max(together):.0e} (most)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--envs", nargs="+", choices=tuple(PAIRS), default=list(PAIRS))
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for name in given.envs:
        for batch in given.batches:
            compare(name, batch, given.rounds)


if __name__ == "__main__":
    main()
