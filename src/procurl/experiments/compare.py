"""`procurl compare` and `procurl train`: from what was asked to a table, figures and a report."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Self

import numpy as np

from procurl.envs import make_host_env
from procurl.experiments.presets import preset
from procurl.experiments.request import Asked, cost_of, read_pools, width_of
from procurl.experiments.running.batch import Progress, trainer_module
from procurl.experiments.running.live import live
from procurl.experiments.running.local import Workers, cores, has_gpu, sole_user
from procurl.experiments.running.logs import Log, opened_logs
from procurl.internals.settings import describe
from procurl.records.experiment import (
    Batch,
    Contender,
    Experiment,
    Job,
    Request,
    batches_of,
    costly_first,
)
from procurl.records.results import RunId
from procurl.records.store import FILE, Store, open_experiment, read_store


class Backend(Protocol):
    """Where batches are trained."""

    device: str  # cpu or gpu

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def run(
        self, folder: Path, job: Job, batches: Sequence[Batch], report: Callable[[Progress], None]
    ) -> None:
        """Train every batch, telling `report` what each has to say; raises what went wrong."""


def compare(asked: Asked) -> str:
    """Train every strategy with every seed, and return the table; files go to `asked.out`."""
    contenders, ppo = asked.check()
    paper = preset(asked.env)
    with _backend(asked, contenders) as backend:
        pool, test_pool = read_pools(asked)
        experiment = Experiment(
            env=asked.env,
            engine=asked.engine,
            steps=paper.steps if asked.steps is None else asked.steps,
            n_envs=asked.n_envs,
            width=width_of(asked, backend.device),
            pool=None if asked.pool is None else os.path.abspath(asked.pool),
            test_pool=None if asked.test_pool is None else os.path.abspath(asked.test_pool),
            test_hash=None if test_pool is None else test_pool.fingerprint,
            device=backend.device,
            student=describe(ppo),
            # The paper's own numbers are no other experiment than none.
            eval_every=None if asked.eval_every == paper.eval_every else asked.eval_every,
            eval_episodes=(
                None if asked.eval_episodes == paper.eval_episodes else asked.eval_episodes
            ),
        )
        request = Request({}).extended(contenders, asked.seeds)
        with (
            sole_user(asked.out),
            open_experiment(asked.out, experiment, pool, request, asked.command) as store,
            opened_logs(store.experiment, asked.tensorboard, asked.wandb) as logs,
        ):
            job = Job(store.experiment, pool, test_pool, asked.keep_models)
            batches = batches_of(store.request, store.experiment.width)
            todo = unfinished(store, batches, asked.keep_models)
            with live(store.experiment, batches, set(batches) - set(todo)) as show:
                ordered = costly_first(todo, lambda contender: cost_of(asked.env, contender, pool))
                backend.run(asked.out, job, ordered, recorder(store, logs, show))
            return summarize(asked.out, store)


def unfinished(store: Store, batches: list[Batch], keep_models: bool) -> list[Batch]:
    """Those of `batches` that something is missing of."""
    finished = store.finished()
    return [
        batch
        for batch in batches
        if not {run_of(batch, seed) for seed in batch.seeds} <= finished
        or (keep_models and not (store.folder / batch.folder / "models").exists())
    ]


def recorder(
    store: Store, logs: Sequence[Log], show: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """What writes all that batches report to the store and the logs, and shows it."""

    def record(progress: Progress) -> None:
        batch: Batch = progress.batch
        measured = progress.measured or [[]] * batch.width
        if any(measured) or progress.finished is not None:
            asked = store.request.seeds.get(batch.contender.label, 0)
            with store.together():
                for i, seed in enumerate(batch.seeds):
                    run = run_of(batch, seed)
                    store.begin(run, padding=seed >= asked)
                    new = store.add(run, *measured[i])
                    if progress.finished is not None:
                        store.finish(run, progress.finished[i])
                    for log in logs:
                        for evaluation in new:
                            log.add(run, evaluation)
                        if progress.finished is not None:
                            log.finish(run)
        show(progress)

    return record


def run_of(batch: Batch, seed: int) -> RunId:
    """The run of a batch with that seed."""
    return RunId(batch.contender.strategy, batch.contender.setting, seed)


def summarize(out: Path, store: Store) -> str:
    """Write the table and the report of what is in `out`, and return the table."""
    from procurl.experiments.analysis.summary import curves, table
    from procurl.experiments.report.report import write_report

    text = table(curves(store.rows()))
    (out / "table.txt").write_text(text + "\n", encoding="utf-8")
    write_report(out)
    return text


def model_path(folder: Path, batch: Batch, seed: int) -> Path:
    """Where the last weights of a run are kept, and with `-best` behind it the best ones."""
    return folder / batch.folder / "models" / f"seed-{seed:05d}"


def render(out: Path, picture: Path, tasks: int = 4) -> None:
    """An animation of the best weights of the first seed of `out` on a few tasks of the pool."""
    from procurl.envs.rendering.playback import write_gif
    from procurl.policy import load_policy

    with read_store(out) as store:
        batch = batches_of(store.request, store.experiment.width)[0]
        env, pool = make_host_env(store.experiment.env), store.results().pool
    contexts = env.contexts_of(pool)
    chosen = np.linspace(0, len(contexts) - 1, min(tasks, len(contexts))).astype(int)
    path = model_path(out, batch, batch.first_seed)
    write_gif(picture, env, contexts[chosen], load_policy(f"{path}-best"))


def _backend(asked: Asked, contenders: list[Contender]) -> Backend:
    use_gpus = asked.engine != "sb3"
    if asked.backend == "ray":
        from procurl.experiments.running.ray_backend import RayCluster

        return RayCluster(asked.ray_address, use_gpus)
    device = "gpu" if use_gpus and has_gpu() else "cpu"
    usual = 1 if device == "gpu" else cores()
    count = min(asked.workers or usual, _count_batches(asked, contenders, device))
    return Workers(count, device, trainer_module(asked.engine))


def _count_batches(asked: Asked, contenders: list[Contender], device: str) -> int:
    """How many there will be; a directory keeps its width, and all that was asked of it."""
    width, request = width_of(asked, device), Request({})
    if (asked.out / FILE).exists():
        with read_store(asked.out) as store:
            width, request = store.experiment.width, store.request
    return len(batches_of(request.extended(contenders, asked.seeds), width))
