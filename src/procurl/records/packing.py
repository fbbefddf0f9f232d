"""Evaluations and pools as bytes or as JSON values and arrays; no pickled code."""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.archive import content_errors, pack_archive, unpack_archive
from procurl.records.evaluation import (
    NO_PICKS,
    Evaluation,
    Snapshot,
    column_names,
    from_scalars,
    scalar_values,
)
from procurl.tasks.pool import TaskPool

KIND_BYTES = 3  # of an array's type, such as `<i2`
ARRAYS = ("picks", *Snapshot._fields)  # of an evaluation


def pack_array(array: NDArray[Any]) -> bytes:
    """[k] numbers as bytes, integers in the smallest type that holds them."""
    array = _in_few_bytes(array)
    array = array.astype(array.dtype.newbyteorder("<"))
    return array.dtype.str.encode() + zlib.compress(array.tobytes())


def unpack_array(packed: bytes) -> NDArray[Any]:
    """[k] the array that `pack_array` packed, integers as int64."""
    array = np.frombuffer(zlib.decompress(packed[KIND_BYTES:]), packed[:KIND_BYTES].decode())
    return _in_full(array)


def _in_few_bytes(array: NDArray[Any]) -> NDArray[Any]:
    """Integers in the smallest type that holds them all, other numbers as they are."""
    if array.dtype.kind not in "iu":
        return array
    extremes = (array.min(), array.max()) if array.size else (0, 0)
    return array.astype(np.result_type(*map(np.min_scalar_type, extremes)))


def _in_full(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, with integers as int64."""
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.copy()


def pack_pool(pool: TaskPool) -> bytes:
    """A pool with its features; task objects that JSON cannot express are stored as their repr."""
    meta: dict[str, Any] = {"names": pool.names, "labels": pool.labels, "objects": None}
    arrays: dict[str, NDArray[Any]] = {
        f"feature:{name}": column for name, column in pool.features.items()
    }
    if pool.contexts is not None:
        arrays["contexts"] = pool.contexts
    elif pool.seeds is not None:
        arrays["seeds"] = pool.seeds
    else:
        tasks = [pool[task] for task in range(len(pool))]
        meta["objects"] = tasks if _is_json(tasks) else [repr(task) for task in tasks]
    return zlib.compress(pack_archive(meta, arrays), level=1)


def pool_keys(n: int) -> list[str]:
    """The keys under which a store keeps n pools: `pool`, `pool-1`, `pool-2`, …"""
    return ["pool", *(f"pool-{i}" for i in range(1, n))]


def pack_pools(pools: Sequence[TaskPool]) -> dict[str, bytes]:
    """Pools by the keys under which a store keeps them."""
    return dict(zip(pool_keys(len(pools)), map(pack_pool, pools), strict=True))


def unpack_pool(packed: bytes) -> TaskPool:
    """The pool that `pack_pool` packed."""
    with content_errors("the stored pool"):
        meta, arrays = unpack_archive(zlib.decompress(packed), "the stored pool")
        features = {
            name.removeprefix("feature:"): column
            for name, column in arrays.items()
            if name.startswith("feature:")
        }
        if "contexts" in arrays:
            return TaskPool(
                arrays["contexts"], names=meta["names"], features=features, labels=meta["labels"]
            )
        if "seeds" in arrays:
            return TaskPool.from_seeds(arrays["seeds"].tolist(), features=features)
        return TaskPool.from_objects(meta["objects"], features=features, labels=meta["labels"])


def pack_detail(evaluation: Evaluation) -> tuple[bytes | None, ...]:
    """The arrays of an evaluation in the order of `ARRAYS`; None for one that it does not have."""
    found = _arrays(evaluation)
    if found["tasks"] is not None:
        found["tasks"] = np.diff(found["tasks"], prepend=0)  # ascending ids take few bytes
    return tuple(None if found[name] is None else pack_array(found[name]) for name in ARRAYS)


def unpack_detail(evaluation: Evaluation, columns: Sequence[bytes | None]) -> Evaluation:
    """The evaluation with the arrays that `pack_detail` packed."""
    with content_errors("the stored picks and snapshots"):
        found = {
            name: None if column is None else unpack_array(column)
            for name, column in zip(ARRAYS, columns, strict=True)
        }
        if found["tasks"] is not None:
            found["tasks"] = np.cumsum(found["tasks"])
    return _with_arrays(evaluation, found)


def pack_evaluations(
    runs: Sequence[Sequence[Evaluation]],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(JSON values, arrays) of the evaluations of several runs, for a checkpoint."""
    values = [[scalar_values(evaluation) for evaluation in run] for run in runs]
    details = [_arrays(evaluation) for run in runs for evaluation in run]
    arrays = {}
    for name in ARRAYS:
        parts = [detail[name] for detail in details]
        present = [part for part in parts if part is not None]
        joined = np.concatenate(present) if present else NO_PICKS
        arrays[name] = _in_few_bytes(joined)
        lengths = [-1 if part is None else len(part) for part in parts]
        arrays[f"{name}_lengths"] = np.asarray(lengths, dtype=np.int64)
    return {"columns": column_names(), "runs": values}, arrays


def unpack_evaluations(
    plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> list[list[Evaluation]]:
    """The evaluations that `pack_evaluations` packed, by run."""
    parts = {name: _split(arrays[name], arrays[f"{name}_lengths"]) for name in ARRAYS}
    details = (dict(zip(ARRAYS, row, strict=True)) for row in zip(*parts.values(), strict=True))
    return [
        [
            _with_arrays(
                from_scalars(dict(zip(plain["columns"], values, strict=True))), next(details)
            )
            for values in run
        ]
        for run in plain["runs"]
    ]


def _arrays(evaluation: Evaluation) -> dict[str, Any]:
    """The arrays of an evaluation by name, None for those of a snapshot that was not kept."""
    shown = evaluation.snapshot
    fields = dict.fromkeys(Snapshot._fields) if shown is None else shown._asdict()
    arrays = {name: None if of is None else np.asarray(of) for name, of in fields.items()}
    picks = np.asarray(evaluation.picks)
    return {"picks": picks if picks.size else NO_PICKS, **arrays}  # an empty list has no integers


def _with_arrays(evaluation: Evaluation, arrays: Mapping[str, Any]) -> Evaluation:
    shown = {name: arrays[name] for name in Snapshot._fields}
    snapshot = None if shown["tasks"] is None else Snapshot(**shown)
    return evaluation._replace(picks=arrays["picks"], snapshot=snapshot)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _split(joined: NDArray[Any], lengths: NDArray[Any]) -> list[Any]:
    """The parts that were joined; None where the length is −1."""
    ends = np.cumsum(np.maximum(lengths, 0))
    return [
        None if length < 0 else _in_full(joined[end - length : end])
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
