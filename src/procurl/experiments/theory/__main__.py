"""`python -m procurl.experiments.theory --out DIR`: simulate, print a table, draw figures."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from procurl.experiments.analysis.tables import as_markdown, as_text
from procurl.experiments.theory.episodes_to_reach import (
    EPISODES,
    LEARNERS,
    STARTS,
    STRATEGIES,
    TASKS,
    compare_strategies,
    episodes_table,
)
from procurl.experiments.theory.theory_figures import draw_improvement, draw_learning
from procurl.internals.files import write_text

TITLE = "Episodes until mean p* − mean p ≤ ε"
TABLE_FILE = "episodes_to_reach.md"
NOTES = """\
A star marks the fewest episodes; ± is the 95% interval of the mean over {seeds} seeds. A ">" means
that some seed had not reached ε after {episodes} episodes; the number is then a lower bound. The
last column compares hard with procurl-val seed by seed; level: the 95% interval of the difference
includes 0. Half capped: every other task has p* = 0.3, and ProCuRL knows it. Caps unknown: the
same, but ProCuRL assumes p* = 1."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _fail(f"--out {options.out} cannot be created: {error.strerror}")
    total = len(LEARNERS) * len(STARTS)
    _say(
        f"{len(STRATEGIES)} strategies teach {TASKS} simulated tasks for {options.episodes} "
        f"episodes, {options.seeds} seeds each"
    )
    comparisons, began = [], time.perf_counter()
    for comparison in compare_strategies(range(options.seeds), episodes=options.episodes):
        comparisons.append(comparison)
        _say(
            f"[{len(comparisons):2d}/{total}] {time.perf_counter() - began:5.1f} s  "
            f"{comparison.learner}, start {comparison.start.name}"
        )
    table = episodes_table(comparisons)
    notes = NOTES.format(seeds=options.seeds, episodes=options.episodes)
    print(f"\n{TITLE}\n\n{as_text(table)}\n\n{notes}\n")
    page = options.out / TABLE_FILE
    write_text(page, f"{TITLE}\n\n{as_markdown(table)}\n{notes}\n")
    try:
        draw_improvement(options.out / "improvement")
        draw_learning(options.out / "learning", comparisons)
    except ImportError as error:
        return _fail(f"the table is in {page}, but {error}")
    print(f"wrote {TABLE_FILE} and the figures improvement and learning to {options.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m procurl.experiments.theory",
        description="Train the simulated learners of the paper's theorems, strategy by strategy.",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for table and figures")
    parser.add_argument(
        "--seeds", type=_positive_integer, default=10, help="runs per strategy (10)"
    )
    parser.add_argument(
        "--episodes",
        type=_positive_integer,
        default=EPISODES,
        help=f"episodes per run ({EPISODES})",
    )
    return parser


def _positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return int(text)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fail(reason: str) -> int:
    _say(f"error: {reason}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
