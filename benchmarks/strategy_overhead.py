"""What strategies cost in the JAX engine, compared with each other.

    python benchmarks/strategy_overhead.py [--strategies procurl-val procurl iid] [--rounds 9]

All strategies train in one single-threaded process. They take turns, and their order is the same in
every round. The table has the processor time of an update, as the median over the rounds, and as a
multiple of the first strategy's in the same round. Evaluation and compilation are excluded.
"""

import argparse
import os
import time
from typing import NamedTuple

os.environ |= {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

import numpy as np

from throughput_runs import finished, machine, make_runs


class Setup(NamedTuple):
    """What is trained, and how long one turn is."""

    env: str
    seeds: int
    updates: int


SETUPS = (
    Setup("pointmass-s", 1, updates=40),
    Setup("pointmass-s", 8, updates=12),
    Setup("basickarel", 1, updates=3),
)


def update_times(setup: Setup, strategies: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds of processor time per update, one number per round."""
    runs = {name: make_runs(setup.env, name, setup.seeds) for name in strategies}
    times: dict[str, list[float]] = {name: [] for name in strategies}
    for turn in range(rounds + 1):
        for name, trained in runs.items():
            start = time.process_time()
            for _ in range(setup.updates):
                trained.advance()
            finished(trained.state)
            if turn:  # the first one compiles
                times[name].append((time.process_time() - start) / setup.updates)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--strategies", nargs="+", default=["procurl-val", "procurl", "iid"])
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(machine())
    first: str = arguments.strategies[0]
    print(f"{'environment':12}{'seeds':>6}  {'strategy':20}{'ms':>8}  × {first}")
    for setup in SETUPS:
        times = update_times(setup, arguments.strategies, arguments.rounds)
        for name, own in times.items():
            ratio = float(np.median(np.array(own) / np.array(times[first])))
            shown = f"{setup.env:12}{setup.seeds:>6}  {name:20}"
            print(f"{shown}{1e3 * float(np.median(own)):>8.1f}  {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
