"""What is measured of an environment and its pool."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.adapters.task_errors import EnvironmentFailure
from procurl.internals.arrays import Ids

ENOUGH_TASKS = 10  # whose first observations are seen, for a conclusion


class Misfit(NamedTuple):
    """What an environment returns against its own declaration."""

    text: str
    stops_training: bool
    subject: str = "spaces"
    remedy: str = "Correct the environment or its observation_space."


class Starts(NamedTuple):
    """First observations of m tasks, all reset with the same seed."""

    tasks: Ids  # [m]
    groups: Ids  # [m] tasks with the same number have the same first observation
    repeats: bool  # a second reset with the same seed shows the same
    varies: bool  # a reset of the same task with another seed shows something else
    misfit: Misfit | None  # the first
    cut_short: bool = False  # there was no time for more tasks

    @property
    def few(self) -> bool:
        """Whether there was no time for as many tasks as a conclusion needs."""
        return self.cut_short and len(self.tasks) < ENOUGH_TASKS

    @property
    def distinct(self) -> int:
        """The number of different first observations."""
        return len(np.unique(self.groups))

    @property
    def tell_tasks_apart(self) -> bool:
        """Whether most tasks can be recognized by their first observation."""
        return self.repeats and 2 * self.distinct > len(self.tasks)


class Responses(NamedTuple):
    """Tasks that look alike at first, played with the same seed and the same actions."""

    pairs: int  # compared
    twins: tuple[tuple[int, int], ...]  # pairs whose observations and rewards never differed
    steps: int  # compared
    attribute: str | None = None  # of the environment, which differs between the first two twins


class Place(NamedTuple):
    """A number that is not finite, and where it occurred."""

    task: int
    step: int  # 0 is the reset
    value: float


class RandomPlay(NamedTuple):
    """Episodes of a random policy; arrays over the m that ended."""

    tasks: Ids  # [m]
    returns: NDArray[np.float64]  # [m]
    lengths: Ids  # [m]
    success: NDArray[np.float64]  # [m] info["is_success"], NaN if missing
    unending: tuple[int, ...]  # tasks whose episode reached `limit`
    limit: int  # steps
    steps: int  # in all
    seconds: float  # in the environment
    bad_reward: Place | None  # the first that is not finite
    bad_observation: Place | None
    misfit: Misfit | None  # the first
    has_info_success: bool = False  # info["success"] was seen, which many environments set

    @property
    def steps_per_second(self) -> float:
        return self.steps / max(self.seconds, 1e-9)


class Measurements(NamedTuple):
    """All measurements; None where an error of the environment came before."""

    starts: Starts | None = None
    responses: Responses | None = None
    play: RandomPlay | None = None
    failure: EnvironmentFailure | None = None  # which ended the measurements
