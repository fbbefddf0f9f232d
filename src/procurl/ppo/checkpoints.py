"""Checkpoints: everything that changes in a batch of runs, including its evaluations."""

from collections.abc import Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.curriculum.checks import require_same
from procurl.internals.arrays import NamedArrays
from procurl.internals.state_arrays import add_prefix, take_prefix
from procurl.ppo.picks import PickLog
from procurl.ppo.runs import Runs
from procurl.records.evaluation import Evaluation
from procurl.records.packing import pack_evaluations, unpack_evaluations
from procurl.tasks.space import TaskSpace

EVALUATIONS = "evaluations/"
CANDIDATES = "candidates/"  # of a space


class Resumable(Protocol):
    """Runs of our PPO, whatever steps their environment."""

    state: Any
    updates: int
    seconds: float
    picks: PickLog


def checkpoint_of(runs: Runs) -> tuple[dict[str, Any], NamedArrays]:
    """(JSON values, arrays) from which `restore` continues; `runs` are between two updates."""
    meta, arrays = pack_progress(runs, runs.evaluations)
    if runs.candidates is not None:
        meta["space"] = _space_of(runs)
        arrays |= add_prefix(CANDIDATES, runs.candidates.arrays())
    return meta, arrays


def restore(runs: Runs, meta: dict[str, Any], arrays: NamedArrays) -> None:
    """Continue from a checkpoint of runs with the same settings."""
    require_same("pool", {"space": _space_of(runs)}, {"space": meta.get("space")})
    if runs.candidates is not None:
        runs.candidates.restore(take_prefix(CANDIDATES, dict(arrays)))
        runs.take_candidates()
    runs.evaluations = unpack_progress(runs, meta, arrays)


def _space_of(runs: Runs) -> dict[str, Any] | None:
    """What distinguishes the space of the runs from others; None for a fixed pool."""
    return runs.pool.describe() if isinstance(runs.pool, TaskSpace) else None


def pack_progress(
    runs: Resumable, evaluations: Sequence[Sequence[Evaluation]]
) -> tuple[dict[str, Any], NamedArrays]:
    """(JSON values, arrays) of w runs and their evaluations [w]."""
    scalars, columns = pack_evaluations(evaluations)
    meta = {"updates": runs.updates, "seconds": runs.seconds, "evaluations": scalars}
    arrays = {f"state{name}": array for name, array in _leaves(runs.state)}
    arrays |= {f"{EVALUATIONS}{name}": column for name, column in columns.items()}
    picks = runs.picks.peek()
    arrays["picks"] = np.concatenate(picks).astype(np.int32)
    arrays["pick_counts"] = np.asarray([len(ids) for ids in picks])
    return meta, arrays


def unpack_progress(
    runs: Resumable, meta: dict[str, Any], arrays: NamedArrays
) -> list[list[Evaluation]]:
    """Set `runs` to where `pack_progress` found them, and return their evaluations [w]."""
    named = _leaves(runs.state)
    if {f"state{name}" for name, _ in named} != {n for n in arrays if n.startswith("state")}:
        raise ValueError("the checkpoint does not match these runs: its arrays have other names")
    for name, here in named:
        saved = arrays[f"state{name}"]
        if saved.shape != here.shape or saved.dtype != here.dtype:
            raise ValueError(
                f"the checkpoint does not match these runs: its {name} has {saved.dtype}"
                f"{list(saved.shape)}, expected {here.dtype}{list(here.shape)}"
            )
    leaves = [jnp.asarray(arrays[f"state{name}"]) for name, _ in named]
    runs.state = jax.tree.unflatten(jax.tree.structure(runs.state), leaves)
    runs.updates, runs.seconds = meta["updates"], meta["seconds"]
    ends = np.cumsum(arrays["pick_counts"])[:-1]
    runs.picks.put_back(np.split(arrays["picks"], ends))
    columns = {n[len(EVALUATIONS) :]: a for n, a in arrays.items() if n.startswith(EVALUATIONS)}
    return unpack_evaluations(meta["evaluations"], columns)


def _leaves(state: Any) -> list[tuple[str, NDArray[Any]]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return [(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in leaves]
