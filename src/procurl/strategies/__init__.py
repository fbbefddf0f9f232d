"""Every strategy of the paper, and the registry that knows them by name."""

from procurl.strategies.easy_hard import Easy, Hard
from procurl.strategies.iid import IID
from procurl.strategies.plr import PLR
from procurl.strategies.procurl import ProCuRL, TopRollouts
from procurl.strategies.registry import make_strategy, register_strategy, strategy_names
from procurl.strategies.softmax import Argmax
from procurl.strategies.space import SPaCE, SPaCEAlt
from procurl.strategies.spdl import SPDL
from procurl.strategies.strategy import Strategy

__all__ = [
    "IID",
    "PLR",
    "SPDL",
    "Argmax",
    "Easy",
    "Hard",
    "ProCuRL",
    "SPaCE",
    "SPaCEAlt",
    "Strategy",
    "TopRollouts",
    "make_strategy",
    "register_strategy",
    "strategy_names",
]
