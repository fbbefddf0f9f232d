"""The command that makes tables and figures of the paper."""

import argparse
from pathlib import Path
from typing import Any

from procurl.cli_training import needs


def add_paper_command(commands: Any) -> None:
    """Add `paper` to the parser's commands."""
    paper = commands.add_parser(
        "paper",
        help="make tables and figures of the paper, by name",
        description="Train what a table or figure of the paper needs and write it with the paper's "
        "numbers beside ours. Without a name, all are listed with what they need and how long it "
        "takes here. What is trained already is kept.",
        epilog="Example: procurl paper metrics-pointmass-s ablation-beta-pointmass-s --seeds 20",
    )
    add = paper.add_argument
    add("names", nargs="*", metavar="NAME", help="which; `all` for every one")
    add("--seeds", type=int, metavar="N", help="runs per strategy (default: as in the paper)")
    add("--steps", type=int, metavar="N", help="training steps (default: as in the paper)")
    add(
        "--strategies",
        nargs="+",
        metavar="S",
        help="of the strategies that a name needs, train only these (default: all)",
    )
    add("--n-envs", type=int, default=1, metavar="N", help="environments per run (default: 1)")
    add(
        "--out",
        type=Path,
        default=Path("results/paper"),
        metavar="DIR",
        help="where to keep everything (default: %(default)s)",
    )
    add(
        "--from-records",
        type=Path,
        metavar="DIR",
        help="rebuild from these records instead of training; without a name, all that can be",
    )
    add("--backend", default="local", help="local (default) or ray, see `procurl compare --help`")
    add("--ray-address", metavar="A", help="of the Ray cluster, see `procurl compare --help`")
    paper.set_defaults(run=_paper)


def _paper(parsed: argparse.Namespace) -> int:
    from procurl.experiments.paper import Options, list_names, run

    if not parsed.names and parsed.from_records is None:
        print(list_names(parsed.seeds))
        return 0
    needs("report", "matplotlib", "PIL")
    chosen: dict[str, Any] = {"n_envs": parsed.n_envs} if parsed.n_envs != 1 else {}
    chosen |= {"backend": parsed.backend, "ray_address": parsed.ray_address}
    options = Options(
        steps=parsed.steps,
        strategies=parsed.strategies,
        command=parsed.as_typed,
        compare=chosen,
    )
    print(run(parsed.names, parsed.seeds, parsed.out, parsed.from_records, options))
    print(f"\npages: {parsed.out / 'README.md'}")
    return 0
