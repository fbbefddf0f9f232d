"""The paper's two theorems as programs: learners whose best next task is known exactly."""

from procurl.theory.learners import AbstractLearner, EpisodeOutcome, Learner, ReinforceLearner
from procurl.theory.simulation import Simulation, simulate, steps_to_reach

__all__ = [
    "AbstractLearner",
    "EpisodeOutcome",
    "Learner",
    "ReinforceLearner",
    "Simulation",
    "simulate",
    "steps_to_reach",
]
