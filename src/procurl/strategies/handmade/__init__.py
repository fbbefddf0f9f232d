"""Curricula that a user lays out by hand: stages of a pool, and a box of contexts that grows.

`ranges` reads columns of a pool and ranges of them, `stage` says what one stage is, `splitting`
cuts a pool into stages, and `stages` and `anneal` are the strategies.
"""

from procurl.strategies.handmade.anneal import Anneal
from procurl.strategies.handmade.stage import Stage
from procurl.strategies.handmade.stages import Stages

__all__ = ["Anneal", "Stage", "Stages"]
