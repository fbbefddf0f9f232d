"""The command line: `procurl COMMAND`. Bad input ends with one sentence and status 2."""

import argparse
import errno
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from procurl import __version__
from procurl.cli.paper import add_paper_command
from procurl.cli.training import add_training_commands, needs, whole
from procurl.internals.checks import suggest
from procurl.internals.settings import listed_settings
from procurl.strategies import make_strategy, strategy_names

INTERRUPTED = 130  # what shells give a program that Ctrl-C has ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parsed = _parser().parse_args(arguments)
    parsed.as_typed = shlex.join(["procurl", *arguments])
    try:
        with _stopped_gently():
            status: int = parsed.run(parsed)
    except BrokenPipeError:  # the reader, such as `head`, has what it wanted
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"procurl {parsed.command}: {error}{_way_out(error)}", file=sys.stderr)
        return 2
    return status


@contextmanager
def _stopped_gently() -> Iterator[None]:
    """Take a request to end, as of `kill` or a machine that shuts down, for Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _way_out(error: Exception) -> str:
    """What to do about a disk that takes no more."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ". Free some space; the same command then goes on from the last checkpoint"
    return ""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with the nearest name for a mistyped one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**(settings | {"allow_abbrev": False}))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, but what a command does not know is an error of its own."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            known = f"unknown: {' '.join(unknown)}."
            self.error(f"{known}{suggest(unknown[0].partition('=')[0], options)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        wrong = message.partition("invalid choice: '")[2].partition("'")[0]
        known = [str(name) for action in self._actions for name in (action.choices or ())]
        hint = suggest(wrong, known) if wrong else ""
        stop = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: {message}{stop}{hint} See {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="procurl",
        description="Curricula for reinforcement learning: which task should the agent train on "
        "next?",
        epilog="procurl COMMAND --help tells more about each.",
    )
    parser.add_argument("--version", action="version", version=f"procurl {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_training_commands(commands)
    add_paper_command(commands)

    report = commands.add_parser(
        "report",
        help="write report.html, figures and tables of a directory",
        description="Write report.html (one file that opens without a network), PNG and SVG "
        "figures, and tables as Markdown and CSV into a directory of results. compare and train "
        "do this at their end; it may be done at any time, also while they run.",
    )
    report.add_argument("folder", type=Path, metavar="DIR", help="an --out directory")
    report.set_defaults(run=_report)

    export = commands.add_parser(
        "export",
        help="print the records of a directory as CSV",
        description="Print every evaluation of every run in a directory as CSV, by strategy, seed "
        "and step.",
    )
    export.add_argument("folder", type=Path, metavar="DIR", help="an --out directory")
    export.set_defaults(run=_export)

    pool = commands.add_parser(
        "pool",
        help="write a pool of an environment's tasks to a file",
        description="Write a pool of an environment's tasks to a file that --pool reads.",
    )
    pool.add_argument("env", metavar="ENV", help="environment, see `procurl envs`")
    pool.add_argument("--size", type=whole, help="number of tasks (default: as in the paper)")
    pool.add_argument(
        "--kind",
        default="uniform",
        help="uniform or test; hard for PointMass and Karel; hard-test for Karel (default: "
        "%(default)s)",
    )
    pool.add_argument("--seed", type=whole, help="of the draw (default: the project's own)")
    pool.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    pool.set_defaults(run=_pool)

    envs = commands.add_parser(
        "envs", help="list the environments", description="List the environments."
    )
    envs.set_defaults(run=_envs)
    strategies = commands.add_parser(
        "strategies",
        help="list the strategies with their settings and defaults",
        description="List the strategies with the evidence they need, their settings and defaults.",
    )
    strategies.set_defaults(run=_strategies)
    return parser


def _report(parsed: argparse.Namespace) -> int:
    needs("report", "matplotlib", "PIL")
    from procurl.experiments.report.report import write_report

    print(f"report: {write_report(parsed.folder)}")
    return 0


def _export(parsed: argparse.Namespace) -> int:
    from procurl.records.export import write_csv
    from procurl.records.store import read_store

    with read_store(parsed.folder) as store:
        rows = list(store.rows())  # all of them are sound before the first is printed
    write_csv(rows, sys.stdout)
    return 0


def _pool(parsed: argparse.Namespace) -> int:
    from procurl.envs import make_host_env, make_pool

    pool = make_pool(parsed.env, parsed.kind, parsed.size, parsed.seed)
    make_host_env(parsed.env).write_pool(pool, parsed.out)
    print(f"{parsed.out}: {len(pool)} tasks")
    return 0


def _envs(_: argparse.Namespace) -> int:
    """One block per environment: its name, its Gymnasium id, what it is."""
    from procurl.envs import make_host_env
    from procurl.envs.registry import ENVIRONMENTS

    for name, registered in ENVIRONMENTS.items():
        env = make_host_env(name)
        actions = f"{env.n_actions} actions"
        if env.action_low is not None:
            actions = f"actions in a box of {len(env.action_low)} dimensions"
        print(name)
        print(f"  {_first_line(env)}")
        print(f"  Gymnasium id: {registered.gym_id}")
        print(f"  observation of {len(env.observation_low)} numbers, {actions}")
        print(f"  context: {', '.join(env.context_names)}; at most {env.horizon} steps")
    return 0


def _strategies(_: argparse.Namespace) -> int:
    """One block per strategy: its name, its rule, the evidence it needs and its settings."""
    for name in strategy_names():
        strategy = make_strategy(name)
        settings = listed_settings(strategy)
        print(name)
        print(f"  {_first_line(strategy)}")
        print(f"  evidence: {', '.join(strategy.needs) or 'none'}")
        if settings:
            print("  settings: " + ", ".join(f"{key}={value!r}" for key, value in settings.items()))
    return 0


def _first_line(documented: object) -> str:
    return (type(documented).__doc__ or "").strip().partition("\n")[0]
