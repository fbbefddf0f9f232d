"""Results that nobody trained, with all that a report shows of the curriculum."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from procurl.envs import make_pool
from procurl.records.evaluation import Evaluation, Snapshot
from procurl.records.results import Results, RunId
from procurl.tasks.pool import TaskPool

LABELS = ("procurl-val", "iid", "procurl-env", "plr")
NO_PICKS = np.zeros(0, dtype=np.int64)


def report_results(
    labels: Sequence[str] = ("procurl-val", "iid"),
    seeds: int = 3,
    evaluations: int = 6,
    pool: TaskPool | None = None,
    env: str = "pointmass-s",
    steps: int = 60_000,
    picks: int = 250,
    snapshots: bool = True,
    followed: int | None = None,
    **fields: Any,
) -> Results:
    """Runs that do better the earlier their strategy is named, the same for the same arguments.

    Args:
        labels: of the contenders; `iid` estimates no success.
        seeds: of each.
        evaluations: of each run, evenly over `steps`.
        pool: the environment's own by default.
        env: its name, which need not be known.
        steps: of training.
        picks: episodes between two evaluations.
        snapshots: whether they were kept.
        followed: tasks in a snapshot, all by default.
        fields: of `Results`, in place of what stands here.
    """
    pool = make_pool(env) if pool is None else pool
    runs = [RunId(*_parts(label), seed) for label in labels for seed in range(seeds)]
    tasks = np.linspace(0, len(pool) - 1, followed or len(pool)).astype(np.int64)

    def detail(run: RunId) -> list[Evaluation]:
        place = list(labels).index(run.label)
        rng = np.random.default_rng([place, run.seed])
        found = []
        for k in range(1, evaluations + 1):
            p = rng.dirichlet(np.ones(len(tasks)))
            returns = (rng.random(len(tasks)) < k / evaluations / (place + 1)).astype(np.float32)
            success = None if run.strategy == "iid" else rng.random(len(tasks), dtype=np.float32)
            found.append(
                Evaluation(
                    step=steps * k // evaluations,
                    train_steps=steps * k // evaluations,
                    env_steps=steps * k // evaluations * (place + 1),
                    performance=float(returns.mean()),
                    test_performance=None,
                    seconds=0.5 * k,
                    entropy=float(-(p * np.log(p)).sum()),
                    mean_success=None if success is None else float(success.mean()),
                    picks=rng.integers(len(pool), size=picks),
                    snapshot=Snapshot(tasks, p.astype(np.float32), success, returns)
                    if snapshots
                    else None,
                )
            )
        return found

    given: dict[str, Any] = {
        "evaluations": {
            run: [at._replace(picks=NO_PICKS, snapshot=None) for at in detail(run)] for run in runs
        },
        "stopped": {},
        "facts": {"command": f"procurl compare {env}", "machine": {"processor": "a machine"}},
        "detail": detail,
    }
    return Results(env, "jax", steps, 1, pool, runs, **(given | fields))


def _parts(label: str) -> tuple[str, str]:
    strategy, _, setting = label.partition(":")
    return strategy, setting
