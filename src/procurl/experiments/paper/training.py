"""Train the runs that entries of the paper need and records do not have yet."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from procurl.envs.registry import environment_names, make_host_env, make_pool
from procurl.experiments.compact_records.files import has_records, read_records, write_records
from procurl.experiments.compact_records.joining import (
    join_records,
    setting_differences,
    settings_of,
    shared_settings,
)
from procurl.experiments.compact_records.record import EVALUATION, CompactRecords, compact
from procurl.experiments.engines.registry import (
    engine_packages,
    has_host_form,
    host_environments,
    resolve_engine,
)
from procurl.experiments.paper.entries import Entry, contenders_by_sweep
from procurl.experiments.paper.sweeps import POOLED, Sweep
from procurl.experiments.presets import paper_ppo_settings
from procurl.experiments.request import (
    ComparisonRequest,
    EvaluationOptions,
    ExecutionOptions,
    OutputOptions,
    TrainingOptions,
)
from procurl.internals.checks import require_choice, require_integer, suggest
from procurl.internals.extras import require_packages
from procurl.internals.hardware import has_gpu
from procurl.internals.settings import describe
from procurl.records.experiment import Contender, pools_hash
from procurl.records.results import Results
from procurl.strategies import make_strategy

RUNS = "runs"
RECORDS = "records"
POOLS = "pools"


class PaperOptions(NamedTuple):
    """How to train missing runs.

    Args:
        seeds: per contender; None for as many as the paper has.
        strategies: train only these of the contenders that entries need; None for all.
        training: `steps`, `n_envs` and `engine` (`jax`, or `host` for the environments that it can
            train) of sweeps with our own PPO, and `pools` of sweeps over several pools. Entries
            have their own PPO settings.
        evaluation: when and how runs are evaluated. Entries have their own test pools.
        execution: where runs are trained.
        command: the user's command line, kept in each directory of runs.
    """

    seeds: int | None = None
    strategies: Sequence[str] | None = None
    training: TrainingOptions = TrainingOptions()
    evaluation: EvaluationOptions = EvaluationOptions()
    execution: ExecutionOptions = ExecutionOptions()
    command: str | None = None

    def check(self) -> None:
        """Raise ValueError on options that are invalid for every entry."""
        require_choice("engine", self.training.engine or "jax", ("jax", "host"))
        if self.seeds is not None:
            require_integer("seeds", self.seeds, at_least=1)
        self.training.check()
        self.evaluation.check()
        self.execution.check()


def train_missing(entries: Sequence[Entry], out: Path, options: PaperOptions, command: str) -> None:
    """Train the runs that the entries need and the records lack, and write their records.

    Contenders with records stay as they are, unless they need more seeds. Raises ValueError before
    any training if the records are of another experiment or an option has no effect.

    Args:
        entries: to train for.
        out: directory of runs and records.
        options: for training.
        command: recorded as the command that trained the runs.
    """
    wanted = {
        _with_pools(sweep, options): names for sweep, names in contenders_by_sweep(entries).items()
    }
    if options.training.engine == "host" and not any(map(_has_host_form, wanted)):
        raise ValueError(
            f"engine host trains only {', '.join(host_environments())}, which "
            f"{', '.join(entry.name for entry in entries)} does not need: omit the engine"
        )
    for name in options.strategies or ():
        make_strategy(Contender.parse(name).strategy)  # raises on an unknown name
    needed = [name for names in wanted.values() for name in names]
    if wanted and not any(_is_requested(name, options.strategies) for name in needed):
        raise ValueError(
            f"strategies must include one of {', '.join(dict.fromkeys(needed))}, "
            f"got {', '.join(options.strategies or ())}"
        )
    missing = {
        sweep: names
        for sweep, contenders in wanted.items()
        if (names := missing_contenders(sweep, contenders, out, options))
    }
    for sweep in missing:
        _require_environment(sweep.env)
        physics = ("mujoco",) if has_host_form(sweep.env) else ()
        require_packages((*engine_packages(sweep.engine), *physics))
    for sweep, names in missing.items():
        _request(sweep, names, out, options).check()
    for sweep, names in missing.items():
        results = train_sweep(sweep, names, out, options)
        results = replace(results, facts={**results.facts, "command": command})
        joined = _join(_records_of(sweep, out), compact(results), names, wanted[sweep])
        write_records(joined, out / RECORDS / sweep.name)


def train_sweep(sweep: Sweep, contenders: list[str], out: Path, options: PaperOptions) -> Results:
    """Train these contenders and return the results of the sweep."""
    from procurl.experiments.comparison import compare
    from procurl.records.store import read_store

    request = _request(sweep, contenders, out, options)
    env = sweep.env
    own = sweep.kind == "uniform" and sweep.size is None
    pool = None if own else _pool_file(env, sweep.kind, out, sweep.size)
    targets = None if sweep.targets is None else _pool_file(env, sweep.targets, out)
    test_pool = _pool_file(env, "test", out) if sweep.tested else None
    compare(
        replace(
            request,
            training=replace(request.training, pool=pool, target_pool=targets),
            evaluation=replace(request.evaluation, test_pool=test_pool),
        )
    )
    with read_store(request.out) as store:
        return store.results()


def _request(
    sweep: Sweep, contenders: list[str], out: Path, options: PaperOptions
) -> ComparisonRequest:
    """The comparison that trains these contenders, without the files of its pools."""
    return ComparisonRequest(
        env=sweep.env,
        strategies=contenders,
        seeds=options.seeds or sweep.paper_seeds,
        out=out / RUNS / sweep.name,
        training=replace(
            options.training,
            steps=options.training.steps or sweep.steps,
            engine=sweep_engine(sweep, options, _records_of(sweep, out)),
            settings=sweep.ppo,
            pools=sweep.pools,
        ),
        evaluation=_evaluation(sweep, options),
        execution=options.execution,
        output=OutputOptions(command=options.command),
    )


def _evaluation(sweep: Sweep, options: PaperOptions) -> EvaluationOptions:
    """When and how runs of a sweep are evaluated: as requested, or else as the sweep says."""
    given = {name: getattr(options.evaluation, name) for name in EVALUATION}
    requested = {name: value for name, value in given.items() if value is not None}
    return replace(sweep.evaluation, **requested)


def missing_contenders(
    sweep: Sweep, contenders: Sequence[str], out: Path, options: PaperOptions
) -> list[str]:
    """The requested contenders that the records lack, or have with too few seeds."""
    chosen = [name for name in contenders if _is_requested(name, options.strategies)]
    if not chosen:
        return []
    known = _records_of(sweep, out)
    if known is None:
        return chosen
    seeds = set(range(options.seeds or sweep.paper_seeds))
    missing = [name for name in chosen if not seeds <= known.finished_seeds(name)]
    wanted = sweep_settings(sweep, options, sweep_engine(sweep, options, known))
    if not missing and options.training.engine != "host":
        del wanted["engine"]  # nothing is to be trained, so either form of our PPO will do
    if differ := setting_differences(settings_of(known), wanted):
        raise ValueError(
            f"{out / RECORDS / sweep.name} has records of another experiment: {differ}. "
            "Choose another directory with --out, or request the same settings"
        )
    return missing


def _join(
    known: CompactRecords | None, fresh: CompactRecords, names: Sequence[str], order: Sequence[str]
) -> CompactRecords:
    """Earlier records joined with new ones.

    Args:
        known: earlier records; None if there are none.
        fresh: all records of the comparison.
        names: contenders that were trained now; they replace earlier records.
        order: contenders that come first.
    """
    if known is not None:
        stay = [label for label in known.results.labels if label not in names]
        new = [label for label in fresh.results.labels if label not in stay]
        fresh = join_records([known.only(stay), fresh.only(new)])
    return fresh.only([*order, *fresh.results.labels])


def _records_of(sweep: Sweep, out: Path) -> CompactRecords | None:
    folder = out / RECORDS / sweep.name
    return read_records(folder) if has_records(folder) else None


def sweep_settings(sweep: Sweep, options: PaperOptions, engine: str) -> dict[str, Any]:
    """The settings that all runs of a sweep share if they are trained now."""
    env, test, evaluation = sweep.env, sweep.test_kind, _evaluation(sweep, options)
    return shared_settings(
        env,
        engine,
        steps=options.training.steps or sweep.steps,
        n_envs=options.training.n_envs,
        pool_hash=pools_hash(sweep.training_pools()),
        facts={
            "test_hash": None if test is None else make_pool(env, test).fingerprint,
            "student": describe(paper_ppo_settings(env, sweep.ppo)),
            **{name: getattr(evaluation, name) for name in EVALUATION},
        },
    )


def sweep_engine(sweep: Sweep, options: PaperOptions, known: CompactRecords | None = None) -> str:
    """The engine that trains a sweep.

    Only this machine's device is known beforehand. On a cluster, the engine of earlier records of
    the sweep decides, so that new runs can join them.
    """
    if not _has_host_form(sweep):
        return sweep.engine
    if options.training.engine == "host":
        return "host"
    if options.execution.backend == "ray":
        return "jax" if known is None else known.results.engine
    return resolve_engine("jax", sweep.env, "gpu" if has_gpu() else "cpu")


def _has_host_form(sweep: Sweep) -> bool:
    """Whether the engine `host` can train the sweep in place of `jax`."""
    return sweep.engine == "jax" and has_host_form(sweep.env)


def _with_pools(sweep: Sweep, options: PaperOptions) -> Sweep:
    """The sweep with the number of pools that the options ask for, if any."""
    pools = options.training.pools
    if pools is None:
        return sweep
    if sweep.pools is None:
        entries = ", ".join(f"pools-{pooled.env}" for pooled in POOLED)
        raise ValueError(
            f"pools is for {entries}, got pools {pools} for runs of {sweep.name}, which are "
            "trained on the published pool: omit pools"
        )
    return replace(sweep, pools=pools)


def _pool_file(env: str, kind: str, out: Path, size: int | None = None) -> str:
    """Path to a file with the environment's pool of that kind and size."""
    of_size = "" if size is None else f"-{size}"
    path = out / POOLS / f"{env}-{kind}{of_size}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make_host_env(env).write_pool(make_pool(env, kind, size), path)
    return str(path)


def _require_environment(env: str) -> None:
    if env not in environment_names():
        raise ValueError(
            f"environment {env!r} is not installed here.{suggest(env, environment_names())} "
            f"Installed: {', '.join(environment_names())}"
        )
    make_host_env(env)  # raises with the extra to install if a package is missing


def _is_requested(contender: str, strategies: Sequence[str] | None) -> bool:
    """Whether a contender is named, with its settings or by the name of its strategy."""
    return strategies is None or not {contender, contender.partition(":")[0]}.isdisjoint(strategies)


def commands_of(entry: Entry, runs: Mapping[str, CompactRecords]) -> list[str]:
    """The recorded commands that trained the runs of an entry."""
    parts = [
        part
        for sweep, contenders in entry.needs.items()
        if sweep.name in runs
        for part in runs[sweep.name].only(contenders).parts
    ]
    return list(dict.fromkeys(part.facts["command"] for part in parts if "command" in part.facts))


def command_line(names: Sequence[str], options: PaperOptions) -> str:
    """The command line of this request, without file names."""
    words = ["procurl paper", *names]
    words += [f"--seeds {options.seeds}"] if options.seeds else []
    training, evaluation = options.training, options.evaluation
    words += [f"--steps {training.steps}"] if training.steps else []
    words += [f"--pools {training.pools}"] if training.pools else []
    words += [f"--engine {training.engine}"] if training.engine == "host" else []
    words += [f"--n-envs {training.n_envs}"] if training.n_envs != 1 else []
    for name in EVALUATION:
        option, value = name.replace("_", "-"), getattr(evaluation, name)
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is not None:
            words.append(f"--{option} {value}")
    words += [f"--strategies {' '.join(options.strategies)}"] if options.strategies else []
    return " ".join(words)
