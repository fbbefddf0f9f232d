"""The pools of a batch of runs: one for all of them, or one for each, all of the same size.

If each run has its own pool, arrays of contexts have one more axis [w] in front.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array, Ids
from procurl.ppo.evaluation.plan import EvaluationPlan, positions
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import require_fixed_pool


class EvaluationTasks(NamedTuple):
    """What evaluations play, as contexts."""

    whole: Array  # [n, c] or [w, n, c], all tasks of the training pool
    played: Array  # [m, c] or [w, m, c], those of a usual evaluation
    test: Array | None  # [t, c] of the test pool, if there is one
    shown: Ids  # [k] ids of the tasks that snapshots show
    shown_at: Ids  # [k] their places among the tasks played


def evaluation_tasks(
    env: ArrayEnv, pools: Sequence[TaskPool], evaluation: EvaluationPlan
) -> EvaluationTasks:
    """The tasks that evaluations play.

    Args:
        env: checks and translates contexts.
        pools: a single one for all runs, or [w] one per run.
        evaluation: which tasks to play; ids are the same in every pool.
    """
    contexts = contexts_of(env, pools)
    test_pool = evaluation.test_pool
    tasks, shown = evaluation.tasks_of(pools[0])
    return EvaluationTasks(
        whole=jnp.asarray(contexts),
        played=jnp.asarray(contexts[..., tasks, :]),
        test=None if test_pool is None else jnp.asarray(env.contexts_of(test_pool)),
        shown=shown,
        shown_at=positions(shown, tasks),
    )


def contexts_of(env: ArrayEnv, pools: Sequence[TaskPool]) -> NDArray[Any]:
    """[n, c] contexts of a single pool, [w, n, c] of several."""
    found = {id(pool): env.contexts_of(pool) for pool in pools}
    each = [found[id(pool)] for pool in pools]
    return each[0] if len(each) == 1 else np.stack(each)


def bind_strategies(strategies: Sequence[Strategy], pools: Sequence[TaskPool]) -> list[Strategy]:
    """[w] the strategies, each bound to its pool; equal pairs are bound only once.

    Args:
        strategies: [w].
        pools: a single one for all runs, or [w] one per run.
    """
    own = pools if len(pools) > 1 else [*pools] * len(strategies)
    pairs = list(zip(strategies, own, strict=True))
    bound = {(id(strategy), id(pool)): strategy.bind(pool) for strategy, pool in pairs}
    return [bound[id(strategy), id(pool)] for strategy, pool in pairs]


def require_one_size(pools: Sequence[TaskPool], runs: int) -> None:
    """Raise ValueError unless there is one pool per run and all have the same number of tasks."""
    if len(pools) != runs:
        raise ValueError(f"pool must be one pool, or one for each of {runs} runs, got {len(pools)}")
    for pool in pools:
        require_fixed_pool("every entry of pool must be", pool)
    sizes = sorted({len(pool) for pool in pools})
    if len(sizes) > 1:
        raise ValueError(
            "the pools of runs that are trained side by side must have the same number of tasks, "
            f"got {' and '.join(map(str, sizes))}: train them in separate batches"
        )
