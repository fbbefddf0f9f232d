"""Strategies for pools in which some tasks matter more than the others: the targets.

`correlation` is what a task is worth if success carries over to near tasks. `procurl_target` plays
what leads to the targets, `target` the targets alone.
"""

from procurl.strategies.targeted.procurl_target import ProCuRLTarget
from procurl.strategies.targeted.target import Target

__all__ = ["ProCuRLTarget", "Target"]
