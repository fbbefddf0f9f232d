"""Training one batch of runs with the JAX engine, from wherever it was left."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from procurl.archive import write_text
from procurl.envs import make_array_env, make_pool
from procurl.experiments.plans import Batch, Experiment
from procurl.experiments.presets import paper_strategy, preset
from procurl.policy import make_policy, save_policy
from procurl.pool import TaskPool
from procurl.ppo.checkpoints import load_checkpoint, save_checkpoint
from procurl.ppo.runs import Runs
from procurl.ppo.settings import paper_settings
from procurl.settings import describe

SAVE_SECONDS = 20.0  # between checkpoints, beside those at evaluations
RECORDS = "records.json"
EVAL_TASKS_SEED = 0


class Progress(NamedTuple):
    """How far a batch is."""

    batch: Batch
    step: int  # training steps of each run
    seconds: float  # of training, over all sessions
    performance: float | None  # mean over the runs at the latest evaluation
    message: str | None = None  # for the user to read


def pool_of(experiment: Experiment) -> TaskPool:
    """The training pool."""
    if experiment.pool is None:
        return make_pool(experiment.env)
    return make_array_env(experiment.env).read_pool(experiment.pool)


def make_runs(experiment: Experiment, batch: Batch) -> Runs:
    """The runs of a batch at their first step."""
    env = make_array_env(experiment.env)
    pool = pool_of(experiment)
    test_contexts = None
    if experiment.test_pool is not None:
        test_contexts = env.contexts_of(env.read_pool(experiment.test_pool))
    how = preset(experiment.env)
    eval_tasks = None
    if how.eval_tasks is not None and how.eval_tasks < len(pool):
        order = np.random.default_rng(EVAL_TASKS_SEED).permutation(len(pool))
        eval_tasks = np.sort(order[: how.eval_tasks])
    contender = batch.contender
    strategy = paper_strategy(experiment.env, contender.strategy, **contender.settings())
    bound = strategy.bind(pool)
    return Runs(
        env,
        env.contexts_of(pool),
        strategies=[bound] * batch.width,
        ppo=[paper_settings(experiment.env)] * batch.width,
        seeds=list(batch.seeds),
        n_envs=experiment.n_envs,
        eval_every=how.eval_every,
        eval_tasks=eval_tasks,
        test_contexts=test_contexts,
    )


def run_batch(
    folder: Path,
    experiment: Experiment,
    batch: Batch,
    keep_models: bool,
    report: Callable[[Progress], None],
) -> None:
    """Train `batch` to the end of its steps, keeping checkpoints and records in `folder`."""
    place = folder / batch.folder
    place.mkdir(parents=True, exist_ok=True)
    runs = make_runs(experiment, batch)
    identity = identity_of(experiment, batch, runs)

    def tell(message: str | None = None) -> None:
        latest = runs.evaluations[-1].performance if runs.evaluations else None
        performance = None if latest is None else float(np.mean(latest))
        report(Progress(batch, runs.train_steps, runs.seconds, performance, message))

    load_checkpoint(place, runs, identity, warn=tell)
    tell()
    alive = np.asarray(runs.state.alive)
    saved_at = told_at = time.monotonic()
    while runs.train_steps < experiment.steps:
        evaluated = len(runs.evaluations)
        runs.advance()
        if runs.train_steps >= experiment.steps:
            _evaluate_last(runs, experiment.steps)
        now = time.monotonic()
        if len(runs.evaluations) > evaluated or now - saved_at > SAVE_SECONDS:
            alive = _tell_of_stopped(runs, batch, alive, tell)
            save_checkpoint(place, runs, identity)
            write_records(place, runs, batch)
            saved_at = time.monotonic()
        if now - told_at > 0.5:
            tell()
            told_at = now
    if keep_models:
        save_models(place, experiment, batch, runs)
    tell()


def model_path(folder: Path, batch: Batch, seed: int) -> Path:
    """Where the last weights of a run are kept, and with `-best` behind it the best ones."""
    return folder / batch.folder / "models" / f"seed-{seed:05d}"


def save_models(place: Path, experiment: Experiment, batch: Batch, runs: Runs) -> None:
    """The last and the best weights of every run that was not stopped."""
    env = runs.env
    state = runs.state
    kept = {
        "": (state.training.student.params, runs.evaluations[-1].performance),
        "-best": (state.best_params, np.asarray(state.best).tolist()),
    }
    for run in np.flatnonzero(np.asarray(state.alive)):
        for suffix, (params, performance) in kept.items():
            facts = {
                "strategy": batch.contender.label,
                "seed": batch.seeds[run],
                "steps": runs.train_steps,
                "performance": performance[run],
            }
            own = jax.tree.map(lambda leaf, run=run: np.asarray(leaf[run]), params)
            policy = make_policy(own, experiment.env, env.action_low, env.action_high, facts)
            path = place / "models" / f"seed-{batch.seeds[run]:05d}{suffix}"
            save_policy(path, policy)


def identity_of(experiment: Experiment, batch: Batch, runs: Runs) -> dict[str, Any]:
    """All that decides a batch's numbers."""
    return {
        "experiment": asdict(experiment),
        "strategy": describe(runs.strategies[0]),
        "ppo": describe(runs.ppo[0]),
        "seeds": list(batch.seeds),
        "device": jax.default_backend(),
    }


def write_records(place: Path, runs: Runs, batch: Batch) -> None:
    """What `procurl export` reads."""
    content = {
        "seeds": list(batch.seeds),
        "stopped_at": np.asarray(runs.state.stopped_at).tolist(),
        "evaluations": [evaluation._asdict() for evaluation in runs.evaluations],
    }
    write_text(place / RECORDS, json.dumps(content) + "\n")


def _evaluate_last(runs: Runs, steps: int) -> None:
    """The evaluation at the last step, where none fell on it."""
    if not runs.evaluations or runs.evaluations[-1].train_steps < runs.train_steps:
        runs.evaluate(steps)


def _tell_of_stopped(
    runs: Runs, batch: Batch, alive: Any, tell: Callable[[str | None], None]
) -> Any:
    """Report the runs that have stopped since the last look."""
    now = np.asarray(runs.state.alive)
    for run in np.flatnonzero(alive & ~now):
        step = int(np.asarray(runs.state.stopped_at)[run])
        tell(
            f"{batch.contender.label}, seed {batch.seeds[int(run)]}: stopped at step {step}, "
            "a loss or a critic value is not finite; its last state is kept"
        )
    return now
