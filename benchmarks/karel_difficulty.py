"""How fast `iid` learns BasicKarel at different difficulties of the generator.

    python benchmarks/karel_difficulty.py [--runs 16] [--steps 1000000] [NAME ...]

The paper's tasks are not available, so ours are made as hard for `iid` as theirs were: mean success
0.03, 0.15 and 0.64 after 0.25, 0.5 and 1 million steps, and 0.90 for the best model by 2 million.
One row per difficulty, with the standard error over runs. Fast only on a GPU.
"""

import argparse
import time

import numpy as np

from procurl.envs.karel.dynamics import Karel
from procurl.envs.karel.generator import DIFFICULTIES, KarelDifficulty, generate_karel_tasks
from procurl.experiments.presets import paper_strategy
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.learning.settings import paper_settings
from procurl.ppo.runs import Runs
from procurl.tasks.pool import TaskPool

CANDIDATES = DIFFICULTIES | {
    "to 6, a": KarelDifficulty(4, 2, kept=(0.3, 0.3, 0.3, 0.5, 1, 1)),
    "to 6, b": KarelDifficulty(4, 2, kept=(0.15, 0.15, 0.2, 0.4, 1, 1)),
    "to 6, c": KarelDifficulty(4, 2, kept=(0.1, 0.1, 0.1, 0.3, 1, 1)),
    "to 6, d": KarelDifficulty(4, 2, kept=(0.05, 0.1, 0.2, 0.4, 1, 1)),
    "to 7, a": KarelDifficulty(4, 2, kept=(0.3, 0.3, 0.3, 0.5, 1, 1, 1)),
    "to 7, b": KarelDifficulty(4, 2, kept=(0.15, 0.15, 0.2, 0.4, 1, 1, 1)),
    "to 7, e": KarelDifficulty(4, 2, kept=(0.5, 0.5, 0.5, 0.7, 1, 1, 1)),
}
REPORTED = (250_000, 500_000, 1_000_000, 1_500_000, 2_000_000)


def measure(difficulty: KarelDifficulty, strategy: str, runs: int, steps: int, n_envs: int) -> Runs:
    """Train `runs` runs on a pool of this difficulty."""
    pool = generate_karel_tasks(difficulty, 24_000)
    batch = Runs(
        Karel(),
        TaskPool(pool.contexts),
        strategies=[paper_strategy("basickarel", strategy)] * runs,
        ppo=[paper_settings("basickarel")] * runs,
        seeds=list(range(runs)),
        n_envs=n_envs,
        evaluation=EvaluationPlan(
            every=125_000, tasks=np.sort(np.random.default_rng(0).permutation(24_000)[:2_400])
        ),
    )
    while batch.train_steps < steps:
        batch.advance()
    return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(CANDIDATES)}")
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--n-envs", type=int, default=16)
    parser.add_argument("--strategies", nargs="*", default=["iid"])
    parsed = parser.parse_args()
    for name in parsed.names or CANDIDATES:
        lengths = generate_karel_tasks(CANDIDATES[name], 24_000).solutions.lengths
        for strategy in parsed.strategies:
            start = time.perf_counter()
            batch = measure(CANDIDATES[name], strategy, parsed.runs, parsed.steps, parsed.n_envs)
            steps = [e.step for e in batch.evaluations[0]]
            performance = np.array([[e.performance for e in run] for run in batch.evaluations])
            cells = [
                f"{step / 1e6:g}M {np.mean(column):.3f}"
                f" ± {np.std(column) / np.sqrt(parsed.runs):.3f}"
                for step, column in zip(steps, performance.T, strict=True)
                if step in REPORTED
            ]
            best = performance.max(axis=1).mean()
            print(
                f"{name} (mean length {lengths.mean():.2f}), {strategy}: {', '.join(cells)}; "
                f"best {best:.3f}; {parsed.runs * batch.train_steps / batch.seconds:,.0f} steps/s, "
                f"{time.perf_counter() - start:.0f} s in all",
                flush=True,
            )


if __name__ == "__main__":
    main()
