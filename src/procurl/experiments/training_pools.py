"""The pools of a comparison: given as files, drawn, or the environment's own."""

from collections.abc import Sequence
from typing import NamedTuple

from procurl.envs import EnvSource, environment_names, make_host_env, make_pool, pool_of, read_pool
from procurl.internals.checks import require_integer
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import require_same_columns
from procurl.tasks.targets import add_targets, marked_ids

PoolText = str | TaskPool  # a pool, or the text that names it


class Pools(NamedTuple):
    """The pools of a comparison."""

    training: tuple[TaskPool, ...]  # runs are spread over them: seed i plays pool i mod n
    test: TaskPool | None


def listed(pool: PoolText | Sequence[PoolText] | None) -> tuple[PoolText, ...]:
    """The training pools that a user names, whether none, one or several."""
    if pool is None:
        return ()
    return (pool,) if isinstance(pool, str | TaskPool) else tuple(pool)


def read_pools(
    env: str,
    source: EnvSource | None,
    given: Sequence[PoolText],
    drawn: int | None,
    targets: PoolText | None,
    test: PoolText | None,
) -> Pools:
    """The pools; raises ValueError if the environment cannot play their tasks.

    Args:
        env: name of the environment.
        source: how to make it; None for one of ours.
        given: training pools that the user names; without any, the environment's own.
        drawn: number of training pools to draw instead, with the seeds 0 to n − 1.
        targets: tasks to add to every training pool, if any.
        test: the test pool; None for the targets that all training pools mark, if any.
    """
    test_pool = _read(env, test)
    if drawn is not None:
        pools = [make_pool(env, seed=seed) for seed in range(drawn)]
    elif source is not None:
        texts = given or (None,)
        pools = [each if isinstance(each, TaskPool) else pool_of(source, each) for each in texts]
    else:
        pools = [pool for each in given if (pool := _read(env, each)) is not None]
        pools = pools or [make_pool(env)]
    if (marked := _read(env, targets)) is not None:
        pools = [add_targets(pool, marked) for pool in pools]
    if test_pool is None:
        test_pool = _shared_targets(pools)
    tested = [] if test_pool is None else [test_pool]
    if source is None:
        host = make_host_env(env)
        for pool in (*pools, *tested):
            host.contexts_of(pool)
    else:
        for pool in pools[1:]:
            require_same_columns("every other training pool", pool, pools[0])
        for pool in tested:
            require_same_columns("the test pool", pool, pools[0])
    _require_different(given, pools)
    return Pools(tuple(pools), test_pool)


def check_pool_options(
    env: str, given: Sequence[PoolText], drawn: int | None, seeds: int, own: bool
) -> None:
    """Raise ValueError on training pools that do not fit together, before any is read.

    Args:
        env: name of the environment.
        given: training pools that the user names.
        drawn: number of training pools to draw.
        seeds: runs per strategy.
        own: whether the environment is one that procurl can draw pools of.
    """
    if drawn is not None:
        require_integer("pools", drawn, at_least=1)
        if given:
            raise ValueError(
                f"pools cannot be combined with pool, got pools {drawn} with pool "
                f"{', '.join(map(str, given))}: pools draws new pools. Omit one of the two"
            )
        if not own:
            raise ValueError(
                f"pools can be drawn for {', '.join(environment_names())}, got environment "
                f"{env!r}, whose pool is fixed: pass several pools instead, --pool A.csv B.csv"
            )
    count = drawn or len(given)
    if count > max(seeds, 1):
        raise ValueError(
            f"there must be at least as many seeds as pools, got {seeds} seeds for {count} pools: "
            f"every pool needs a run of each strategy, so pass --seeds {count} or more"
        )


def _read(env: str, pool: PoolText | None) -> TaskPool | None:
    return pool if isinstance(pool, TaskPool | None) else read_pool(pool, env)


def _shared_targets(pools: Sequence[TaskPool]) -> TaskPool | None:
    """The targets that are marked in the pools; None if a pool has none, or others than the rest.

    All runs have the same test pool, so targets that differ between pools have no common mean.
    """
    marked = [marked_ids(pool) for pool in pools]
    if not all(ids.size for ids in marked):
        return None
    targets = [pool.subset(ids) for pool, ids in zip(pools, marked, strict=True)]
    return targets[0] if len({each.fingerprint for each in targets}) == 1 else None


def _require_different(given: Sequence[PoolText], pools: Sequence[TaskPool]) -> None:
    seen: dict[str, int] = {}
    for i, pool in enumerate(pools):
        before = seen.setdefault(pool.fingerprint, i)
        if before != i:
            raise ValueError(
                f"training pools must differ, got the same tasks twice: {given[before]} and "
                f"{given[i]}"
            )
