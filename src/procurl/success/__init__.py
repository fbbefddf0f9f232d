"""Estimates of the probability of success: from the critic, rollouts, or training episodes.

Each estimate is a frozen dataclass of settings with a small state of its own. A strategy holds one
as its field `success`, keeps its state, and reads the result with `Success.probability`.
"""

from procurl.success.calibration import calibrate
from procurl.success.critic import CriticState, CriticSuccess
from procurl.success.estimate import EARLY, RolloutPlan, Success
from procurl.success.joint import JointState, JointSuccess
from procurl.success.normalize import keep_finite, normalize, outcomes_of, value_range
from procurl.success.outcomes import OutcomeState, OutcomeSuccess
from procurl.success.rollouts import RolloutSuccess

__all__ = [
    "EARLY",
    "CriticState",
    "CriticSuccess",
    "JointState",
    "JointSuccess",
    "OutcomeState",
    "OutcomeSuccess",
    "RolloutPlan",
    "RolloutSuccess",
    "Success",
    "calibrate",
    "keep_finite",
    "normalize",
    "outcomes_of",
    "value_range",
]
