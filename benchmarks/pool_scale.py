"""How long a curriculum takes on large pools, and how much memory it needs.

    python benchmarks/pool_scale.py [--largest 10000000] [--smallest 1000] [--only NAME ...]
                                    [--records [--contexts]]

One row per strategy and pool size: `observe` and the first `next` after it (which computes the
distribution), in milliseconds of processor time, the peak memory of both beyond the pool in bytes
per task, and each time as a multiple of `numpy.sort` on the same number of values in the same run.
Memory counts what the strategy keeps about the pool; the last columns are the time and the peak of
finding it, once.

Evidence has the fields that the strategy uses, as from the engines. Half of the tasks were played
since the last refresh, but at most 100,000.

With `--records`, a training step of a language model in its place: `next(8, replace=False)` and a
`record` of 8 outcomes for each task. Most steps only collect outcomes; one in so many refreshes the
strategy. The table has the mean, the median and the longest step. Tasks have no contexts unless
`--contexts` is given.
"""

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import NamedTuple

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from procurl import Curriculum, Evidence, Strategy, TaskPool, make_strategy
from procurl.curriculum.outcomes import records_per_refresh

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "procurl": lambda: make_strategy("procurl"),
    "procurl-group": lambda: make_strategy("procurl-group"),
    "procurl-val": lambda: make_strategy("procurl-val"),
    "procurl-val, range of the pool": lambda: make_strategy("procurl-val", v_min=None, v_max=None),
    "procurl-env": lambda: make_strategy("procurl-env"),
    "sfl": lambda: make_strategy("sfl"),
    "easy": lambda: make_strategy("easy"),
    "hard": lambda: make_strategy("hard"),
    "space-alt": lambda: make_strategy("space-alt"),
    "procurl-argmax": lambda: make_strategy("procurl-argmax"),
    "procurl-target, 400 targets": lambda: make_strategy("procurl-target"),
    "target": lambda: make_strategy("target"),
    "currot": lambda: make_strategy("currot"),
    "iid": lambda: make_strategy("iid"),
    "space": lambda: make_strategy("space", kappa=64),
    "plr": lambda: make_strategy("plr"),
    "learning-progress": lambda: make_strategy("learning-progress"),
    "learning-progress, absolute": lambda: make_strategy("learning-progress", form="absolute"),
    "alp-gmm, a fit each time": lambda: make_strategy("alp-gmm"),
    "alp-gmm, between fits": lambda: make_strategy("alp-gmm", fit_every=10**9),
    "spdl": lambda: make_strategy("spdl"),
    "procurl-out, 8 neighbors": lambda: make_strategy("procurl-out"),
    "stages": lambda: make_strategy("stages"),
    "anneal": lambda: make_strategy("anneal"),
    "mix": lambda: make_strategy("mix"),
    "switch": lambda: make_strategy("switch"),
}


EPISODES = 100_000  # between two refreshes, at most
# Strategies that records are enough for.
BY_OUTCOMES = ("procurl", "procurl-group", "procurl-out", "learning-progress", "iid")


class Row(NamedTuple):
    """One line of the table."""

    observe: float  # seconds
    draw: float  # seconds
    bind: float  # seconds, once: what the strategy takes from the pool
    bytes_per_task: float
    bytes_to_bind: float


def evidence(strategy: Strategy, n: int, step: int) -> Evidence:
    rng = np.random.default_rng(step)
    values = rng.random(n)
    played = (rng.random(n) < min(0.5, EPISODES / n)).astype(float)
    wins = played * (values > 0.5)
    fields = {
        "values": values,
        "rollout_success": values,
        "wins": wins,
        "losses": played - wins,
        "score": values,
        "played": played,
        "rollouts": np.where(rng.random(n) < 5_000 / n, 10, 0),
    }
    return Evidence(step, **{name: fields[name] for name in fields if name in strategy.uses})


def measure(make: Callable[[], Strategy], pool: TaskPool, repeats: int) -> Row:
    """The median of `repeats` refreshes, after one more in which memory is new.

    Memory is measured in another one, since tracing is slow.
    """
    start = time.process_time()
    curriculum = Curriculum(make(), pool)
    bind = time.process_time() - start
    observe, draw = [], []
    for i in range(1 + repeats):
        given = evidence(curriculum.strategy, len(pool), 1024 * (i + 1))
        start = time.process_time()
        curriculum.observe(given)
        middle = time.process_time()
        curriculum.next(64)
        observe.append(middle - start)
        draw.append(time.process_time() - middle)
    del curriculum
    both = [evidence(make(), len(pool), 1024 * i) for i in (1, 2)]
    tracemalloc.start()
    curriculum = Curriculum(make(), pool)
    to_bind = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    for one in both:
        curriculum.observe(one)
        curriculum.next(64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    to_observe, to_draw = (float(np.median(each[1:])) for each in (observe, draw))
    return Row(to_observe, to_draw, bind, peak / len(pool), to_bind / len(pool))


def step_times(name: str, pool: TaskPool) -> list[float]:
    """Seconds of each step, over whole periods from one refresh to the next."""
    curriculum = Curriculum(name, pool)
    rng = np.random.default_rng(0)
    period = records_per_refresh(len(pool))
    times = []
    for _ in range(period * max(2, 100 // period)):
        outcomes = rng.random(64).round()
        start = time.process_time()
        tasks = curriculum.next(8, replace=False)
        curriculum.record(np.repeat(tasks, 8), outcomes)
        times.append(time.process_time() - start)
    return times[period:]  # without the first, in which memory is new


def print_records(largest: int, names: Sequence[str], contexts: bool) -> None:
    print(f"{'tasks':>9}  {'strategy':20}{'mean ms':>9}{'median ms':>11}{'longest ms':>12}")
    n = 1000
    while n <= largest:
        random = np.random.default_rng(1).random((n, 3))
        pool = TaskPool(random) if contexts else TaskPool.from_objects(range(n))
        for name in names:
            times = 1e3 * np.array(step_times(name, pool))
            print(
                f"{n:>9}  {name:20}{times.mean():>9.2f}{np.median(times):>11.2f}"
                f"{times.max():>12.1f}",
                flush=True,
            )
        n *= 10


def sort_time(n: int) -> float:
    numbers = np.random.default_rng(0).random(n)
    np.sort(numbers)  # once before, as memory is new
    start = time.process_time()
    np.sort(numbers)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--largest", type=int, default=10**7, help="tasks in the largest pool")
    parser.add_argument("--smallest", type=int, default=1000, help="and in the smallest")
    parser.add_argument("--only", nargs="+", help="strategies; all if not given")
    parser.add_argument("--records", action="store_true", help="steps with record")
    parser.add_argument("--contexts", action="store_true", help="with --records: tasks have them")
    arguments = parser.parse_args()
    largest: int = arguments.largest
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.records:
        print_records(largest, arguments.only or BY_OUTCOMES, arguments.contexts)
        return
    print(
        f"{'tasks':>9}  {'strategy':32}{'observe ms':>11}{'next ms':>9}{'bytes/task':>11}"
        f"{'observe/sort':>13}{'next/sort':>10}{'made in s':>10}{'bytes/task':>11}"
    )
    n = arguments.smallest
    while n <= largest:
        contexts = np.random.default_rng(1).random((n, 3))
        pool = TaskPool(contexts, features={"target": np.arange(n) < 400})
        peer = sort_time(n)
        for name in arguments.only or STRATEGIES:
            row = measure(STRATEGIES[name], pool, repeats=5 if n <= 10**6 else 3)
            print(
                f"{n:>9}  {name:32}{1e3 * row.observe:>11.2f}{1e3 * row.draw:>9.2f}"
                f"{row.bytes_per_task:>11.0f}{row.observe / peer:>13.2f}{row.draw / peer:>10.2f}"
                f"{row.bind:>10.2f}{row.bytes_to_bind:>11.0f}",
                flush=True,
            )
        n *= 10


if __name__ == "__main__":
    main()
