"""Checkpoints: everything that changes in a batch of runs, in two files that take turns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from procurl.archive import read_archive, write_archive
from procurl.ppo.runs import Evaluation, Runs

SLOTS = ("checkpoint-a", "checkpoint-b")


def save_checkpoint(folder: Path, runs: Runs, identity: dict[str, Any]) -> None:
    """Write the state over the older of the two checkpoints, so that one is always whole.

    Args:
        folder: exists already.
        runs: between two updates.
        identity: what the runs are; `load_checkpoint` accepts only the same.
    """
    meta = {
        "identity": identity,
        "updates": runs.updates,
        "seconds": runs.seconds,
        "evaluations": [evaluation._asdict() for evaluation in runs.evaluations],
    }
    older = min((folder / slot for slot in SLOTS), key=_updates)
    write_archive(older, meta, _arrays(runs.state))


def load_checkpoint(
    folder: Path, runs: Runs, identity: dict[str, Any], warn: Callable[[str], None]
) -> bool:
    """Go on from the newest whole checkpoint; False if there is none.

    A damaged one is reported through `warn` and the one before it is used.
    """
    for left_over in folder.glob(".checkpoint-*"):  # of a process that was killed while writing
        left_over.unlink()
    found = []
    for slot in SLOTS:
        path = folder / slot
        if path.exists():
            try:
                found.append(read_archive(path))
            except ValueError as error:
                warn(f"{error}; it is left out")
    if not found:
        return False
    meta, arrays = max(found, key=lambda pair: int(pair[0]["updates"]))
    if meta["identity"] != json.loads(json.dumps(identity)):
        raise ValueError(f"{folder}: the checkpoint belongs to runs with other settings")
    runs.state = _restored(runs.state, arrays)
    runs.updates, runs.seconds = meta["updates"], meta["seconds"]
    runs.evaluations = [Evaluation(**evaluation) for evaluation in meta["evaluations"]]
    return True


def _updates(path: Path) -> int:
    """How far a checkpoint is, −1 where there is none or a damaged one."""
    try:
        return int(read_archive(path)[0]["updates"])
    except (OSError, ValueError):
        return -1


def _arrays(state: Any) -> dict[str, Any]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def _restored(state: Any, arrays: dict[str, Any]) -> Any:
    """`state` with its leaves taken from `arrays`, which must match it name by name."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(state)
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    if set(names) != set(arrays):
        raise ValueError("the checkpoint holds other arrays than these runs have")
    return jax.tree_util.tree_unflatten(structure, [jnp.asarray(arrays[name]) for name in names])
