"""A gallery of small problems: where does a curriculum help, and is its estimate of success right?

    python benchmarks/problems.py --seeds 10 --out results/problems

Nine problems differ in reward, horizon, pool, algorithm and in how tasks depend on each other; the
strategies have their default settings. Takes about an hour on two cores, and about two with
`--strategies all`, which adds those of other papers. Run it again to continue after an
interruption, or with more seeds; delete the folder after a change of the code.

The table shows the area under the curve of the mean success over the pool, its difference from
`iid` with a 95% interval paired by seed, and the calibration: the mean over the pool of
|estimated − achieved success| from the middle of training on. See docs/problems.md.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from gallery.catalog import PROBLEMS
from gallery.sweep import Job, read_runs, train_all
from gallery.table import comparison, summary
from procurl.experiments.analysis.tables import as_markdown, as_text


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [problem.name for problem in PROBLEMS]
    usual = dict.fromkeys(name for problem in PROBLEMS for name in problem.strategies)
    strategies = dict.fromkeys(name for problem in PROBLEMS for name in problem.contenders)
    parser.add_argument("--seeds", type=int, default=10, help="runs per problem and strategy")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--problems", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--strategies", nargs="+", choices=[*strategies, "all"], default=[*usual], metavar="NAME"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes that train")
    parser.add_argument("--out", type=Path, default=Path("results/problems"))
    args = parser.parse_args()
    problems = [problem for problem in PROBLEMS if problem.name in args.problems]
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    # Seeds outside, so that an interrupted sweep has all problems.
    jobs = [
        Job(problem.name, strategy, seed)
        for seed in seeds
        for problem in problems
        for strategy in problem.contenders
        if strategy in args.strategies or "all" in args.strategies
    ]
    errors = train_all(jobs, args.out, args.workers)
    runs = dict(read_runs(jobs, args.out))
    table = comparison(problems, runs)
    texts = "\n".join(f"- {problem.name} ({problem.role}): {problem.text}" for problem in problems)
    lines = summary(problems, runs)
    print(f"\n{as_text(table)}\n\n{lines}")
    (args.out / "table.md").write_text(f"{texts}\n\n{as_markdown(table)}\n{lines}\n")
    if errors:
        print("\n".join(errors), file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
