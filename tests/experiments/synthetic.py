"""Results that nobody trained: curves of a known shape, and tasks picked by a known drift."""

import numpy as np

from procurl.envs import make_pool
from procurl.records.evaluation import Evaluation
from procurl.records.results import Results, RunId

HEIGHTS = {
    "procurl-env": 0.84,
    "procurl-env-4": 0.71,
    "procurl-env-2": 0.6,
    "procurl-val": 0.71,
    "procurl-out": 0.74,
    "space": 0.29,
    "space-alt": 0.46,
    "spdl": 0.52,
    "plr": 0.69,
    "iid": 0.36,
    "easy": 0.5,
    "hard": 0.01,
}
ROLLOUTS = ("procurl-env", "easy", "hard")
PICKS = 250  # per evaluation


def synthetic_results(
    labels=tuple(HEIGHTS),
    seeds=8,
    env="pointmass-s",
    steps=1_000_000,
    every=25_000,
    kind="uniform",
    test=True,
    picks=PICKS,
):
    """Results with a logistic learning curve per run, and picks that drift to harder tasks."""
    pool = make_pool(env, kind)
    runs = [RunId(*_parts(label), seed) for label in labels for seed in range(seeds)]
    hardness = np.argsort(_hardness(pool), kind="stable")
    detailed = {run: _evaluations(run, steps, every, hardness, test, picks) for run in runs}
    nothing = np.zeros(0, dtype=np.int64)
    return Results(
        env=env,
        engine="jax",
        steps=steps,
        n_envs=1,
        pool=pool,
        runs=runs,
        evaluations={
            run: [at._replace(picks=nothing) for at in found] for run, found in detailed.items()
        },
        stopped={},
        facts={"command": "procurl compare", "machine": {"processor": "nobody's", "cores": 2}},
        detail=detailed.__getitem__,
    )


def _parts(label):
    strategy, _, setting = label.partition(":")
    return strategy, setting


def _hardness(pool):
    if pool.contexts is not None:
        return np.abs(pool.contexts[:, 0]) - pool.contexts[:, 1]
    return pool.features["solution_length"]


def _evaluations(run, steps, every, hardness, test, picks):
    rng = np.random.default_rng([run.seed, *map(ord, run.label)])
    height = np.clip(HEIGHTS.get(run.strategy, 0.5) + rng.normal(0, 0.2), 0, 1)
    middle = steps * rng.uniform(0.1, 0.4)
    factor = 17 if run.strategy in ROLLOUTS else 1
    found = []
    for step in range(every, steps + 1, every):
        value = height / (1 + np.exp(-(step - middle) / (steps / 15)))
        value = float(np.clip(round(value + rng.normal(0, 0.02), 2), 0, 1))
        center = 0.5 if run.strategy == "iid" else 0.2 + 0.6 * step / steps
        width = 0.5 if run.strategy == "iid" else 0.2
        share = np.clip(rng.uniform(center - width, center + width, picks), 0, 1 - 1e-9)
        found.append(
            Evaluation(
                step=step,
                train_steps=-(-step // 1024) * 1024,
                env_steps=step * factor,
                performance=value,
                test_performance=round(value * 0.9, 4) if test else None,
                seconds=round(step / 50_000 * factor, 3),
                entropy=round(float(rng.uniform(3, 4.6)), 4),
                mean_success=None if run.strategy == "iid" else value,
                picks=hardness[(share * len(hardness)).astype(int)],
                snapshot=None,
            )
        )
    return found
