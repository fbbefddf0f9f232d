"""The command line: `procurl COMMAND`. Bad input ends with one sentence and status 2."""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
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

    compare = commands.add_parser(
        "compare",
        help="train several strategies with several seeds and compare them",
        description="Train strategies on an environment of the paper and compare them: a table, "
        "learning curves, and records for `procurl export`. An existing --out directory goes on: "
        "finished runs are kept, and more seeds or strategies extend it.",
    )
    compare.add_argument("env", metavar="ENV", help="environment, see `procurl envs`")
    compare.add_argument(
        "--strategies",
        nargs="+",
        default=["procurl-val", "iid"],
        metavar="S",
        help="names, see `procurl strategies`, each with settings if you like: "
        "procurl-val:beta=10,floor=0.1 (default: procurl-val iid)",
    )
    _add_training(compare)
    compare.set_defaults(run=_compare)

    train = commands.add_parser(
        "train",
        help="train one strategy and keep its models",
        description="Train one strategy and keep the models of its runs.",
    )
    train.add_argument("env", metavar="ENV", help="environment, see `procurl envs`")
    train.add_argument("--strategy", required=True, metavar="S", help="see `procurl strategies`")
    _add_training(train)
    train.add_argument(
        "--render", type=Path, metavar="GIF", help="also write an animation of the trained agent"
    )
    train.set_defaults(run=_compare)

    export = commands.add_parser(
        "export",
        help="print the records of a directory as CSV",
        description="Print every evaluation of every run in a directory as CSV.",
    )
    export.add_argument("folder", type=Path, metavar="DIR", help="an --out directory")
    export.set_defaults(run=_export)

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


def _add_training(parser: argparse.ArgumentParser) -> None:
    """The options that training commands share."""
    parser.add_argument("--seeds", type=int, default=8, help="runs per strategy (default: 8)")
    parser.add_argument("--steps", type=int, help="training steps (default: as in the paper)")
    parser.add_argument("--n-envs", type=int, default=1, help="environments per run (default: 1)")
    parser.add_argument("--engine", default="jax", help="jax (default)")
    parser.add_argument("--pool", metavar="FILE", help="training pool (default: the project's)")
    parser.add_argument("--test-pool", metavar="FILE", help="pool to test on at each evaluation")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to keep everything (default: results/COMMAND-ENV)",
    )


def _compare(parsed: argparse.Namespace) -> int:
    needs("jax", "jax", "flax", "optax")
    from procurl.experiments.compare import compare, render

    strategies = [parsed.strategy] if parsed.command == "train" else parsed.strategies
    out: Path = parsed.out or Path("results") / f"{parsed.command}-{parsed.env}"
    text = compare(
        parsed.env,
        strategies,
        parsed.seeds,
        parsed.steps,
        parsed.n_envs,
        parsed.engine,
        parsed.pool,
        parsed.test_pool,
        out,
        keep_models=parsed.command == "train",
    )
    print(text)
    print(f"\nlearning curves: {out / 'curves.png'}\nrecords: procurl export {out}")
    if parsed.command == "train":
        print(f"models: {out / 'runs'}/…/models, for procurl.load_policy")
        if parsed.render is not None:
            render(out, parsed.render)
            print(f"animation: {parsed.render}")
    return 0


def _export(parsed: argparse.Namespace) -> int:
    from procurl.experiments.records import read_rows, write_csv

    rows = list(read_rows(parsed.folder))  # all of them are sound before the first is printed
    write_csv(rows, sys.stdout)
    return 0


def needs(extra: str, *packages: str) -> None:
    """Raise with the extra to install where one of its packages is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise ImportError(f"{package} is not installed: pip install 'procurl[{extra}]'")


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
