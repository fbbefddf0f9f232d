"""How long it takes to replace a tenth of the candidates of a space.

    python benchmarks/space_scale.py [--largest 1000000]

One row per strategy and number of candidates in three dimensions: the median of three calls of
`Curriculum.renew`, in milliseconds of processor time.
"""

import argparse
import os
import time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from procurl import Curriculum, Evidence, TaskSpace

REPEATS = 3
PLAYED = 1_000  # tasks per refresh


def evidence(step: int, n: int, rng: np.random.Generator) -> Evidence:
    wins, losses = np.zeros(n), np.zeros(n)
    tasks = rng.integers(n, size=PLAYED)
    wins[tasks] = rng.random(PLAYED) > 0.5
    losses[tasks] = 1.0 - wins[tasks]
    return Evidence(step, values=rng.random(n), wins=wins, losses=losses)


def milliseconds(strategy: str, n: int) -> float:
    """Of one renewal."""
    space = TaskSpace([0.0] * 3, [1.0] * 3, size=n)
    curriculum, rng, times = Curriculum(strategy, space, seed=0), np.random.default_rng(1), []
    for step in range(1, REPEATS + 1):
        curriculum.observe(evidence(step, n, rng))
        start = time.process_time()
        curriculum.renew()
        times.append(1_000 * (time.process_time() - start))
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    largest = parser.parse_args().largest
    print(f"{'strategy':>12} {'candidates':>10} {'ms':>8}")
    for strategy in ("procurl", "procurl-val", "iid"):
        for n in (1_000, 10_000, 100_000, 1_000_000):
            if n <= largest:
                print(f"{strategy:>12} {n:>10} {milliseconds(strategy, n):>8.1f}", flush=True)


if __name__ == "__main__":
    main()
