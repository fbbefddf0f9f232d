"""Do both engines learn equally well? The JAX engine against Stable-Baselines3's PPO.

    python benchmarks/engines_agree.py [--seeds 8] [--jax-seeds 64] [--out results/engines-agree]

PointMass with wide gates, where learning is fast; `iid` and `procurl-val`, the paper's settings.
A seed either learns or does not, so means vary a lot; the JAX engine is cheap enough for more seeds
than Stable-Baselines3. Runs are kept in `--out`, so the script can be stopped at any time and
resumed with the same command.

For each strategy and evaluation the table shows the mean of each engine over its seeds, the
difference, and its 95% interval (Welch's t). The engines agree if the interval at the last
evaluation contains 0.
"""

import argparse
from pathlib import Path

import numpy as np

from procurl import TaskPool
from procurl.envs import make_array_env
from procurl.experiments.analysis.statistics import difference_interval
from procurl.experiments.comparison import compare
from procurl.experiments.request import ComparisonRequest, TrainingOptions
from procurl.records.store import read_store

STRATEGIES = ["iid", "procurl-val"]
ENGINES = ("jax", "sb3")
TASKS = 100
LOWEST, HIGHEST = (-1.0, 4.0, 0.0), (1.0, 8.0, 1.0)  # gate position, gate width, friction

Curves = dict[int, list[float]]  # performance of every seed by step


def wide_gates() -> TaskPool:
    """Tasks that most policies learn within 100,000 steps."""
    contexts = np.random.default_rng(0).uniform(LOWEST, HIGHEST, size=(TASKS, 3))
    return TaskPool(contexts, names=make_array_env("pointmass-s").context_names)


def train(out: Path, engine: str, seeds: int, steps: int) -> None:
    """Train the missing runs of one engine."""
    pool = out / "wide_gates.csv"
    training = TrainingOptions(steps=steps, engine=engine, pool=str(pool))
    compare(ComparisonRequest("pointmass-s", STRATEGIES, seeds, out / engine, training))


def curves(folder: Path, strategy: str) -> Curves:
    found: Curves = {}
    with read_store(folder) as store:
        for row in store.rows():
            if row.strategy == strategy:
                at = row.evaluation
                found.setdefault(at.step, []).append(at.performance)
    return found


def report(out: Path) -> bool:
    """Print the table; returns whether the engines agree."""
    agree = True
    print(f"{'':14}{'step':>8}{'jax':>8}{'sb3':>8}{'jax − sb3':>11}   95% interval")
    for strategy in STRATEGIES:
        by_engine = [curves(out / engine, strategy) for engine in ENGINES]
        for step in sorted(set(by_engine[0]) & set(by_engine[1])):
            ours, theirs = (found[step] for found in by_engine)
            between, low, high = difference_interval(ours, theirs)
            print(
                f"{strategy:14}{step:>8}{np.mean(ours):>8.3f}{np.mean(theirs):>8.3f}"
                f"{between:>+11.3f}   [{low:+.3f}, {high:+.3f}]"
            )
        agree &= bool(low <= 0.0 <= high)
    verdict = "agree" if agree else "DIFFER"
    print(f"{len(ours)} and {len(theirs)} seeds; the engines {verdict} at the last step")
    return agree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="of Stable-Baselines3")
    parser.add_argument("--jax-seeds", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("results/engines-agree"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    wide_gates().to_csv(args.out / "wide_gates.csv")
    train(args.out, "jax", args.jax_seeds, args.steps)
    train(args.out, "sb3", args.seeds, args.steps)
    if not report(args.out):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
