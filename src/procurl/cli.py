"""The command line: `procurl COMMAND`. Bad input ends with one sentence and status 2."""

import argparse
import sys
from collections.abc import Sequence

from procurl import __version__
from procurl.settings import flat_settings
from procurl.strategies import make_strategy, strategy_names


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
    except BrokenPipeError:  # the reader, such as `head`, has what it wanted
        sys.stderr.close()
        return 0
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"procurl {parsed.command}: {error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="procurl",
        description="Curricula for reinforcement learning: which task should the agent train on "
        "next?",
    )
    parser.add_argument("--version", action="version", version=f"procurl {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    strategies = commands.add_parser(
        "strategies", help="list the strategies with their settings and defaults"
    )
    strategies.set_defaults(run=_strategies)
    return parser


def _strategies(_: argparse.Namespace) -> int:
    """One block per strategy: its name, its rule, the evidence it needs and its settings."""
    for name in strategy_names():
        strategy = make_strategy(name)
        rule = (type(strategy).__doc__ or "").strip().partition("\n")[0]
        settings = flat_settings(strategy)
        print(name)
        print(f"  {rule}")
        print(f"  evidence: {', '.join(strategy.needs) or 'none'}")
        if settings:
            print("  settings: " + ", ".join(f"{key}={value!r}" for key, value in settings.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
