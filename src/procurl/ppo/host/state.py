"""What learning changes in a run on the host."""

from typing import Any, NamedTuple

import numpy as np

from procurl.ppo.learning.anchor import Anchor
from procurl.ppo.learning.update import StudentState
from procurl.ppo.teacher import Teaching


class HostState(NamedTuple):
    """Everything that learning changes; the environment holds the state of the episodes."""

    student: StudentState
    anchor: Anchor | None  # of an agent with patience
    teaching: Teaching
    best_params: Any  # of the best evaluation so far
    best: np.float32  # its performance
