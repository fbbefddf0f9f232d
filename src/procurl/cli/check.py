"""The command `check`: what a curriculum would see of an environment, and what to do next."""

import argparse
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from procurl.cli.training import integer

if TYPE_CHECKING:
    from procurl.envs.checking.check import EnvironmentCheck

UNUSABLE = 1  # the exit status if training would be pointless


def add_check_command(commands: Any) -> None:
    """Add `check` to the parser's commands."""
    check = commands.add_parser(
        "check",
        help="check an environment and its pool before training",
        description="Play an environment with random actions, for a few seconds, and say what a "
        "curriculum would see: whether tasks differ, whether episodes end, what returns and "
        "success are like, how fast it steps, and which strategy follows. Exits with status 1 if "
        "something makes training pointless.",
        epilog="Example: procurl check lander.py:make_env --pool tasks.csv",
    )
    add = check.add_argument
    add(
        "env",
        metavar="ENV",
        help="a name that `procurl envs` lists, a Gymnasium id such as CartPole-v1, or "
        "FILE.py:function or package.module:function that makes an environment",
    )
    add("--pool", metavar="FILE", help="tasks: a CSV file, seeds:N, or FILE.py:function")
    add(
        "--set-task",
        metavar="FILE.py:F",
        help="function F(env, task) that is called before each reset, for environments that do not "
        "take their task as an argument of reset",
    )
    add(
        "--steps",
        type=integer,
        default=20_000,
        metavar="N",
        help="environment steps of random play, at most (default: 20000)",
    )
    add(
        "--seconds",
        type=float,
        default=5.0,
        metavar="S",
        help="duration for slow environments, at most (default: 5)",
    )
    check.set_defaults(run=_check)


def _check(parsed: argparse.Namespace) -> int:
    from procurl.cli.example_lines import example_lines
    from procurl.envs import check_environment, pool_of, resolve_environment
    from procurl.envs.adapters.closing import closing_error

    source = resolve_environment(parsed.env, parsed.set_task)
    pool = pool_of(source, parsed.pool)
    env = source.make()
    check = check_environment(
        env, pool, source.set_task, steps=parsed.steps, seconds=parsed.seconds
    )
    if (error := closing_error(env)) is not None:
        check = check.with_finding("note", "close", error, "Training ignores it: correct close().")
    print(f"{check}\n")
    if not check.usable:
        count = sum(finding.level == "problem" for finding in check.findings)
        print(f"{count} problem{'s' if count > 1 else ''}: training would be pointless")
        return UNUSABLE
    print(_advice(check))
    print(f"\nIn your own program{_place(parsed)}, with Stable-Baselines3:\n")
    print("\n".join(f"  {line}".rstrip() for line in example_lines(parsed.pool, source, check)))
    print("\nOn the command line:\n")
    print(f"  {_next_command(parsed, check)}")
    return 0


def _advice(check: "EnvironmentCheck") -> str:
    """The strategy to use, and what to compare it with."""
    text = (
        f"Strategy: {check.strategy}, for any algorithm. Compare it with iid; also worth a "
        f"comparison: {check.alternative}, because {check.reason}."
    )
    return textwrap.fill(text, 80)


def _place(parsed: argparse.Namespace) -> str:
    """Where the program must be to import files outside the current directory; empty if none is."""
    from procurl.envs.sources.functions import is_file_address, split_address

    given = (parsed.env, parsed.set_task, parsed.pool)
    places = [split_address(text)[0] for text in given if text and is_file_address(text)]
    files = [Path(place).resolve() for place in places if place.endswith(".py")]
    folders = {str(file.parent) for file in files if not file.is_relative_to(Path.cwd())}
    return f" in {' and '.join(sorted(folders))}" if folders else ""


def _next_command(parsed: argparse.Namespace, check: "EnvironmentCheck") -> str:
    """The command that compares the advised strategy with random tasks."""
    pool = [] if parsed.pool is None else [["--pool", parsed.pool]]
    set_task = [] if parsed.set_task is None else [["--set-task", parsed.set_task]]
    strategies = ["--strategies", check.strategy, "iid"]
    parts = [["procurl", "compare", parsed.env], *pool, *set_task, strategies]
    line = " ".join(shlex.join(part) for part in parts)
    return line if len(line) < 78 else " \\\n    ".join(shlex.join(part) for part in parts)
