"""Strategies made of strategies: a weighted mix, and a switch from one to another.

`combination` says how the parts share evidence, rollouts and refreshes, and when they cannot.
"""

from procurl.strategies.combined.combination import Combination
from procurl.strategies.combined.mix import Mix
from procurl.strategies.combined.switch import Switch

__all__ = ["Combination", "Mix", "Switch"]
