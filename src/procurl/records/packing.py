"""What is measured and what it was measured on, as bytes: free of pickled code."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.archive import pack_archive, unpack_archive
from procurl.records.results import Measured, Snapshot
from procurl.tasks.pool import TaskPool

KIND_BYTES = 3  # of an array's type, such as `<i2`
SCALARS = (
    "step",
    "train_steps",
    "env_steps",
    "performance",
    "test_performance",
    "seconds",
    "entropy",
    "mean_success",
)


def pack_array(array: NDArray[Any]) -> bytes:
    """[k] numbers, integers in as few bytes each as they need."""
    if array.dtype.kind in "iu":
        extremes = (array.min(), array.max()) if array.size else (0, 0)
        array = array.astype(np.result_type(*map(np.min_scalar_type, extremes)))
    array = array.astype(array.dtype.newbyteorder("<"))
    return array.dtype.str.encode() + zlib.compress(array.tobytes())


def unpack_array(packed: bytes) -> NDArray[Any]:
    """[k] what `pack_array` was given, integers as int64."""
    array = np.frombuffer(zlib.decompress(packed[KIND_BYTES:]), packed[:KIND_BYTES].decode())
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.copy()


def pack_pool(pool: TaskPool) -> bytes:
    """A pool with its features; opaque tasks that JSON cannot express become their description."""
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


def unpack_pool(packed: bytes) -> TaskPool:
    """The pool that `pack_pool` was given."""
    meta, arrays = unpack_archive(zlib.decompress(packed), "the pool")
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


def pack_measured(
    measured: Sequence[Sequence[Measured]],
) -> tuple[list[list[Any]], dict[str, NDArray[Any]]]:
    """(JSON values, arrays) of the evaluations of several runs, for a checkpoint."""
    plain = [[[getattr(m, name) for name in SCALARS] for m in run] for run in measured]
    flat = [m for run in measured for m in run]
    snapshots = [m.snapshot for m in flat]
    columns: dict[str, list[NDArray[Any] | None]] = {"picks": [m.picks for m in flat]}
    for field in Snapshot._fields:
        columns[field] = [None if s is None else getattr(s, field) for s in snapshots]
    arrays = {}
    for name, parts in columns.items():
        kind = np.float32 if name in ("probabilities", "success", "achieved") else np.int64
        present = [part for part in parts if part is not None]
        lengths = [-1 if part is None else len(part) for part in parts]
        arrays[name] = np.concatenate([np.zeros(0, kind), *present]).astype(kind)
        arrays[f"{name}_lengths"] = np.asarray(lengths, dtype=np.int64)
    return plain, arrays


def unpack_measured(
    plain: list[list[Any]], arrays: dict[str, NDArray[Any]]
) -> list[list[Measured]]:
    """What `pack_measured` was given."""
    columns = {
        name: _split(arrays[name], arrays[f"{name}_lengths"])
        for name in ("picks", *Snapshot._fields)
    }
    place = 0
    measured = []
    for run in plain:
        mine = []
        for scalars in run:
            fields = {name: columns[name][place] for name in Snapshot._fields}
            snapshot = None if fields["tasks"] is None else Snapshot(**fields)
            rest = {"picks": columns["picks"][place], "snapshot": snapshot}
            mine.append(Measured(**dict(zip(SCALARS, scalars, strict=True)), **rest))
            place += 1
        measured.append(mine)
    return measured


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _split(together: NDArray[Any], lengths: NDArray[Any]) -> list[Any]:
    """The parts that `together` was made of; None where the length is −1."""
    ends = np.cumsum(np.maximum(lengths, 0))
    return [
        None if length < 0 else together[end - length : end].copy()
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
