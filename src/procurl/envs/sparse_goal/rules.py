"""The rules of SparseGoal: its contexts, the corridor, the step length and the state.

A context is (goal x, goal y, tolerance).
"""

from typing import NamedTuple

from procurl.internals.arrays import Array

CONTEXT_NAMES = ("goal_x", "goal_y", "tolerance")
CONTEXT_LOW = (-9.0, -9.0, 0.05)
CONTEXT_HIGH = (9.0, 9.0, 18.0)
TARGET_TOLERANCE = CONTEXT_LOW[2]

# The corridor is the square of half-width OUTER without the open square of half-width INNER.
OUTER = 7.0
INNER = 5.0
START = -6.0  # both coordinates of the middle of the corner where episodes start
START_REACH = 1.0  # how far a start is from there at most, per coordinate

STEP = 0.3  # longest move of one action
HORIZON = 200


class SparseGoalState(NamedTuple):
    """Position of b points, and the task of each."""

    x: Array  # [b] float32, like all fields but the last
    y: Array  # [b]
    goal_x: Array  # [b]
    goal_y: Array  # [b]
    tolerance: Array  # [b] distance below which the goal is reached
    steps: Array  # [b] int32, actions taken in this episode
