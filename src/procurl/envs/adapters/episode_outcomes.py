"""The outcomes of whole episodes in a vector environment, the same for every engine."""

from typing import NamedTuple

from procurl.internals.arrays import Floats


class EpisodeOutcomes(NamedTuple):
    """The outcomes of m episodes."""

    returns: Floats  # [m] undiscounted, in the environment's rewards
    success: Floats  # [m] 1 or 0, NaN if the environment does not report it
    steps: int  # environment steps in total
