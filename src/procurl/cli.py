"""The command line: `procurl COMMAND`. Bad input ends with one sentence and status 2."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from procurl import __version__
from procurl.checks import suggest
from procurl.settings import flat_settings
from procurl.strategies import make_strategy, strategy_names

INTERRUPTED = 130  # what shells give a program that Ctrl-C has ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parsed = _parser().parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
    except BrokenPipeError:  # the reader, such as `head`, has what it wanted
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"procurl {parsed.command}: {error}", file=sys.stderr)
        return 2
    return status


class _Parser(argparse.ArgumentParser):
    """A parser that answers a mistyped command or option with the nearest one."""

    def error(self, message: str) -> None:  # type: ignore[override]
        wrong = message.partition("invalid choice: '")[2].partition("'")[0]
        known = [name for action in self._actions for name in (action.choices or ())]
        super().error(message + (suggest(wrong, map(str, known)) if wrong else ""))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="procurl",
        description="Curricula for reinforcement learning: which task should the agent train on "
        "next?",
    )
    parser.add_argument("--version", action="version", version=f"procurl {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    pool = commands.add_parser(
        "pool",
        help="write a pool of an environment's tasks to a file",
        description="Write a pool of an environment's tasks to a file that --pool reads.",
    )
    pool.add_argument("env", metavar="ENV", help="environment, see `procurl envs`")
    pool.add_argument("--size", type=int, help="number of tasks (default: as in the paper)")
    pool.add_argument(
        "--kind", default="uniform", help="uniform, hard or test (default: %(default)s)"
    )
    pool.add_argument("--seed", type=int, help="of the draw (default: the project's own)")
    pool.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    pool.set_defaults(run=_pool)

    envs = commands.add_parser("envs", help="list the environments")
    envs.set_defaults(run=_envs)
    strategies = commands.add_parser(
        "strategies", help="list the strategies with their settings and defaults"
    )
    strategies.set_defaults(run=_strategies)
    return parser


def _pool(parsed: argparse.Namespace) -> int:
    from procurl.envs import make_array_env, make_pool

    pool = make_pool(parsed.env, parsed.kind, parsed.size, parsed.seed)
    make_array_env(parsed.env).write_pool(pool, parsed.out)
    print(f"{parsed.out}: {len(pool)} tasks")
    return 0


def _envs(_: argparse.Namespace) -> int:
    """One block per environment: its name, its Gymnasium id, what it is."""
    from procurl.envs import make_array_env
    from procurl.envs.registry import ENVIRONMENTS

    for name, registered in ENVIRONMENTS.items():
        env = make_array_env(name)
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
        settings = flat_settings(strategy)
        print(name)
        print(f"  {_first_line(strategy)}")
        print(f"  evidence: {', '.join(strategy.needs) or 'none'}")
        if settings:
            print("  settings: " + ", ".join(f"{key}={value!r}" for key, value in settings.items()))
    return 0


def _first_line(documented: object) -> str:
    return (type(documented).__doc__ or "").strip().partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
