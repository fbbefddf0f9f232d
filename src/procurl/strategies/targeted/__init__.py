"""Strategies for pools in which some tasks matter more than the others: the targets.

`correlation` is what a task is worth if success carries over to near tasks. `procurl_target` plays
what leads to the targets, `target` the targets alone. `currot` keeps particles on tasks;
`transport` moves them, by the `assignment` of particles to targets.
"""

from procurl.strategies.targeted.currot import CURROT
from procurl.strategies.targeted.procurl_target import ProCuRLTarget
from procurl.strategies.targeted.target import Target

__all__ = ["CURROT", "ProCuRLTarget", "Target"]
