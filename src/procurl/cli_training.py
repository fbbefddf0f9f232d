"""The commands that train, and their options."""

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def add_training_commands(commands: Any) -> None:
    """Add `compare` and `train` to the parser's commands."""
    compare = commands.add_parser(
        "compare",
        help="train several strategies with several seeds and compare them",
        description="Train strategies on an environment of the paper and compare them: a table, "
        "report.html with learning curves and curricula, figures, and records for `procurl "
        "export`. An existing --out directory goes on: finished runs are kept, unfinished ones go "
        "on from their last checkpoint, and more seeds or strategies extend it.",
        epilog="Example: procurl compare pointmass-s --strategies procurl-val iid --seeds 8 "
        "--steps 200000",
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
    _add_options(compare)
    compare.set_defaults(run=_compare)

    train = commands.add_parser(
        "train",
        help="train one strategy and keep its models",
        description="Train one strategy, with several seeds if you like, and keep the last and the "
        "best model of every run. Otherwise as `procurl compare`.",
        epilog="Example: procurl train pointmass-s --strategy procurl-val --seeds 1 --render "
        "agent.gif",
    )
    train.add_argument("env", metavar="ENV", help="environment, see `procurl envs`")
    train.add_argument(
        "--strategy", required=True, metavar="S", help="see `procurl strategies` and `compare`"
    )
    _add_options(train)
    train.add_argument(
        "--render", type=Path, metavar="GIF", help="also write an animation of the trained agent"
    )
    train.set_defaults(run=_compare)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """The options that training commands share."""
    add = parser.add_argument
    add("--seeds", type=int, default=8, metavar="N", help="runs per strategy (default: 8)")
    add("--steps", type=int, metavar="N", help="training steps (default: as in the paper)")
    add("--n-envs", type=int, default=1, metavar="N", help="environments per run (default: 1)")
    add(
        "--engine",
        default="jax",
        help="jax: our PPO, many runs side by side (default); host: our PPO for ballcatching and "
        "antgoal, which steps MuJoCo on the cores and learns on the GPU, if there is one; sb3: "
        "Stable-Baselines3's PPO",
    )
    add(
        "--ppo",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="settings of PPO in place of the paper's, such as ent_coef=0.002",
    )
    add("--pool", metavar="FILE", help="training pool (default: the project's)")
    add("--test-pool", metavar="FILE", help="pool to test on at each evaluation")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to keep everything (default: results/COMMAND-ENV)",
    )
    add(
        "--backend",
        default="local",
        help="local: the cores or the GPU of this machine (default); ray: a Ray cluster",
    )
    add(
        "--ray-address",
        metavar="A",
        help="of the cluster that this machine is a node of: auto, or HOST:PORT (default: "
        "$RAY_ADDRESS, or a cluster of this machine alone)",
    )
    add_measuring(add)
    add("--tensorboard", type=Path, metavar="DIR", help="also log to TensorBoard files in DIR")
    add("--wandb", metavar="PROJECT", help="also log to this project of Weights & Biases")


def add_measuring(add: Callable[..., Any]) -> None:
    """Add the options for evaluations and for the number of processes."""
    add(
        "--eval-every",
        type=int,
        metavar="N",
        help="training steps between evaluations (default: as in the paper)",
    )
    add(
        "--eval-episodes",
        type=int,
        metavar="N",
        help="episodes on each task of an evaluation (default: as in the paper)",
    )
    add(
        "--workers",
        type=int,
        metavar="N",
        help="processes at a time, which share the cores or the GPU of this machine (default: one "
        "for every core, or one for the GPU)",
    )


def _compare(parsed: argparse.Namespace) -> int:
    if parsed.engine in ("jax", "host"):
        needs("jax", "jax", "flax", "optax")
    if parsed.engine == "sb3":
        needs("sb3", "stable_baselines3", "gymnasium")
    needs("report", "matplotlib", "PIL")
    from procurl.experiments.asked import Asked
    from procurl.experiments.compare import compare, render

    train = parsed.command == "train"
    out: Path = parsed.out or Path("results") / f"{parsed.command}-{parsed.env}"
    asked = Asked(
        env=parsed.env,
        strategies=[parsed.strategy] if train else parsed.strategies,
        seeds=parsed.seeds,
        out=out,
        steps=parsed.steps,
        n_envs=parsed.n_envs,
        engine=parsed.engine,
        pool=parsed.pool,
        test_pool=parsed.test_pool,
        ppo=parsed.ppo,
        keep_models=train,
        backend=parsed.backend,
        ray_address=parsed.ray_address,
        workers=parsed.workers,
        eval_every=parsed.eval_every,
        eval_episodes=parsed.eval_episodes,
        tensorboard=parsed.tensorboard,
        wandb=parsed.wandb,
        command=parsed.as_typed,
    )
    print(compare(asked))
    print(f"\nreport: {out / 'report.html'}\nrecords: procurl export {out}")
    if train:
        print(f"models: {out / 'runs'}/…/models, for procurl.load_policy")
        if parsed.render is not None:
            render(out, parsed.render)
            print(f"animation: {parsed.render}")
    return 0


def needs(extra: str, *packages: str) -> None:
    """Raise with the extra to install where one of its packages is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise ImportError(f"{package} is not installed: pip install 'procurl[{extra}]'")
