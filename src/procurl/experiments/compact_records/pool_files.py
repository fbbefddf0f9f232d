"""The training pools of compact records: named if procurl can make them, else files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from procurl.envs.registry import environment_names, make_host_env, make_pool
from procurl.experiments.own_pools import OwnPool, recognize
from procurl.records.experiment import pools_hash
from procurl.records.results import Results
from procurl.tasks.pool import TaskPool

POOL = "pool.csv"


class PoolEntries(NamedTuple):
    """Pools as records keep them."""

    entries: list[Any]  # JSON of each pool that procurl can make, None for the others
    contents: dict[str, bytes]  # of the files of the others, by name


def pool_file_names(n: int) -> list[str]:
    """The names of the files of n pools: `pool.csv`, `pool-1.csv`, …"""
    return [POOL, *(f"pool-{i}.csv" for i in range(1, n))]


def pack_pools(results: Results, folder: Path) -> PoolEntries:
    """The training pools of results; those that procurl cannot make are written to `folder`."""
    several = len(results.pools) > 1
    packed = PoolEntries([], {})
    for i, (pool, name) in enumerate(
        zip(results.pools, pool_file_names(len(results.pools)), strict=True)
    ):
        own = recognize(results.env, pool, i if several else None)
        packed.entries.append(None if own is None else _entry(own))
        if own is None:
            packed.contents[name] = _write(results.env, pool, folder / name)
    return packed


def read_pools(folder: Path, about: Mapping[str, Any]) -> list[TaskPool]:
    """The training pools of records; raises ValueError unless runs were trained on them.

    Args:
        folder: of the records.
        about: the entries of its `experiment.json`.
    """
    entries = [about["pool"], *about.get("other_pools", [])]
    names = pool_file_names(len(entries))
    pools = [_read(folder, about, *each) for each in zip(entries, names, strict=True)]
    if pools_hash(pools) != about["pool_hash"]:
        raise ValueError("the pool is not the one that the runs were trained on")
    return pools


def _entry(own: OwnPool) -> str | dict[str, Any]:
    """A pool of ours as JSON: its kind, and what else differs from the paper's pool if anything."""
    if own == OwnPool(own.kind):
        return own.kind
    if own.seed is None:
        return {"kind": own.kind, "size": own.size, "targets": own.targets}
    return {name: value for name, value in own._asdict().items() if value is not None}


def _read(folder: Path, about: Mapping[str, Any], entry: Any, name: str) -> TaskPool:
    env = about["env"]
    if entry is not None:
        return (OwnPool(entry) if isinstance(entry, str) else OwnPool(**entry)).make(env)
    if name not in about["sha256"]:
        raise ValueError(f"sha256 must name {name}: the pool is none that procurl makes")
    if _has_own_format(env):
        return make_host_env(env).read_pool(folder / name)
    return TaskPool.from_csv(folder / name)


def _write(env: str, pool: TaskPool, path: Path) -> bytes:
    if _has_own_format(env):
        make_host_env(env).write_pool(pool, path)
    else:
        pool.to_csv(path)
    return path.read_bytes()


def _has_own_format(env: str) -> bool:
    """Whether the pools of an environment are not plain CSV files of contexts."""
    return env in environment_names() and make_pool(env, size=1).contexts is None
