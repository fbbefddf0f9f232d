"""The rules of PointMass: its contexts, the arena, the physical constants and the state.

A context is (gate position, gate width, friction).
"""

from typing import NamedTuple

from procurl.internals.arrays import Array

CONTEXT_NAMES = ("gate_position", "gate_width", "friction")
CONTEXT_LOW = (-4.0, 0.5, 0.0)
CONTEXT_HIGH = (4.0, 8.0, 4.0)

START = (0.0, 3.0)
GOAL = (0.0, -3.0)
GOAL_RADIUS = 0.3
ARENA = 4.0  # x and y stay within ±4; the wall with the gate is the line y = 0
HORIZON = 100

FORCE = 10.0  # bound of each action
SUBSTEPS = 10
DT = 0.01
PUSH = 1.5  # acceleration per unit of action
NOISE = 0.05  # standard deviation of the acceleration noise, per axis and substep

# Without friction, full force for a whole episode leads to a speed of 150; noise adds less than 1.
TOP_SPEED = 160.0


class PointMassState(NamedTuple):
    """Position and velocity of b masses, and the task of each."""

    x: Array  # [b] float32, like all fields but the last
    y: Array  # [b]
    vx: Array  # [b] velocity
    vy: Array  # [b]
    gate_position: Array  # [b] x of the middle of the gate
    gate_width: Array  # [b]
    friction: Array  # [b]
    steps: Array  # [b] int32, actions taken in this episode
