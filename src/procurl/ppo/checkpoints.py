"""Checkpoints: everything that changes in a batch of runs, including its evaluations."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.ppo.picks import PickLog
from procurl.ppo.runs import Evaluation, Followed

Arrays = dict[str, NDArray[Any]]
FOLLOWED = ("probabilities", "success", "achieved")


class Resumable(Protocol):
    """The attributes that a checkpoint saves and restores."""

    state: Any
    updates: int
    seconds: float
    evaluations: list[Evaluation]
    picks: PickLog


def checkpoint_of(runs: Resumable) -> tuple[dict[str, Any], Arrays]:
    """(JSON values, arrays) for `restore`; `runs` must be between two updates."""
    scalars = [
        {name: value for name, value in e._asdict().items() if name not in ("picks", "followed")}
        for e in runs.evaluations
    ]
    meta = {"updates": runs.updates, "seconds": runs.seconds, "evaluations": scalars}
    state = {f"state{name}": array for name, array in _leaves(runs.state)}
    return meta, state | _measured_arrays(runs)


def restore(runs: Resumable, meta: dict[str, Any], arrays: Arrays) -> None:
    """Resume from a checkpoint of runs with the same settings."""
    named = _leaves(runs.state)
    if {f"state{name}" for name, _ in named} != {n for n in arrays if n.startswith("state")}:
        raise ValueError("the checkpoint does not match these runs: its arrays have other names")
    leaves = [jnp.asarray(arrays[f"state{name}"]) for name, _ in named]
    runs.state = jax.tree.unflatten(jax.tree.structure(runs.state), leaves)
    runs.updates, runs.seconds = meta["updates"], meta["seconds"]
    *picks, held = _parted(arrays["picks"], arrays["pick_counts"])
    runs.picks.put_back(held)
    runs.evaluations = [
        Evaluation(**scalars, picks=mine, followed=_followed(arrays, i))
        for i, (scalars, mine) in enumerate(zip(meta["evaluations"], picks, strict=True))
    ]


def _leaves(state: Any) -> list[tuple[str, NDArray[Any]]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return [(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in leaves]


def _measured_arrays(runs: Resumable) -> Arrays:
    """The picks of all k evaluations and since then, and the k views of followed tasks."""
    rows: list[Sequence[Any]] = [*(e.picks for e in runs.evaluations), runs.picks.held()]
    picks = [ids.astype(np.int32) for ids in chain.from_iterable(rows)]
    arrays = {
        "picks": np.concatenate(picks),
        "pick_counts": np.asarray([[len(ids) for ids in row] for row in rows]),
    }
    views = [e.followed for e in runs.evaluations if e.followed is not None]
    if views:
        arrays["followed.tasks"] = views[0].tasks
        for name in FOLLOWED:
            if getattr(views[0], name) is not None:
                arrays[f"followed.{name}"] = np.stack([getattr(view, name) for view in views])
    return arrays


def _parted(together: NDArray[Any], counts: NDArray[Any]) -> list[list[NDArray[np.int64]]]:
    """[k + 1][w] the concatenated picks, split by `counts` [k + 1, w]."""
    ends = np.cumsum(counts).reshape(counts.shape)
    return [
        [together[end - count : end].astype(np.int64) for end, count in zip(*row, strict=True)]
        for row in zip(ends, counts, strict=True)
    ]


def _followed(arrays: Arrays, i: int) -> Followed:
    success = arrays.get("followed.success")
    return Followed(
        tasks=arrays["followed.tasks"],
        probabilities=arrays["followed.probabilities"][i],
        success=None if success is None else success[i],
        achieved=arrays["followed.achieved"][i],
    )
