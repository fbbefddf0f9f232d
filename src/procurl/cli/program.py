"""The command line: `procurl COMMAND`. Invalid input gives a one-line error and status 2."""

import argparse
import errno
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from procurl import __version__
from procurl.cli.check import add_check_command
from procurl.cli.paper import add_paper_command
from procurl.cli.strategies import add_strategies_command, first_line
from procurl.cli.training import add_training_commands, integer
from procurl.cli.watch import add_watch_command
from procurl.envs.adapters.task_errors import RAISED, environment_error
from procurl.internals.checks import suggest
from procurl.internals.extras import REPORT, require_packages
from procurl.internals.streams import safe_streams

INTERRUPTED = 130  # the exit status that shells use for Ctrl-C
# Windows has no SIGHUP.
STOP_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
PRINTING = ("check", "export", "envs", "strategies")  # commands that only print


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    with safe_streams() as (out, _):
        arguments = sys.argv[1:] if arguments is None else arguments
        if undecoded := _undecoded(arguments):
            print(f"procurl: {undecoded}", file=sys.stderr)
            return 2
        parsed = make_parser().parse_args(arguments)
        parsed.command_line = shlex.join(["procurl", *arguments])
        status = _run(parsed)
        out.flush()
        if status == 0 and parsed.command in PRINTING and out.error is not None:
            status = _report_lost_output(parsed.command, out.error)
    return status


def _undecoded(arguments: Sequence[str]) -> str:
    """A message on the first argument that is not text; empty if all of them are."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            encoding = sys.getfilesystemencoding()
            return (
                f"the argument {os.fsencode(argument)!r} cannot be decoded as {encoding}: rename "
                "the file or directory, or use another one"
            )
    return ""


def _run(parsed: argparse.Namespace) -> int:
    """Run the command and turn its errors into one line and a status."""
    os.environ["MPLBACKEND"] = "agg"  # figures go to files, whatever the user draws with elsewhere
    try:
        with _stop_signals_as_interrupt():
            status: int = parsed.run(parsed)
    except KeyboardInterrupt:
        print("\nstopped; run the same command to resume", file=sys.stderr)
        return INTERRUPTED
    except RAISED as error:
        shown = environment_error(error) or error
        if not isinstance(shown, ValueError | TypeError | OSError | ImportError):
            raise
        print(f"procurl {parsed.command}: {shown}{_remedy(error)}", file=sys.stderr)
        return 2
    return status


def _report_lost_output(command: str, error: OSError) -> int:
    """The status of a command whose output could not be printed."""
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has read enough
        return 0
    reason = error.strerror or error
    print(f"procurl {command}: cannot write to standard output: {reason}", file=sys.stderr)
    return 2


@contextmanager
def _stop_signals_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM, sent by `kill`, and SIGHUP, sent by a closing terminal, like Ctrl-C.

    A signal that is ignored, as `nohup` does with SIGHUP, stays ignored.
    """
    # Only the main thread receives signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _remedy(error: BaseException) -> str:
    """A remedy if the disk is full, otherwise an empty string."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ". Free some space and run the same command to resume from the last checkpoint"
    return ""


class _Parser(argparse.ArgumentParser):
    """A parser with one-line errors that suggest the closest name for a mistyped one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**(settings | {"allow_abbrev": False}))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reject unknown options here, with a suggestion, instead of returning them."""
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


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="procurl",
        description="Curricula for reinforcement learning: which task should the agent train on "
        "next?",
        epilog="procurl COMMAND --help describes each command.",
    )
    parser.add_argument("--version", action="version", version=f"procurl {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_check_command(commands)
    add_training_commands(commands)
    add_paper_command(commands)
    _add_results_command(
        commands,
        "report",
        _report,
        "write report.html, figures and tables for a results directory",
        "Write report.html (one self-contained file), PNG and SVG figures, and tables as Markdown "
        "and CSV into a results directory. compare and train do this when they end; you can do it "
        "at any time, even while they run.",
    )
    add_watch_command(commands)
    _add_results_command(
        commands,
        "export",
        _export,
        "print the evaluations in a results directory as CSV",
        "Print every evaluation of every run in a results directory as CSV, sorted by strategy, "
        "seed and step.",
    )
    _add_pool_command(commands)
    envs = commands.add_parser(
        "envs", help="list the environments", description="List the environments."
    )
    envs.set_defaults(run=_envs)
    add_strategies_command(commands)
    return parser


def _add_results_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], short: str, text: str
) -> None:
    """Add a command whose only argument is a results directory."""
    command = commands.add_parser(name, help=short, description=text)
    command.add_argument(
        "folder", type=Path, metavar="DIR", help="a results directory, as given to --out"
    )
    command.set_defaults(run=run)


def _add_pool_command(commands: Any) -> None:
    pool = commands.add_parser(
        "pool",
        help="write a pool of tasks to a file",
        description="Write a pool of tasks for an environment to a file that --pool reads.",
    )
    pool.add_argument("env", metavar="ENV", help="environment name, see `procurl envs`")
    pool.add_argument("--size", type=integer, help="number of tasks (default: as in the paper)")
    pool.add_argument(
        "--kind",
        default="uniform",
        help="uniform, test, hard (PointMass and Karel), hard-test (Karel), target (SparseGoal), "
        "target-one-mode, target-two-modes or target-task (PointMass) (default: %(default)s)",
    )
    pool.add_argument(
        "--seed", type=integer, help="random seed (default: that of the built-in pool)"
    )
    pool.add_argument("--out", type=Path, required=True, metavar="FILE", help="output file")
    pool.set_defaults(run=_pool)


def _report(parsed: argparse.Namespace) -> int:
    require_packages(REPORT)
    from procurl.experiments.report.page import write_report

    print(f"report: {write_report(parsed.folder)}")
    return 0


def _export(parsed: argparse.Namespace) -> int:
    from procurl.records.export import write_csv
    from procurl.records.store import read_store

    with read_store(parsed.folder) as store:
        rows = list(store.rows())  # verify all rows before printing the first
    write_csv(rows, sys.stdout)
    return 0


def _pool(parsed: argparse.Namespace) -> int:
    from procurl.envs import make_host_env, make_pool

    if parsed.out.exists():
        raise ValueError(
            f"--out must be a new file, got {parsed.out}, which exists: remove it or "
            "choose another name"
        )
    pool = make_pool(parsed.env, parsed.kind, parsed.size, parsed.seed)
    make_host_env(parsed.env).write_pool(pool, parsed.out)
    print(f"{parsed.out}: {len(pool)} tasks")
    return 0


def _envs(_: argparse.Namespace) -> int:
    """Print one block per environment: name, description, Gymnasium id, spaces, context."""
    from procurl.envs import make_host_env
    from procurl.envs.registry import ENVIRONMENTS

    for name, spec in ENVIRONMENTS.items():
        env = make_host_env(name)
        actions = f"{env.n_actions} actions"
        if env.action_low is not None:
            actions = f"actions in a box of {len(env.action_low)} dimensions"
        print(name)
        print(f"  {first_line(env)}")
        print(f"  Gymnasium id: {spec.gym_id}")
        print(f"  observation of {len(env.observation_low)} numbers, {actions}")
        print(f"  context: {', '.join(env.context_names)}; at most {env.horizon} steps")
    print()
    print("Or any other: a Gymnasium id such as CartPole-v1, or FILE.py:function or")
    print("package.module:function that makes a Gymnasium environment.")
    return 0
