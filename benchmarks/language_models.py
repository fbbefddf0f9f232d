"""Which prompts a small language model learns most from: a curriculum, uniform sampling and others.

    python benchmarks/language_models.py --out build/language_models [--seeds 5] [--device cuda]
    python benchmarks/language_models.py --out build/language_models --table

Every run starts from a transformer that was warmed up on mostly short additions until it solves 45%
of others, and trains it by GRPO on 32,100 additions of 1 to 5 digits: 16 prompts per step, 8
samples each, a reward of 1 for the right answer. Accuracy is measured on 500 additions that are
drawn independently of these. The methods differ in the prompts:

- the name of a strategy, with settings if need be (`procurl-group:floor=0.05`): chosen by a
  curriculum with the number of digits and the places that carry as contexts;
- `uniform`: all in random order, as TRL does;
- `dynamic`: as uniform, but groups of equal rewards are dropped and others sampled in their place,
  until there are 16 (DAPO's dynamic sampling; all samples drawn count);
- `easy-to-hard`: uniform up to a number of digits that grows from 1 to 5 in equal parts of the run.

All runs train side by side in one process. The script needs PyTorch and procurl, not TRL. It
writes one JSON file per run, and `--table` prints the table of files that exist already.
"""

import argparse
from pathlib import Path

import torch

from additions.choices import BASELINES
from additions.runs import Plan, train
from additions.table import read_curves, table_of, write_runs
from procurl.internals.setting_text import read_settings
from procurl.strategies.registry import DEFAULT_GROUP_STRATEGY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=[DEFAULT_GROUP_STRATEGY, *BASELINES])
    parser.add_argument("--plan", default="", help="such as groups=32,iterations=400; see `Plan`")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--table", action="store_true", help="print the table and train nothing")
    args = parser.parse_args()
    if not args.table:
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        plan = Plan(**read_settings(args.plan, "--plan"))
        runs = train(args.methods, seeds, plan, torch.device(args.device))
        write_runs(args.out, runs)
    print(table_of(read_curves(args.out)))


if __name__ == "__main__":
    main()
