"""The teacher's part of an evaluation, for w runs side by side."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Array
from procurl.ppo import programs
from procurl.ppo.teacher import Teaching
from procurl.records.evaluation import Snapshot


def teacher_scalars(strategies: Any, teaching: Teaching) -> list[tuple[float, float | None]]:
    """[w] (entropy of the distribution over tasks, mean of the success estimates).

    The mean is None if the strategy has no estimates.

    Args:
        strategies: of w runs, stacked.
        teaching: of w runs.
    """
    entropy, success = programs.curriculum_metrics(strategies, teaching)
    both = zip(np.asarray(entropy).tolist(), np.asarray(success).tolist(), strict=True)
    return [(entropy, None if math.isnan(mean) else mean) for entropy, mean in both]


def snapshots(
    strategies: Any, teaching: Teaching, tasks: NDArray[Any], returns: Array
) -> list[Snapshot]:
    """[w] teacher and student now, on some tasks.

    Args:
        strategies: of w runs, stacked.
        teaching: of w runs.
        tasks: [m] ids.
        returns: [w, m] mean returns of the evaluation's episodes on them.
    """
    probabilities, success = programs.task_views(strategies, teaching, jnp.asarray(tasks))
    probabilities = np.asarray(probabilities, dtype=np.float32)
    success = None if success is None else np.asarray(success, dtype=np.float32)
    returns = np.asarray(returns, dtype=np.float32)
    return [
        Snapshot(
            tasks=tasks.astype(np.int64),
            probabilities=probabilities[run],
            success=None if success is None else success[run],
            returns=returns[run],
        )
        for run in range(len(returns))
    ]
