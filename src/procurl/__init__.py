"""procurl decides which task a reinforcement-learning agent should train on next."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from procurl.curriculum import Curriculum, Metrics
from procurl.evidence import Evidence
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
from procurl.strategies.schedules import LinearSchedule
from procurl.success import (
    CriticSuccess,
    NoisySuccess,
    OutcomeSuccess,
    RolloutSuccess,
    Success,
)
from procurl.tasks.pool import TaskPool

if TYPE_CHECKING:
    from procurl.envs.adapters.task_env import TaskEnv
    from procurl.policy import load_policy, make_policy, save_policy

__version__ = "0.1.0.dev0"

# These need more than NumPy, or are needed by few.
_LOADED_WHEN_ASKED = {
    "TaskEnv": "procurl.envs.adapters.task_env",
    "load_policy": "procurl.policy.policy",
    "make_policy": "procurl.policy.policy",
    "save_policy": "procurl.policy.policy",
}

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
    "TaskEnv",
    "TaskPool",
    "TopRollouts",
    "load_policy",
    "make_policy",
    "make_strategy",
    "register_strategy",
    "save_policy",
    "strategy_names",
]


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED:
        return getattr(import_module(_LOADED_WHEN_ASKED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
