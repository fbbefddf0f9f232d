"""The paper's two theorems as programs: learners whose best next task is known exactly."""

from procurl.theory.learners import AbstractLearner, EpisodeOutcome, Learner, ReinforceLearner
from procurl.theory.simulation import Simulation, episodes_to_reach, simulate

__all__ = [
    "AbstractLearner",
    "EpisodeOutcome",
    "Learner",
    "ReinforceLearner",
    "Simulation",
    "episodes_to_reach",
    "simulate",
]
