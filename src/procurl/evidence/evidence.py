"""What a teacher sees: numbers about every task of the pool, and nothing about environments."""

from typing import NamedTuple

from procurl.evidence.returns import Scale
from procurl.internals.arrays import Array


class Evidence(NamedTuple):
    """What an engine has measured on the pool's n tasks; a field that it did not measure is None.

    Counts (`wins`, `losses`, `partial`, `played`, `rollouts`) cover the time since the previous
    evidence. Engines sum over episodes, so every field but `step` and `scale` has one entry per
    task and strategies never scatter.
    """

    step: Array  # []  training steps so far
    values: Array | None = None  # [n] the critic's V(s0), not normalized
    rollout_success: Array | None = None  # [n] success rate or mean return of teacher rollouts
    wins: Array | None = None  # [n] training episodes won; partial wins by return
    losses: Array | None = None  # [n] training episodes lost, likewise
    score: Array | None = None  # [n] mean transition score of the task's latest training episode
    played: Array | None = None  # [n] training episodes that ended on the task
    rollout_top: Array | None = None  # [n] mean of the best teacher rollouts (TopRollouts)
    noise: Array | None = None  # [n] uniform in [-1, 1]; drawn by the curriculum or the engine
    rollouts: Array | None = None  # [n] teacher rollouts on the task; None: some on every task
    best_return: Array | None = None  # [n] best training return on the task so far, 0 before one
    partial: Array | None = None  # [n] sum of w·(1 − w) over training episodes of which w was won
    scale: Scale | None = None  # how wins and losses are measured, from the returns seen so far
