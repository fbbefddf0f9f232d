"""The `paper` command: reproduce tables and figures of the paper."""

import argparse
from pathlib import Path
from typing import Any

from procurl.cli.training import (
    add_evaluation_options,
    directory,
    evaluation_options,
    integer,
    require_directory,
)
from procurl.internals.extras import REPORT, require_packages


def add_paper_command(commands: Any) -> None:
    """Add `paper` to the parser's commands."""
    paper = commands.add_parser(
        "paper",
        help="reproduce tables and figures of the paper, by name",
        description="Train what a table or figure of the paper needs and write it with the paper's "
        "numbers next to ours. Without a name, list all names with the runs they need and the time "
        "they take on this machine. Runs already trained or recorded are reused.",
        epilog="Example: procurl paper metrics-pointmass-s ablation-beta-pointmass-s --seeds 20",
    )
    add = paper.add_argument
    add("names", nargs="*", metavar="NAME", help="name of a table or figure, or `all`")
    add("--seeds", type=integer, metavar="N", help="runs per strategy (default: as in the paper)")
    add("--steps", type=integer, metavar="N", help="training steps (default: as in the paper)")
    add(
        "--strategies",
        nargs="+",
        metavar="S",
        help="train only these of the strategies that NAME needs, with settings or in all their "
        "settings (default: all)",
    )
    add("--n-envs", type=integer, default=1, metavar="N", help="environments per run (default: 1)")
    add(
        "--pools",
        type=integer,
        metavar="N",
        help="pools to draw and spread runs over, for the entries pools-ENV (default: 5)",
    )
    add(
        "--out",
        type=directory,
        default=Path("results/paper"),
        metavar="DIR",
        help="output directory (default: %(default)s)",
    )
    add(
        "--from-records",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="rebuild pages from these directories of records, joined, instead of training; "
        "without a name, every page they cover",
    )
    add(
        "--join-records",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="only add these directories of records to those in --out",
    )
    add_evaluation_options(add)
    add(
        "--engine",
        default="jax",
        help="jax (default) or host, see `procurl compare --help`; entries that host cannot train, "
        "and those for Stable-Baselines3, keep their own engine",
    )
    add("--backend", default="local", help="local (default) or ray, see `procurl compare --help`")
    add(
        "--ray-address",
        metavar="A",
        help="address of the Ray cluster, see `procurl compare --help`",
    )
    paper.set_defaults(run=_paper)


def _paper(parsed: argparse.Namespace) -> int:
    from procurl.experiments.paper.build import PaperOptions, join, list_entries, run

    require_directory(parsed.out)
    if parsed.join_records:
        if parsed.names or parsed.from_records:
            raise ValueError("--join-records writes no pages: omit names and --from-records")
        print(join(parsed.join_records, parsed.out))
        print(f"\nrecords: {parsed.out / 'records'}")
        return 0
    if not parsed.names and not parsed.from_records:
        print(list_entries(parsed.seeds))
        return 0
    require_packages(REPORT)
    from procurl.experiments.request import EvaluationOptions, ExecutionOptions, TrainingOptions

    options = PaperOptions(
        strategies=parsed.strategies,
        training=TrainingOptions(parsed.steps, parsed.n_envs, parsed.engine, pools=parsed.pools),
        evaluation=EvaluationOptions(**evaluation_options(parsed)),
        execution=ExecutionOptions(parsed.backend, parsed.ray_address, parsed.workers),
        command=parsed.command_line,
    )
    print(run(parsed.names, parsed.seeds, parsed.out, parsed.from_records, options))
    print(f"\npages: {parsed.out / 'README.md'}")
    return 0
