"""`procurl compare` and `procurl train`: from what was asked to a table and a picture."""

import math
import os
from pathlib import Path

import numpy as np

from procurl.checks import require_choice, require_whole
from procurl.envs import make_array_env
from procurl.experiments.batch import model_path, pool_of
from procurl.experiments.live import live
from procurl.experiments.local import has_gpu, run_local, sole_user
from procurl.experiments.plans import (
    Contender,
    Experiment,
    Request,
    batches_of,
    open_experiment,
    read_experiment,
)
from procurl.experiments.presets import paper_strategy, preset
from procurl.experiments.records import read_rows
from procurl.experiments.summary import curves, draw_curves, table
from procurl.policy import load_policy

ENGINES = ("jax",)
CPU_WIDTH = 8
GPU_WIDTH = 128


def compare(
    env: str,
    strategies: list[str],
    seeds: int,
    steps: int | None,
    n_envs: int,
    engine: str,
    pool: str | None,
    test_pool: str | None,
    out: Path,
    keep_models: bool = False,
) -> str:
    """Train every strategy with every seed, and return the table; files go to `out`."""
    require_choice("engine", engine, ENGINES)
    require_whole("seeds", seeds, at_least=1)
    make_array_env(env)
    contenders = [Contender.parse(text) for text in strategies]
    for contender in contenders:
        paper_strategy(env, contender.strategy, **contender.settings())
    experiment = _experiment(env, seeds, steps, n_envs, engine, pool, test_pool)
    request = Request({}).extended(contenders, seeds)
    with sole_user(out):
        experiment, request = open_experiment(out, experiment, request)
        batches = batches_of(request, experiment.width)
        with live(experiment, batches) as report:
            run_local(out, experiment, batches, keep_models, report)
        return summarise(out, experiment)


def summarise(out: Path, experiment: Experiment) -> str:
    """Write the table and the picture of what is in `out`, and return the table."""
    found = curves(read_rows(out))
    text = table(found)
    (out / "table.txt").write_text(text + "\n", encoding="utf-8")
    draw_curves(found, out / "curves.png", experiment.env)
    return text


def render(out: Path, picture: Path, tasks: int = 4) -> None:
    """An animation of the best weights of the first seed of `out` on a few tasks of the pool."""
    from procurl.envs.playback import write_gif

    experiment, request = read_experiment(out)
    batch = batches_of(request, experiment.width)[0]
    path = model_path(out, batch, batch.first_seed)
    env = make_array_env(experiment.env)
    contexts = env.contexts_of(pool_of(experiment))
    chosen = np.linspace(0, len(contexts) - 1, min(tasks, len(contexts))).astype(int)
    write_gif(picture, env, contexts[chosen], load_policy(f"{path}-best"))


def _experiment(
    env: str,
    seeds: int,
    steps: int | None,
    n_envs: int,
    engine: str,
    pool: str | None,
    test_pool: str | None,
) -> Experiment:
    """The experiment, its pools read once so that a bad file is known before anything starts."""
    widest = GPU_WIDTH if has_gpu() else _cpu_width(seeds)
    chosen = Experiment(
        env=env,
        engine=engine,
        steps=preset(env).steps if steps is None else steps,
        n_envs=n_envs,
        width=min(seeds, widest),
        pool=None if pool is None else os.path.abspath(pool),
        pool_hash="",
        test_pool=None if test_pool is None else os.path.abspath(test_pool),
    )
    chosen.check()
    test_hash = None
    if chosen.test_pool is not None:
        test_hash = make_array_env(env).read_pool(chosen.test_pool).fingerprint
    fields = {"pool_hash": pool_of(chosen).fingerprint, "test_hash": test_hash}
    return Experiment(**(chosen.__dict__ | fields))


def _cpu_width(seeds: int) -> int:
    """Seeds side by side on a CPU: as many batches as cores where there are few seeds."""
    cores = len(os.sched_getaffinity(0))
    return min(CPU_WIDTH, math.ceil(seeds / cores)) if seeds < CPU_WIDTH else CPU_WIDTH
