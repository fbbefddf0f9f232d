"""The commands `compare` and `train`, and their options."""

import argparse
import logging
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from procurl.cli.packages import known_packages
from procurl.envs.registry import environment_names
from procurl.internals.extras import require_packages
from procurl.records.experiment import Contender
from procurl.strategies.registry import DEFAULT_STRATEGY

ENV_HELP = (
    "a name that `procurl envs` lists, a Gymnasium id such as CartPole-v1, or FILE.py:function or "
    "package.module:function that makes an environment"
)
UNTRAINED = 1  # the exit status if every run was stopped by a value that is not finite
PICTURES = (
    "curves-train",
    "curves-test",
    "curves-targets",
    "curriculum",
)  # of the report, to look at first


def add_training_commands(commands: Any) -> None:
    """Add `compare` and `train` to the parser's commands."""
    compare = commands.add_parser(
        "compare",
        help="train several strategies with several seeds and compare them",
        description="Train strategies on an environment and compare them in a table, "
        "a report with learning curves and curricula, figures, and records for `procurl export`. "
        "An existing --out directory is resumed: finished runs are kept, unfinished ones continue "
        "from their last checkpoint, and more seeds or strategies extend it.",
        epilog="Examples: procurl compare pointmass-s --strategies procurl iid --seeds 8 "
        "--steps 200000; procurl compare my_env.py:make_env --pool tasks.csv --seeds 4",
    )
    compare.add_argument("env", metavar="ENV", help=ENV_HELP)
    compare.add_argument(
        "--strategies",
        nargs="+",
        action="extend",
        default=[],
        metavar="S",
        help="strategy names, see `procurl strategies`, optionally with settings: "
        "procurl-val:beta=10,floor=0.1 (default: procurl and iid)",
    )
    _add_options(compare)
    compare.set_defaults(run=_compare)

    train = commands.add_parser(
        "train",
        help="train one strategy and keep its models",
        description="Train one strategy, with one or more seeds, and keep the last and the best "
        "model of every run. Otherwise the same as `procurl compare`.",
        epilog="Example: procurl train pointmass-s --seeds 1 --render agent.gif",
    )
    train.add_argument("env", metavar="ENV", help=ENV_HELP)
    train.add_argument(
        "--strategy",
        default=DEFAULT_STRATEGY,
        metavar="S",
        help="strategy, as for `procurl compare` (default: procurl)",
    )
    _add_options(train)
    train.add_argument(
        "--render", type=Path, metavar="GIF", help="also write an animation of the trained agent"
    )
    train.set_defaults(run=_compare)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `compare` and `train` share."""
    add = parser.add_argument
    add("--seeds", type=integer, default=8, metavar="N", help="runs per strategy (default: 8)")
    add(
        "--steps",
        type=integer,
        metavar="N",
        help="training steps (default: as in the paper; 100000 for other environments)",
    )
    add("--n-envs", type=integer, default=1, metavar="N", help="environments per run (default: 1)")
    _add_algorithm_options(add)
    _add_task_options(add)
    add(
        "--width",
        type=integer,
        metavar="N",
        help="seeds of a strategy to train side by side, on which a run's numbers depend (default: "
        "that of the directory; in a new one at most 8 on a CPU, 128 on a GPU)",
    )
    add(
        "--out",
        type=directory,
        metavar="DIR",
        help="results directory (default: results/COMMAND-ENV)",
    )
    add(
        "--backend",
        default="local",
        help="local: the cores or the GPU of this machine (default); ray: a Ray cluster",
    )
    add(
        "--ray-address",
        metavar="A",
        help="address of the Ray cluster that includes this machine: auto, or HOST:PORT (default: "
        "$RAY_ADDRESS, or a new cluster on this machine)",
    )
    add_evaluation_options(add)
    add("--tensorboard", type=directory, metavar="DIR", help="also log to TensorBoard files in DIR")
    add("--wandb", metavar="PROJECT", help="also log to this Weights & Biases project")


def _add_algorithm_options(add: Callable[..., Any]) -> None:
    add(
        "--engine",
        help="jax: our PPO, many runs side by side (default for the paper's environments); host: "
        "our PPO, which steps the environment on the CPU and learns on the GPU, if there is one "
        "(default for other environments with vectors of numbers, if JAX is installed); sb3: "
        "Stable-Baselines3 (default for the rest)",
    )
    add(
        "--algo",
        metavar="CLASS",
        help="algorithm of Stable-Baselines3 or sb3-contrib, such as SAC or DQN; implies --engine "
        "sb3 (default: PPO)",
    )
    add(
        "--policy",
        metavar="NAME",
        help="policy of that algorithm: MlpPolicy, CnnPolicy or MultiInputPolicy (default: the one "
        "that fits the observations)",
    )
    add(
        "--set",
        "--ppo",
        dest="settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="settings of the algorithm that replace its defaults or the paper's, such as "
        "ent_coef=0.002",
    )


def _add_task_options(add: Callable[..., Any]) -> None:
    add(
        "--pool",
        nargs="+",
        action="extend",
        metavar="FILE",
        help="training pool: a CSV file, seeds:N, or FILE.py:function that returns a TaskPool "
        "(default: the environment's own pool). With several pools, runs are spread over them: the "
        "run with seed i plays the pool i mod n, so that all strategies play the same pools with "
        "the same seeds, and intervals account for pools and runs",
    )
    add(
        "--pools",
        type=integer,
        metavar="N",
        help="draw N training pools with the pool seeds 0 to N - 1 and spread runs over them, as "
        "with several --pool files; needs at least N seeds",
    )
    add(
        "--test-pool",
        metavar="FILE",
        help="second pool, played at every evaluation (default: the targets, if any)",
    )
    add(
        "--target-pool",
        metavar="FILE",
        help="tasks that matter more than the others, as for --pool: added to the training pool as "
        "targets of procurl-target and target, and played at every evaluation unless --test-pool "
        "is given",
    )
    add(
        "--set-task",
        metavar="FUNCTION",
        help="FILE.py:function, called as function(env, task) before each reset, for environments "
        "whose reset does not take the task",
    )


def add_evaluation_options(add: Callable[..., Any]) -> None:
    """Add the options for evaluations and for the number of processes."""
    add(
        "--eval-every",
        type=integer,
        metavar="N",
        help="training steps between evaluations (default: as in the paper; a twentieth of the "
        "training for other environments)",
    )
    add(
        "--eval-episodes",
        type=integer,
        metavar="N",
        help="episodes per task in an evaluation (default: as in the paper)",
    )
    add(
        "--eval-tasks",
        type=integer,
        metavar="N",
        help="tasks of the training pool that an evaluation plays, always the same ones (default: "
        "as in the paper; 100 for other environments)",
    )
    add(
        "--eval-stochastic",
        action=argparse.BooleanOptionalAction,
        help="sample actions in evaluations, or act deterministically (default: as in the paper; "
        "deterministically in other environments)",
    )
    add(
        "--workers",
        type=integer,
        metavar="N",
        help="training processes, which share the cores or the GPU of this machine (default: one "
        "per core, or one on a GPU)",
    )


def evaluation_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `EvaluationOptions` that `add_evaluation_options` has added."""
    names = ("eval_every", "eval_episodes", "eval_tasks", "eval_stochastic")
    return {name: getattr(parsed, name) for name in names}


def _compare(parsed: argparse.Namespace) -> int:
    require_packages(known_packages(parsed))
    from procurl.experiments.comparison import compare, render
    from procurl.experiments.engines.registry import engine_packages

    train = parsed.command == "train"
    request = _request(parsed)
    out = request.out
    require_directory(out)
    if train and parsed.render is not None:
        _require_picture(parsed.render)
        if request.source is not None:
            raise ValueError(f"--render draws {', '.join(environment_names())}, got {parsed.env}")
        if parsed.algo is not None:
            raise ValueError(
                f"--render draws policies of PPO with the paper's network, got --algo "
                f"{parsed.algo}: omit --render, and load the models with {parsed.algo}.load"
            )
    request.training.check()
    require_packages(engine_packages(request.engine))
    with _log_to_stderr("procurl.experiments.comparison"):
        summary = compare(request)
    counted = f"over {summary.pools} pools (from 3 pools on)"
    fewest = "(from 3 runs on)" if summary.pools == 1 else counted
    print(f"{summary.table}\n\nMean return over the pool ± 95% interval {fewest}.\n")
    print(f"{summary.sketch}\n")
    if summary.report is not None:
        print(f"report: {summary.report}")
        pictures = [str(out / f"{name}.png") for name in PICTURES]
        print(f"pictures: {', '.join(picture for picture in pictures if os.path.exists(picture))}")
    print(f"records: procurl export {out}")
    if train:
        if summary.trained:
            print(f"models: {out / 'runs'}/…/models, for {_loader(request)}")
        if parsed.render is not None:
            with _log_to_stderr("procurl.envs.rendering.playback"):
                render(out, parsed.render, strategy=Contender.parse(parsed.strategy).label)
            print(f"animation: {parsed.render}")
    return 0 if summary.trained else UNTRAINED


def _request(parsed: argparse.Namespace) -> Any:
    """The comparison that the command line asks for."""
    from procurl.experiments.request import (
        ComparisonRequest,
        EvaluationOptions,
        ExecutionOptions,
        OutputOptions,
        TrainingOptions,
    )

    train = parsed.command == "train"
    return ComparisonRequest(
        env=parsed.env,
        strategies=[parsed.strategy] if train else parsed.strategies,
        seeds=parsed.seeds,
        out=parsed.out or Path("results") / f"{parsed.command}-{_folder_name(parsed.env)}",
        training=TrainingOptions(
            steps=parsed.steps,
            n_envs=parsed.n_envs,
            engine=parsed.engine,
            settings=parsed.settings,
            pool=parsed.pool,
            pools=parsed.pools,
            target_pool=parsed.target_pool,
            width=parsed.width,
            algo=parsed.algo,
            policy=parsed.policy,
            set_task=parsed.set_task,
        ),
        evaluation=EvaluationOptions(**evaluation_options(parsed), test_pool=parsed.test_pool),
        execution=ExecutionOptions(parsed.backend, parsed.ray_address, parsed.workers),
        output=OutputOptions(train, parsed.tensorboard, parsed.wandb, parsed.command_line),
    )


def _folder_name(env: str) -> str:
    """An environment's name as a folder: `envs/lock.py:make_lock` is `lock-make_lock`."""
    place, colon, name = env.rpartition(":")
    place = re.split(r"[/\\]", place)[-1].removesuffix(".py")
    return f"{place}-{name}".replace("/", "-") if colon else env.replace("/", "-")


def _loader(request: Any) -> str:
    """The function that loads the models of a run."""
    student = request.student
    return f"{student.algo}.load" if hasattr(student, "algo") else "procurl.load_policy"


def integer(text: str) -> int:
    """Parse an integer, which may be written like 1e6 or 1_000_000."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer")
    return int(number)


def directory(text: str) -> Path:
    """Parse a directory; an empty text, such as that of a variable not set, is none."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of the directory is empty; write . for this one")
    return Path(text)


def require_directory(out: Path) -> None:
    """Raise if --out is a file or lies inside one."""
    for path in (out, *out.parents):
        if path.exists() and not path.is_dir():
            raise ValueError(f"--out must be a directory, got {out}: {path} is a file")


def _require_picture(path: Path) -> None:
    """Raise before training if the animation could not be written; create its directory."""
    if path.suffix.lower() != ".gif":
        raise ValueError(f"--render must be a file name ending in .gif, got {path}")
    if path.is_dir():
        raise ValueError(f"--render must be a file, got {path}, which is a directory")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"--render {path} cannot be written: cannot create its directory ({error.strerror})"
        ) from error
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"--render {path} cannot be written: no write permission in its directory")


class _WithLevel(logging.Formatter):
    """Begins warnings with their level, so that they stand out from what is done."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return f"warning: {text}" if record.levelno >= logging.WARNING else text


@contextmanager
def _log_to_stderr(module: str) -> Iterator[None]:
    """Print what a module logs to standard error."""
    log, handler = logging.getLogger(module), logging.StreamHandler()
    handler.setFormatter(_WithLevel())
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
