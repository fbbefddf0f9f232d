"""Data of the page's explorer: the curriculum of single runs at selected moments of training.

To limit the size of the page, it shows the first seeds of each strategy at evaluations spread
evenly over training, at most `CELLS` numbers per measure.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.experiments.analysis.trends import BLOCK, BLOCKS, Features, features_of, trend_of
from procurl.experiments.report.encoding import column, pack, round_digits
from procurl.experiments.report.task_pictures import Pictures, task_pictures
from procurl.records.evaluation import SNAPSHOT_TASKS, Evaluation, Snapshot
from procurl.records.results import Results, RunId
from procurl.tasks.pool import TaskPool

CELLS = 300_000  # tasks × evaluations × runs
MOST_STRATEGIES = 24
MOST_SEEDS = 8
MOST_EVALUATIONS = 40
WANTED_EVALUATIONS = 20  # before another seed is added
MOST_PICKED = 6  # tasks at each evaluation
MOST_PICTURES = 1_800
MOST_FEATURES = 8
MOST_BLOCKS = 600  # of a trend; more are merged
LONGEST_TEXT = 120  # characters of a task without numbers


class Selection(NamedTuple):
    """The runs shown, and the number of evaluations of each."""

    runs: list[RunId]
    evaluations: int


def select_runs(results: Results) -> Selection:
    """The first seeds of each strategy, as many as `CELLS` allows; of several pools, the first."""
    by_label: dict[str, list[RunId]] = {}
    for run in results.runs:
        if results.evaluations.get(run) and results.pool_of(run) is results.pool:
            by_label.setdefault(run.label, []).append(run)
    shown = list(by_label.values())[:MOST_STRATEGIES]
    if not shown:
        return Selection([], 0)
    tasks = min(len(results.pool), SNAPSHOT_TASKS)
    moments = max(len(results.evaluations[run]) for runs in shown for run in runs)
    wanted = min(moments, WANTED_EVALUATIONS)
    seeds = min(MOST_SEEDS, max(1, CELLS // (len(shown) * tasks * wanted)))
    seeds = min(seeds, max(len(runs) for runs in shown))
    evaluations = min(MOST_EVALUATIONS, max(2, CELLS // (len(shown) * tasks * seeds)))
    return Selection([run for runs in shown for run in runs[:seeds]], evaluations)


def explorer_payload(results: Results) -> dict[str, Any]:
    """All data of the explorer."""
    chosen = select_runs(results)
    features = features_of(results.pool)
    features = Features(features.names[:MOST_FEATURES], features.values[:, :MOST_FEATURES])
    block = BLOCKS.get(results.env, BLOCK)
    labels = list(dict.fromkeys(run.label for run in results.runs if results.evaluations.get(run)))
    runs: list[dict[str, Any]] = []
    followed: dict[bytes, NDArray[np.int64]] = {}
    for run in chosen.runs:
        detail = results.detail(run)
        runs.append(
            {
                "strategy": labels.index(run.label),
                "seed": run.seed,
                "stopped": results.stopped.get(run),
                "moments": _moments(detail, chosen.evaluations, followed),
                "trend": _trend(run, detail, features, block),
            }
        )
    pictures = _pictures(results, [at for run in runs for at in run["moments"]])
    picked = {task for run in runs for at in run["moments"] for task, _ in at["picked"]}
    tasks = sorted(picked.union(*(ids.tolist() for ids in followed.values())))
    return {
        "runs": runs,
        "sets": [ids.tolist() for ids in followed.values()],
        "tasks": tasks,
        "features": _features(results.pool, features, tasks),
        "texts": _texts(results.pool, tasks, bool(features.names)),
        "pictures": pictures.by_task,
        "missing": pictures.missing,
    }


def _features(pool: TaskPool, features: Features, tasks: list[int]) -> list[dict[str, Any]]:
    """Each feature's values, and its name, mean and quartiles for the trends."""
    contexts = pool.contexts if pool.contexts is not None else np.zeros((len(pool), 0))
    return [
        {
            "name": (pool.names[j] if j < len(pool.names) else name).replace("_", " "),
            "trend": name.replace("_", " "),
            "mean": round_digits(float(features.values[:, j].mean())),
            "values": column((contexts if j < len(pool.names) else features.values)[tasks, j]),
            "spread": column(np.quantile(features.values[:, j], [0.25, 0.75])),
        }
        for j, name in enumerate(features.names)
    ]


def _trend(
    run: RunId, detail: Sequence[Evaluation], features: Features, block: int
) -> dict[str, Any] | None:
    """The features of the picked tasks over training; None without a full block."""
    blocks = sum(len(at.picks) for at in detail) // block
    if not blocks:
        return None
    size = block * -(-blocks // MOST_BLOCKS)
    trend = trend_of(run.label, run.seed, detail, features, size)
    return {
        "block": size,
        "steps": pack(trend.steps),
        "means": [pack(feature) for feature in trend.means.T],
    }


def _moments(
    detail: Sequence[Evaluation], most: int, followed: dict[bytes, NDArray[np.int64]]
) -> list[dict[str, Any]]:
    """Evenly spaced evaluations; picks of skipped ones count towards the next."""
    if not detail:
        return []
    count = min(most, len(detail))
    places = np.unique(np.linspace(0, len(detail) - 1, count).round().astype(int))
    moments = []
    for start, place in zip([-1, *places[:-1]], places, strict=True):
        at = detail[place]
        picks = np.concatenate([detail[k].picks for k in range(start + 1, place + 1)])
        moments.append(
            {
                "step": at.step,
                "performance": round_digits(at.performance),
                "estimate": round_digits(at.mean_success),
                "entropy": round_digits(at.entropy),
                "picks": len(picks),
                "picked": _most_picked(picks),
                "snapshot": _snapshot_payload(at.snapshot, followed),
            }
        )
    return moments


def _pictures(results: Results, moments: Sequence[dict[str, Any]]) -> Pictures:
    """Pictures of the most picked tasks; with too many, fewer tasks are listed."""
    by_rank: list[list[int]] = [[] for _ in range(MOST_PICKED)]
    for at in moments:
        for rank, (task, _) in enumerate(at["picked"]):
            by_rank[rank].append(task)
    drawn: dict[int, None] = {}
    listed = 0
    for tasks in by_rank:
        more = drawn | dict.fromkeys(tasks)
        if listed and len(more) > MOST_PICTURES:
            break
        drawn, listed = more, listed + 1
    pictures = task_pictures(results.env, results.pool, list(drawn)[:MOST_PICTURES])
    if pictures.by_task:
        for at in moments:
            at["picked"] = at["picked"][:listed]
    return pictures


def _most_picked(picks: NDArray[np.int64]) -> list[tuple[int, int]]:
    """(task, count) pairs, the most picked first."""
    tasks, times = np.unique(picks, return_counts=True)
    order = np.argsort(-times, kind="stable")[:MOST_PICKED]
    return list(zip(tasks[order].tolist(), times[order].tolist(), strict=True))


def _snapshot_payload(
    snapshot: Snapshot | None, followed: dict[bytes, NDArray[np.int64]]
) -> dict[str, Any] | None:
    """The distribution, estimates and returns; tasks are given by the index of their set."""
    if snapshot is None or not len(snapshot.tasks):
        return None
    m = len(snapshot.tasks)
    rows = np.unique(np.linspace(0, m - 1, min(m, SNAPSHOT_TASKS)).round().astype(int))
    tasks = np.asarray(snapshot.tasks, dtype=np.int64)[rows]
    key = tasks.tobytes()
    followed.setdefault(key, tasks)
    success = snapshot.success
    guessed = success is not None and bool(np.isfinite(success).any())
    return {
        "set": list(followed).index(key),
        "p": pack(snapshot.probabilities[rows]),
        "s": pack(success[rows]) if success is not None and guessed else None,
        "a": pack(snapshot.returns[rows]),
    }


def _texts(pool: TaskPool, tasks: Sequence[int], numbers: bool) -> dict[int, str]:
    """Labels of tasks, or the task itself if it has neither label nor numbers."""
    if pool.labels is not None:
        return {task: pool.labels[task][:LONGEST_TEXT] for task in tasks}
    if numbers:
        return {}
    if pool.seeds is not None:
        return {task: f"seed {pool.seeds[task]}" for task in tasks}
    return {task: repr(pool[task])[:LONGEST_TEXT] for task in tasks}
