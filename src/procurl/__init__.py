"""procurl decides which task a reinforcement-learning agent should train on next."""

from procurl.curriculum import Curriculum, Metrics
from procurl.evidence import Evidence
from procurl.pool import TaskPool
from procurl.schedules import LinearSchedule
from procurl.strategies import (
    IID,
    PLR,
    SPDL,
    Argmax,
    Easy,
    Hard,
    ProCuRL,
    SPaCE,
    SPaCEAlt,
    Strategy,
    TopRollouts,
    make_strategy,
    register_strategy,
    strategy_names,
)
from procurl.success import (
    CriticSuccess,
    NoisySuccess,
    OutcomeSuccess,
    RolloutSuccess,
    Success,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "IID",
    "PLR",
    "SPDL",
    "Argmax",
    "CriticSuccess",
    "Curriculum",
    "Easy",
    "Evidence",
    "Hard",
    "LinearSchedule",
    "Metrics",
    "NoisySuccess",
    "OutcomeSuccess",
    "ProCuRL",
    "RolloutSuccess",
    "SPaCE",
    "SPaCEAlt",
    "Strategy",
    "Success",
    "TaskPool",
    "TopRollouts",
    "make_strategy",
    "register_strategy",
    "strategy_names",
]
