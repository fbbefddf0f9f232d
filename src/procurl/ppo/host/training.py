"""Training a host run to its end: evaluations recorded, checkpoints saved, resumed if stopped."""

import json
import logging
import time
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np

from procurl.envs.adapters.play_pool import task_env_of
from procurl.envs.checking.at_start import start_warnings
from procurl.internals.archive import content_errors, read_archive, write_archive
from procurl.internals.checks import require_integer
from procurl.internals.files import file_name
from procurl.internals.settings import describe
from procurl.monitor import warn_of_shortfall
from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
from procurl.ppo.host.run import HostRun
from procurl.records.evaluation import Evaluation
from procurl.records.experiment import Contender, Experiment
from procurl.records.results import RunId
from procurl.records.run_writer import RunWriter

log = logging.getLogger(__name__)
SAVE_SECONDS = 20.0  # between checkpoints; evaluations have one as well


def train_run(
    run: HostRun,
    steps: int,
    out: str | PathLike[str],
    *,
    env: str = "env",
    label: str | None = None,
    overwrite: bool = False,
) -> list[Evaluation]:
    """Train a run and record its evaluations for `procurl export` and `procurl report`.

    >>> train_run(HostRun(...), 100_000, "results/mine", env="lock")  # doctest: +SKIP

    The same call resumes a run that was stopped, from its last checkpoint, and returns at once if
    the run is finished. A folder can hold the runs of many strategies and seeds; all must have the
    same pool, training steps, settings of PPO and evaluations.

    Args:
        run: at its first step, with an `eval_env`.
        steps: training steps of the whole run; it ends with the update that reaches them.
        out: the folder.
        env: name of the environment in tables.
        label: name of the strategy in tables, such as `procurl-val:beta=10`; None for its own name
            and settings.
        overwrite: whether to start again if the folder has this run already.

    Returns:
        all evaluations of the run, the first before training.
    """
    require_integer("steps", steps, at_least=1)
    steps = int(steps)  # of NumPy, it could not be stored
    if run.eval_env is None:
        raise ValueError("run must have an eval_env, in which it is evaluated")
    run.evaluation = replace(run.evaluation, steps=steps)
    contender = Contender.of(run.strategy) if label is None else Contender.parse(label)
    checkpoint = _checkpoint_file(Path(out), contender, run.seed)
    if run.updates == 0 and not overwrite and checkpoint.exists():
        _restore(run, checkpoint)
    writer = _writer(run, steps, Path(out), env, contender, overwrite)
    if run.updates == 0:
        _warn_at_start(run)
    finished = False
    try:
        _train(run, steps, writer, checkpoint)
        finished = True
        warn_at_end(run)
    finally:
        writer.close(finished)
    return writer.evaluations


def _warn_at_start(run: HostRun) -> None:
    """Log what would make training pointless, from a copy of the first environment."""
    envs = getattr(run.env.unwrapped, "envs", ())  # of a `SyncVectorEnv`
    inside = task_env_of(envs[0]) if envs else None
    for message in (inside is not None and inside.on_copy(start_warnings)) or ():
        log.warning("%s", message)


def warn_at_end(run: HostRun) -> None:
    """Log what the strategy never got to do."""
    state = jax.tree.map(np.asarray, run.state.teaching.strategy)
    warn_of_shortfall(run.strategy, state, run.pool)


def _train(run: HostRun, steps: int, writer: RunWriter, checkpoint: Path) -> None:
    """Train to the end and record each evaluation, after saving the state that follows it."""
    if not run.evaluations:
        run.evaluate(run.train_steps)
    saved_at = -SAVE_SECONDS
    while True:
        if run.train_steps >= steps and run.evaluations[-1].train_steps < run.train_steps:
            run.evaluate(steps)
        new = run.evaluations[len(writer.evaluations) :]
        if new or time.monotonic() - saved_at > SAVE_SECONDS:
            _save(run, checkpoint)
            saved_at = time.monotonic()
        for evaluation in new:
            writer.add(evaluation)
        if run.train_steps >= steps:
            return
        run.advance()


def _writer(
    run: HostRun, steps: int, out: Path, env: str, contender: Contender, overwrite: bool
) -> RunWriter:
    plan = run.evaluation
    experiment = Experiment(
        env=env,
        engine="host",
        steps=steps,
        n_envs=run.n_envs,
        student={"algorithm": "PPO", "settings": describe(run.ppo)},
        eval_every=int(plan.every),
        eval_episodes=int(plan.episodes),
        eval_tasks=None if plan.tasks is None else len(plan.tasks),
        eval_stochastic=plan.stochastic,
    )
    return RunWriter(
        out,
        experiment,
        run.pool,
        RunId(*contender, run.seed),
        {"strategy": describe(run.strategy), "reset_samples": run.reset_samples},
        step=run.train_steps,
        overwrite=overwrite,
    )


def _checkpoint_file(out: Path, contender: Contender, seed: int) -> Path:
    folder = file_name(contender.label.replace(":", "--"))
    return out / "runs" / folder / f"seed-{seed:05d}.safetensors"


def _identity(run: HostRun) -> dict[str, Any]:
    """What a checkpoint must have in common with the run that it continues."""
    identity = {
        "strategy": describe(run.strategy),
        "ppo": describe(run.ppo),
        "seed": run.seed,
        "n_envs": run.n_envs,
        "pool": run.pool.fingerprint,
    }
    return dict(json.loads(json.dumps(identity)))


def _save(run: HostRun, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    meta, arrays = host_checkpoint(run)
    write_archive(path, {"identity": _identity(run), "run": meta}, arrays)


def _restore(run: HostRun, path: Path) -> None:
    meta, arrays = read_archive(path)
    with content_errors(path):
        saved = meta["identity"]
    ours = _identity(run)
    different = [name for name in ours if saved.get(name) != ours[name]]
    if different:
        raise ValueError(
            f"{path} belongs to a run with another {', '.join(different)}: use another folder or "
            "label, or pass overwrite=True to start again"
        )
    with content_errors(path):
        restore_host(run, meta["run"], arrays)
