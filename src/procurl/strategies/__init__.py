"""Every strategy of the paper, the parts they combine, and the registry of their names.

`strategy` is the interface and `refreshing` the rule by which engines refresh one.
`success_strategy` wires an estimate of success, a potential (`potentials`) and a sampler
(`samplers`) together; `procurl` and `easy_hard` only say which. `progress` holds the strategies
that follow learning progress, `handmade` curricula laid out by hand, with the `conditions` that end
a part of one, `targeted` those for pools in which some tasks matter more, and `combined` the
strategies made of others. The other modules are strategies of their own kind.
"""

from procurl.strategies.baselines.easy_hard import Easy, Hard
from procurl.strategies.baselines.plr import PLR
from procurl.strategies.baselines.sfl import SFL
from procurl.strategies.baselines.space import SPaCE, SPaCEAlt
from procurl.strategies.baselines.spdl import SPDL
from procurl.strategies.combined import Mix, Switch
from procurl.strategies.conditions import Condition, NoProgress, Steps, SuccessAbove
from procurl.strategies.handmade import Anneal, Stage, Stages
from procurl.strategies.iid import IID
from procurl.strategies.potentials import (
    Ease,
    Gain,
    Hardness,
    Learnability,
    Potential,
    Proximal,
    TopRollouts,
)
from procurl.strategies.procurl import AutoProCuRL, GroupProCuRL, ProCuRL, ProCuRLArgmax
from procurl.strategies.progress import ALPGMM, LearningProgress
from procurl.strategies.registry import (
    as_strategy,
    make_strategy,
    register_strategy,
    strategy_names,
)
from procurl.strategies.samplers import Argmax, Proportional, Sampler, Softmax, TopTasks
from procurl.strategies.schedules import LinearSchedule, Schedule, Scheduled
from procurl.strategies.strategy import Strategy
from procurl.strategies.success_strategy import SuccessStrategy
from procurl.strategies.targeted import CURROT, ProCuRLTarget, Target

__all__ = [
    "ALPGMM",
    "CURROT",
    "IID",
    "PLR",
    "SFL",
    "SPDL",
    "Anneal",
    "Argmax",
    "AutoProCuRL",
    "Condition",
    "Ease",
    "Easy",
    "Gain",
    "GroupProCuRL",
    "Hard",
    "Hardness",
    "Learnability",
    "LearningProgress",
    "LinearSchedule",
    "Mix",
    "NoProgress",
    "Potential",
    "ProCuRL",
    "ProCuRLArgmax",
    "ProCuRLTarget",
    "Proportional",
    "Proximal",
    "SPaCE",
    "SPaCEAlt",
    "Sampler",
    "Schedule",
    "Scheduled",
    "Softmax",
    "Stage",
    "Stages",
    "Steps",
    "Strategy",
    "SuccessAbove",
    "SuccessStrategy",
    "Switch",
    "Target",
    "TopRollouts",
    "TopTasks",
    "as_strategy",
    "make_strategy",
    "register_strategy",
    "strategy_names",
]
