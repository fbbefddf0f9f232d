"""Training several strategies and comparing them, as `procurl compare` and `procurl train` do."""

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from procurl.envs import EnvSource, make_host_env
from procurl.envs.adapters.closing import closing_error
from procurl.experiments.batches import Job, RunBatch, batches_of, costly_first
from procurl.experiments.engines.registry import resolve_engine, trainer_module
from procurl.experiments.planning import cost_of, make_experiment, width_of
from procurl.experiments.presets import preset_of
from procurl.experiments.request import ComparisonRequest
from procurl.experiments.running.backend import Backend
from procurl.experiments.running.live import live
from procurl.experiments.running.local import LocalBackend, sole_user
from procurl.experiments.running.logs import open_logs
from procurl.experiments.running.recorder import recorder, unfinished_batches
from procurl.experiments.running.unused import holds_runs, remove_unused_store
from procurl.internals.checks import require_known
from procurl.internals.files import write_text
from procurl.internals.hardware import cores, has_gpu
from procurl.internals.random_state import kept_random_state
from procurl.records.evaluation import evaluation_tasks
from procurl.records.experiment import Experiment, RunPlan
from procurl.records.store import Store, open_experiment, read_store
from procurl.tasks.pool import TaskPool

log = logging.getLogger(__name__)


class Summary(NamedTuple):
    """What is shown of a directory after training."""

    table: str
    sketch: str  # of the learning curves and of what was played
    report: Path | None  # the page; None if it could not be written
    pools: int = 1  # that runs were spread over
    trained: bool = True  # whether any run was not stopped by a value that is not finite


def compare(request: ComparisonRequest) -> Summary:
    """Train every strategy with every seed and return the table and the path of the report.

    Results, the report and checkpoints go to `request.out`. A directory with runs is continued:
    those that are finished there are not trained again.
    """
    request.check()
    _check_width(request)
    out, output = request.out, request.output
    with make_backend(request) as backend:
        pools = request.pools
        pool, *others = pools.training
        request.check_pools()
        experiment = make_experiment(request, backend.device)
        plan = RunPlan({}).extend(request.contenders, request.seeds)
        with (
            sole_user(out),
            _open_store(out, experiment, pools.training, plan, output.command) as store,
            open_logs(store.experiment, output.tensorboard, output.wandb) as logs,
        ):
            kept, source = output.keep_models, request.source
            job = Job(store.experiment, pool, pools.test, kept, source, tuple(others))
            batches = batches_of(store.plan, store.experiment.width)
            missing = unfinished_batches(store, batches, kept)
            if more := further_runs(store.plan, plan):
                log.info("%s", f"{out} has more runs than requested, and all are shown: {more}")
            if missing and source is not None:
                log.info("%s", headline(experiment, pool))
                warn_at_start(source, pool)
            done, planned = set(batches) - set(missing), store.plan.seeds
            with live(store.experiment, batches, done, planned) as show:
                ordered = costly_first(missing, lambda contender: cost_of(request, contender))
                backend.run(out, job, ordered, recorder(store, logs, show))
            return summarize(out, store)


def _open_store(
    out: Path,
    experiment: Experiment,
    pools: Sequence[TaskPool],
    plan: RunPlan,
    command: str | None,
) -> Store:
    """The store of the directory; one without runs may belong to another experiment."""
    remove_unused_store(out)
    return open_experiment(out, experiment, pools, plan, command)


def further_runs(there: RunPlan, requested: RunPlan) -> str:
    """The runs of a directory that a command does not ask for, in a few words; empty if none.

    >>> further_runs(RunPlan({"iid": 4, "procurl": 2, "plr": 2}), RunPlan({"iid": 3, "plr": 2}))
    'iid with 4 seeds, not 3; procurl with 2 seeds'
    """
    more = []
    for label, seeds in there.seeds.items():
        wanted = requested.seeds.get(label)
        if wanted is None or wanted < seeds:
            instead = "" if wanted is None else f", not {wanted}"
            more.append(f"{label} with {seeds} seed{'s' * (seeds > 1)}{instead}")
    return "; ".join(more)


def headline(experiment: Experiment, pool: TaskPool) -> str:
    """What is trained, in one line."""
    student = experiment.student or {}
    algorithm = f"our PPO ({experiment.engine} engine)"
    if "algo" in student:
        algorithm = f"{student['algo']} of Stable-Baselines3 ({student['policy']})"
    preset = preset_of(experiment)
    played = evaluation_tasks(len(pool), preset.eval_tasks)
    some = "all" if len(played) == len(pool) else f"always the same {len(played)}"
    return (
        f"{experiment.env}: {algorithm}, {experiment.steps:,} steps on {len(pool):,} tasks, "
        f"evaluated on {some} every {preset.eval_every:,} steps"
    )


def warn_at_start(source: EnvSource, pool: TaskPool) -> None:
    """Log what would make training in a user's environment pointless."""
    from procurl.envs.adapters.play_pool import task_env_of
    from procurl.envs.checking.at_start import start_warnings

    env = source.make_task_env(pool)
    inside = task_env_of(env)
    assert inside is not None
    with kept_random_state():
        for message in start_warnings(inside):
            log.warning("%s: %s", source.name, message)
    if (error := closing_error(env)) is not None:
        log.warning("%s: %s. Training ignores it: correct close()", source.name, error)


def summarize(out: Path, store: Store) -> Summary:
    """Write the table and the report of the directory `out`.

    A report that cannot be written is logged as a warning: the runs are recorded anyway.
    """
    from procurl.experiments.analysis.curves import learning_curves
    from procurl.experiments.analysis.sketch import sketch_curriculum, sketch_curves
    from procurl.experiments.analysis.stopped import stopped_runs
    from procurl.experiments.analysis.tables import as_text, terminal_table

    results = store.results()
    curves = learning_curves(results)
    text = "\n\n".join(filter(None, [as_text(terminal_table(curves)), stopped_runs(results)]))
    sketch = "\n\n".join(filter(None, [sketch_curves(curves), sketch_curriculum(results)]))
    pools, trained = store.experiment.n_pools, len(results.stopped) < len(results.runs)
    try:
        from procurl.experiments.report import write_report

        write_text(out / "table.txt", text + "\n")
        return Summary(text, sketch, write_report(out), pools, trained)
    except Exception as error:  # whatever it is, training has succeeded
        log.warning(
            "%s: the report could not be written (%s: %s). The results are kept; once this is "
            "resolved, run: procurl report %s",
            out,
            type(error).__name__,
            error,
            shlex.quote(str(out)),
        )
        return Summary(text, sketch, None, pools, trained)


def model_path(out: Path, batch: RunBatch, seed: int) -> Path:
    """The path of the last weights of a run; the best weights have `-best` appended."""
    return out / batch.folder / "models" / f"seed-{seed:05d}"


def render(out: Path, picture: Path, tasks: int = 4, strategy: str | None = None) -> None:
    """Write an animation of the best weights of the first run that has any.

    Args:
        out: directory of the results.
        picture: GIF file to write.
        tasks: number of tasks to play, spread evenly over the pool.
        strategy: whose run it is, with its settings as written; None for any of the directory.
    """
    from procurl.envs.rendering.playback import write_gif
    from procurl.policy import load_policy

    with read_store(out) as store:
        if strategy is not None:
            require_known("strategy", strategy, store.plan.seeds, "strategies")
        batches = batches_of(store.plan, store.experiment.width)
        env, pool = make_host_env(store.experiment.env), store.results().pool
    contexts = env.contexts_of(pool)
    chosen = np.linspace(0, len(contexts) - 1, min(tasks, len(contexts))).astype(int)
    paths = [
        model_path(out, batch, seed)
        for batch in batches
        if strategy in (None, batch.contender.label)
        for seed in batch.seeds
    ]
    # A run that was stopped has no model.
    path = next((each for each in paths if Path(f"{each}-best.json").exists()), paths[0])
    write_gif(picture, env, contexts[chosen], load_policy(f"{path}-best"))


def _check_width(request: ComparisonRequest) -> None:
    """Raise ValueError if the directory holds runs of another width than requested."""
    wanted = request.training.width
    if wanted is None or not holds_runs(request.out):
        return
    with read_store(request.out) as store:
        width = store.experiment.width
    if width != wanted:
        raise ValueError(
            f"{request.out} holds runs of width {width}, got width {wanted}: omit the width, or "
            "choose another directory"
        )


def make_backend(request: ComparisonRequest) -> Backend:
    engine, execution = request.engine, request.execution
    use_gpus = engine != "sb3"
    if execution.backend == "ray":
        from procurl.experiments.running.ray_backend import RayBackend

        return RayBackend(execution.ray_address, use_gpus)
    device = "gpu" if use_gpus and has_gpu() else "cpu"
    usual = 1 if device == "gpu" else cores()
    count = min(execution.workers or usual, _count_batches(request, device))
    return LocalBackend(count, device, trainer_module(resolve_engine(engine, request.env, device)))


def _count_batches(request: ComparisonRequest, device: str) -> int:
    """The number of batches once `request` is added to what its directory already holds."""
    width, plan = width_of(request, device), RunPlan({})
    if holds_runs(request.out):
        with read_store(request.out) as store:
            width, plan = store.experiment.width, store.plan
    return len(batches_of(plan.extend(request.contenders, request.seeds), width))
