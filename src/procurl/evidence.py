"""What a teacher gets to see: numbers about every task of the pool, and nothing of environments."""

from typing import NamedTuple

from procurl.internals.arrays import Array


class Evidence(NamedTuple):
    """What an engine has learned about the pool's n tasks; a field that it did not measure is None.

    Counts (`wins`, `losses`, `played`) cover the time since the previous evidence. The engines do
    the sums over episodes, so every field is dense and strategies never scatter.
    """

    step: Array  # []   training steps so far
    values: Array | None = None  # [n]  critic's V(s0), as the critic gives it
    rollout_success: Array | None = (
        None  # [n]  success rate or mean return of the teacher's rollouts
    )
    wins: Array | None = None  # [n]  training episodes won; others count by normalized return
    losses: Array | None = None  # [n]  training episodes lost, likewise
    score: Array | None = None  # [n]  score of the task's latest training episode (PLR)
    played: Array | None = None  # [n]  training episodes that ended on the task
    rollout_top: Array | None = (
        None  # [n]  mean of the best of the teacher's rollouts (TopRollouts)
    )
    noise: Array | None = None  # [n]  uniform in [-1, 1]; handed in by whoever owns the randomness
