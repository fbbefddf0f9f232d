"""PointMass as a picture: where the gate, the goal and the mass are drawn."""

import numpy as np
import pytest

from procurl.envs.point_mass.dynamics import SparsePointMass
from procurl.envs.point_mass.picture import (
    BRICK,
    CRASHED,
    FLOOR,
    GOAL_FILL,
    MARGIN,
    MASS,
    SIZE,
    point_mass_picture,
)

ENV = SparsePointMass()


def color_at(picture, x, y):
    row, column = (round(MARGIN + SIZE * share) for share in ((4 - y) / 8, (x + 4) / 8))
    return tuple(int(value) for value in picture[row, column])


def start(context):
    return ENV.initial(np.array([context]))


def test_the_wall_is_open_at_the_gate_only():
    picture = point_mass_picture([start([1.0, 2.0, 0.0])])
    assert [color_at(picture, x, 0.0) for x in (-3.0, -0.1, 2.1, 3.8)] == [BRICK] * 4
    assert [color_at(picture, x, 0.0) for x in (0.1, 1.0, 1.9)] == [FLOOR] * 3


def test_a_gate_that_reaches_beyond_the_arena_leaves_no_wall_there():
    picture = point_mass_picture([start([4.0, 8.0, 0.0])])
    assert color_at(picture, -1.0, 0.0) == BRICK
    assert color_at(picture, 3.9, 0.0) == FLOOR


def test_the_goal_and_the_mass_are_where_they_are():
    picture = point_mass_picture([start([0.0, 2.0, 0.0])])
    assert color_at(picture, 0.0, -3.0) == GOAL_FILL
    assert color_at(picture, 0.0, 3.0) == MASS


def test_a_crashed_mass_is_red_and_its_trail_is_drawn():
    states = [start([-3.0, 1.0, 0.0])]
    done = False
    while not done:
        transition = ENV.step(states[-1], np.array([[0.0, -10.0]]), np.zeros((1, 10, 2)))
        states.append(transition.state)
        done = transition.done[0]
    picture = point_mass_picture(states)
    assert color_at(picture, 0.0, 0.0) == CRASHED
    assert color_at(picture, 0.0, 1.5) != FLOOR
    assert color_at(picture, 0.5, 1.5) == FLOOR


@pytest.mark.parametrize("context", [[0.0, 0.5, 4.0], [-4.0, 8.0, 0.0]])
def test_pictures_have_one_size(context):
    assert point_mass_picture([start(context)]).shape == (446, 420, 3)
