"""What a teacher learns about the tasks of a pool, and how engines compute it.

`Evidence` is what a strategy receives. `episodes` sums over training episodes and `rollouts` over
the teacher's own, both as pure functions on NumPy and JAX arrays; `build_evidence` puts the parts
together. Every engine, Stable-Baselines3 and the simulated learners use the same functions.
"""

from procurl.evidence.build import build_evidence
from procurl.evidence.episodes import (
    EpisodeTotals,
    TrainingSteps,
    add_counts,
    add_episodes,
    add_scores,
    forget_tasks,
    no_episodes,
    note_best,
    note_returns,
    without_counts,
    without_open_episodes,
)
from procurl.evidence.evidence import Evidence
from procurl.evidence.returns import (
    ReturnRange,
    Scale,
    add_returns,
    measured_outcomes,
    no_returns,
    scale_of,
)
from procurl.evidence.rollouts import (
    RolloutMeans,
    average_rollouts,
    draw_without_replacement,
    measured_only,
)

__all__ = [
    "EpisodeTotals",
    "Evidence",
    "ReturnRange",
    "RolloutMeans",
    "Scale",
    "TrainingSteps",
    "add_counts",
    "add_episodes",
    "add_returns",
    "add_scores",
    "average_rollouts",
    "build_evidence",
    "draw_without_replacement",
    "forget_tasks",
    "measured_only",
    "measured_outcomes",
    "no_episodes",
    "no_returns",
    "note_best",
    "note_returns",
    "scale_of",
    "without_counts",
    "without_open_episodes",
]
