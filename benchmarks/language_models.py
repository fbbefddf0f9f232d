"""Which prompts a small language model learns most from: a curriculum, uniform sampling and others.

    python benchmarks/language_models.py --out build/language_models [--seeds 5] [--device cuda]
    python benchmarks/language_models.py --out build/language_models --table
    python benchmarks/language_models.py --out build/language_models_12 --problem 12-digits

Every run starts from a transformer that was warmed up on mostly short additions. GRPO then trains
it: 16 prompts per step, 8 samples each, a reward of 1 for the right answer. Accuracy is measured on
100 additions of each length, drawn independently of the prompts. There are two problems:

- `5-digits`, the default: 32,100 prompts, additions of 1 to 5 digits. The warm-up ends when the
  model solves 45% of other additions.
- `12-digits`: 44,100 prompts, additions of 1 to 12 digits. The warm-up ends at 19%. Most prompts
  are then too hard for the model.

`--plan` changes single settings of either problem. Use one folder per problem. The methods differ
in the prompts:

- the name of a strategy, with settings if need be (`procurl-group:floor=0.05`): chosen by a
  curriculum with the number of digits and the places that carry as contexts;
- `uniform`: all in random order, as TRL does;
- `dynamic`: as uniform, but groups of equal rewards are dropped and others sampled in their place,
  until there are 16 (DAPO's dynamic sampling; all samples drawn count);
- `easy-to-hard`: uniform up to a number of digits, which grows from 1 to 5 or 12 in equal parts of
  the run;
- `known`, which is not a default: by the true pass rates, which are looked up without samples. No
  curriculum can know them: this is what a perfect estimate would gain.

All runs train side by side in one process. The script needs PyTorch and procurl, not TRL. It
writes one JSON file per run, anew after each evaluation, and `--table` prints the table of files
that exist already.
"""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from additions.choices import BASELINES
from additions.runs import DEFAULT_PROBLEM, PROBLEMS, train
from additions.table import read_curves, table_of, write_runs
from procurl.internals.setting_text import read_settings
from procurl.strategies.registry import DEFAULT_GROUP_STRATEGY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=[DEFAULT_GROUP_STRATEGY, *BASELINES])
    parser.add_argument("--problem", choices=PROBLEMS, default=DEFAULT_PROBLEM)
    parser.add_argument("--plan", default="", help="such as groups=32,iterations=400; see `Plan`")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--table", action="store_true", help="print the table and train nothing")
    args = parser.parse_args()
    if not args.table:
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        plan = replace(PROBLEMS[args.problem], **read_settings(args.plan, "--plan"))
        keep = partial(write_runs, args.out)
        train(args.methods, seeds, plan, torch.device(args.device), keep)
    print(table_of(read_curves(args.out)))


if __name__ == "__main__":
    main()
