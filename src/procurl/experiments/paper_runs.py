"""Training the runs that entries of the paper need, each once, and recording them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from procurl.checks import suggest
from procurl.envs.registry import environment_names, make_host_env, make_pool
from procurl.experiments.paper_entries import Entry, Sweep, needed
from procurl.experiments.paper_records import Recorded, write_records
from procurl.experiments.results import Results
from procurl.strategies import make_strategy

RUNS = "runs"
RECORDS = "records"
POOLS = "pools"


class Options(NamedTuple):
    """How to run what is missing.

    Args:
        seeds: per contender, None for as many as the paper had.
        steps: of training, None for the paper's.
        strategies: of the contenders that entries need, only these; None for all.
        command: as it was typed, for the comparisons' own directories.
        compare: further options of a comparison, such as `n_envs`, by their names.
    """

    seeds: int | None = None
    steps: int | None = None
    strategies: Sequence[str] | None = None
    command: str | None = None
    compare: Mapping[str, Any] = {}


def train_missing(entries: Sequence[Entry], out: Path, options: Options, told: str) -> None:
    """Train what the entries need and is not there yet, and record it as made by `told`."""
    wanted = needed(entries)
    for name in options.strategies or ():
        make_strategy(name)  # raises on an unknown name
    for sweep in wanted:
        _require_environment(sweep.env)
        _require_engine(sweep.engine)
    for sweep, contenders in wanted.items():
        chosen = [name for name in contenders if _asked_for(name, options.strategies)]
        if not chosen:
            raise ValueError(
                f"strategies {', '.join(options.strategies or ())} leave nothing to run of "
                f"{', '.join(contenders)}"
            )
        results = trained(sweep, chosen, out, options)
        results = replace(results, facts={**results.facts, "command": told})
        write_records(results, out / RECORDS / sweep.name)


def trained(sweep: Sweep, contenders: list[str], out: Path, options: Options) -> Results:
    """The results of a sweep, once these contenders are trained."""
    from procurl.experiments.asked import Asked
    from procurl.experiments.compare import compare
    from procurl.experiments.store import read_store

    folder = out / RUNS / sweep.name
    asked: dict[str, Any] = {
        "env": sweep.env,
        "strategies": contenders,
        "seeds": options.seeds or sweep.paper_seeds,
        "out": folder,
        "steps": options.steps or sweep.steps,
        "engine": sweep.engine,
        "pool": None if sweep.kind == "uniform" else _pool_file(sweep.env, sweep.kind, out),
        "test_pool": _pool_file(sweep.env, "test", out) if sweep.tested else None,
        "command": options.command,
    }
    if sweep.ppo:
        asked["ppo"] = list(sweep.ppo)
    compare(Asked(**(asked | dict(options.compare))))
    with read_store(folder) as store:
        return store.results()


def _pool_file(env: str, kind: str, out: Path) -> str:
    """A file with the project's pool of that kind."""
    path = out / POOLS / f"{env}-{kind}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make_host_env(env).write_pool(make_pool(env, kind), path)
    return str(path)


def _require_environment(env: str) -> None:
    if env not in environment_names():
        raise ValueError(
            f"environment {env!r} is not installed here.{suggest(env, environment_names())} "
            f"Installed: {', '.join(environment_names())}"
        )
    make_host_env(env)  # raises with the extra to install where a package is missing


def _require_engine(engine: str) -> None:
    package, extra = {"jax": ("jax", "jax"), "sb3": ("stable_baselines3", "sb3")}[engine]
    if find_spec(package) is None:
        raise ImportError(f"{package} is not installed: pip install 'procurl[{extra}]'")


def _asked_for(contender: str, strategies: Sequence[str] | None) -> bool:
    return strategies is None or contender.partition(":")[0] in strategies


def command_of(entry: Entry, runs: Mapping[str, Recorded]) -> str:
    """What trains the runs of an entry and makes its page."""
    sweep, contenders = next(
        (sweep, names) for sweep, names in entry.needs.items() if sweep.name in runs
    )
    results = runs[sweep.name].results
    known = {run.strategy for run in results.runs}
    wanted = dict.fromkeys(name.partition(":")[0] for name in contenders)
    options = Options(
        seeds=max(sum(run.label == label for run in results.runs) for label in results.labels),
        steps=None if results.steps == sweep.steps else results.steps,
        strategies=None if set(wanted) <= known else [name for name in wanted if name in known],
        compare={} if results.n_envs == 1 else {"n_envs": results.n_envs},
    )
    return command([entry.name], options)


def command(names: Sequence[str], options: Options) -> str:
    """The command that asks for this, without the names of files."""
    words = ["procurl paper", *names]
    words += [f"--seeds {options.seeds}"] if options.seeds else []
    words += [f"--steps {options.steps}"] if options.steps else []
    words += [f"--n-envs {options.compare['n_envs']}"] if "n_envs" in options.compare else []
    words += [f"--strategies {' '.join(options.strategies)}"] if options.strategies else []
    return " ".join(words)
