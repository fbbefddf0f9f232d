"""`procurl compare` and `procurl train`: from what was asked to a table, figures and a report."""

import os
from pathlib import Path

import numpy as np

from procurl.envs import make_host_env
from procurl.experiments.batches import Job, RunBatch, batches_of, costly_first
from procurl.experiments.presets import preset
from procurl.experiments.request import Asked, cost_of, read_pools, width_of
from procurl.experiments.running.backend import Backend
from procurl.experiments.running.batch import trainer_module
from procurl.experiments.running.live import live
from procurl.experiments.running.local import LocalBackend, sole_user
from procurl.experiments.running.logs import opened_logs
from procurl.experiments.running.recorder import recorder, unfinished
from procurl.internals.hardware import cores, has_gpu
from procurl.internals.settings import describe
from procurl.records.experiment import Contender, Experiment, RunPlan
from procurl.records.store import FILE, Store, open_experiment, read_store


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
        plan = RunPlan({}).extended(contenders, asked.seeds)
        with (
            sole_user(asked.out),
            open_experiment(asked.out, experiment, pool, plan, asked.command) as store,
            opened_logs(store.experiment, asked.tensorboard, asked.wandb) as logs,
        ):
            job = Job(store.experiment, pool, test_pool, asked.keep_models)
            batches = batches_of(store.plan, store.experiment.width)
            todo = unfinished(store, batches, asked.keep_models)
            with live(store.experiment, batches, set(batches) - set(todo)) as show:
                ordered = costly_first(todo, lambda contender: cost_of(asked.env, contender, pool))
                backend.run(asked.out, job, ordered, recorder(store, logs, show))
            return summarize(asked.out, store)


def summarize(out: Path, store: Store) -> str:
    """Write the table and the report of what is in `out`, and return the table."""
    from procurl.experiments.analysis.summary import curves, table
    from procurl.experiments.report.page import write_report

    text = table(curves(store.rows()))
    (out / "table.txt").write_text(text + "\n", encoding="utf-8")
    write_report(out)
    return text


def model_path(folder: Path, batch: RunBatch, seed: int) -> Path:
    """Where the last weights of a run are kept, and with `-best` behind it the best ones."""
    return folder / batch.folder / "models" / f"seed-{seed:05d}"


def render(out: Path, picture: Path, tasks: int = 4) -> None:
    """An animation of the best weights of the first seed of `out` on a few tasks of the pool."""
    from procurl.envs.rendering.playback import write_gif
    from procurl.policy import load_policy

    with read_store(out) as store:
        batch = batches_of(store.plan, store.experiment.width)[0]
        env, pool = make_host_env(store.experiment.env), store.results().pool
    contexts = env.contexts_of(pool)
    chosen = np.linspace(0, len(contexts) - 1, min(tasks, len(contexts))).astype(int)
    path = model_path(out, batch, batch.first_seed)
    write_gif(picture, env, contexts[chosen], load_policy(f"{path}-best"))


def _backend(asked: Asked, contenders: list[Contender]) -> Backend:
    use_gpus = asked.engine != "sb3"
    if asked.backend == "ray":
        from procurl.experiments.running.ray_backend import RayBackend

        return RayBackend(asked.ray_address, use_gpus)
    device = "gpu" if use_gpus and has_gpu() else "cpu"
    usual = 1 if device == "gpu" else cores()
    count = min(asked.workers or usual, _count_batches(asked, contenders, device))
    return LocalBackend(count, device, trainer_module(asked.engine))


def _count_batches(asked: Asked, contenders: list[Contender], device: str) -> int:
    """How many there will be; a directory keeps its width, and all that was asked of it."""
    width, plan = width_of(asked, device), RunPlan({})
    if (asked.out / FILE).exists():
        with read_store(asked.out) as store:
            width, plan = store.experiment.width, store.plan
    return len(batches_of(plan.extended(contenders, asked.seeds), width))
