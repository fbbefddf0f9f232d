"""procurl decides which task a reinforcement-learning agent should train on next.

The package reads upwards. `internals` holds arrays, checks and settings; `tasks` the pools; then
`evidence` (what is measured), `success` (estimates from it), `strategies` (distributions over
tasks) and `curriculum`, the object to hold. `theory` simulates learners. Environments (`envs`),
training engines (`ppo`, `sb3`, `trl`), a PyTorch sampler (`torch_sampler`), `experiments` and `cli`
are built on these and need more than NumPy.
"""

from typing import TYPE_CHECKING

from procurl.curriculum import Curriculum, Metrics
from procurl.evidence import Evidence, Scale
from procurl.internals.arrays import Array, namespace
from procurl.internals.lazy import lazy_names
from procurl.strategies import (
    ALPGMM,
    CURROT,
    IID,
    PLR,
    SFL,
    SPDL,
    Anneal,
    Argmax,
    AutoProCuRL,
    Condition,
    Ease,
    Easy,
    Gain,
    GroupProCuRL,
    Hard,
    Hardness,
    Learnability,
    LearningProgress,
    LinearSchedule,
    Mix,
    NoProgress,
    Potential,
    ProCuRL,
    ProCuRLArgmax,
    ProCuRLTarget,
    Proportional,
    Proximal,
    Sampler,
    Schedule,
    Scheduled,
    Softmax,
    SPaCE,
    SPaCEAlt,
    Stage,
    Stages,
    Steps,
    Strategy,
    SuccessAbove,
    SuccessStrategy,
    Switch,
    Target,
    TopRollouts,
    TopTasks,
    make_strategy,
    register_strategy,
    strategy_names,
)
from procurl.success import (
    CriticSuccess,
    JointSuccess,
    OutcomeSuccess,
    RolloutPlan,
    RolloutSuccess,
    Success,
    keep_finite,
)
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import TaskSpace
from procurl.tasks.targets import add_targets

if TYPE_CHECKING:
    from procurl.envs.adapters.curriculum_env import CurriculumVectorEnv as CurriculumVectorEnv
    from procurl.envs.adapters.task_env import TaskEnv as TaskEnv
    from procurl.internals.pytrees import register_settings as register_settings
    from procurl.internals.version import __version__ as __version__
    from procurl.policy import load_policy as load_policy
    from procurl.policy import make_policy as make_policy
    from procurl.policy import save_policy as save_policy
    from procurl.torch_sampler import CurriculumSampler as CurriculumSampler

# Loaded on first use: they need more than NumPy, or few programs need them. They are not in
# `__all__`, so that `from procurl import *` works without their dependencies.
_LAZY = {
    "CurriculumSampler": "procurl.torch_sampler",
    "CurriculumVectorEnv": "procurl.envs.adapters.curriculum_env",
    "TaskEnv": "procurl.envs.adapters.task_env",
    "__version__": "procurl.internals.version",
    "load_policy": "procurl.policy.policy",
    "make_policy": "procurl.policy.policy",
    "register_settings": "procurl.internals.pytrees",
    "save_policy": "procurl.policy.policy",
}

__all__ = [
    "ALPGMM",
    "CURROT",
    "IID",
    "PLR",
    "SFL",
    "SPDL",
    "Anneal",
    "Argmax",
    "Array",
    "AutoProCuRL",
    "Condition",
    "CriticSuccess",
    "Curriculum",
    "Ease",
    "Easy",
    "Evidence",
    "Gain",
    "GroupProCuRL",
    "Hard",
    "Hardness",
    "JointSuccess",
    "Learnability",
    "LearningProgress",
    "LinearSchedule",
    "Metrics",
    "Mix",
    "NoProgress",
    "OutcomeSuccess",
    "Potential",
    "ProCuRL",
    "ProCuRLArgmax",
    "ProCuRLTarget",
    "Proportional",
    "Proximal",
    "RolloutPlan",
    "RolloutSuccess",
    "SPaCE",
    "SPaCEAlt",
    "Sampler",
    "Scale",
    "Schedule",
    "Scheduled",
    "Softmax",
    "Stage",
    "Stages",
    "Steps",
    "Strategy",
    "Success",
    "SuccessAbove",
    "SuccessStrategy",
    "Switch",
    "Target",
    "TaskPool",
    "TaskSpace",
    "TopRollouts",
    "TopTasks",
    "add_targets",
    "keep_finite",
    "make_strategy",
    "namespace",
    "register_strategy",
    "strategy_names",
]

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
