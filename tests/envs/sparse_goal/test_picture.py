"""SparseGoal as a picture: where walls, goal and point are drawn."""

import numpy as np

from procurl.envs.sparse_goal.dynamics import SparseGoal
from procurl.envs.sparse_goal.picture import (
    BRICK,
    FLOOR,
    GOAL,
    MARGIN,
    POINT,
    REACHED_BRICK,
    REACHED_FLOOR,
    SIZE,
    sparse_goal_picture,
)

ENV = SparseGoal()


def color_at(picture, x, y):
    row, column = (round(MARGIN + SIZE * share) for share in ((9 - y) / 18, (x + 9) / 18))
    return tuple(int(value) for value in picture[row, column])


def start(context):
    return ENV.initial(np.array([context]))


def test_walls_are_around_and_inside_the_corridor():
    picture = sparse_goal_picture([start([6.0, 6.0, 0.05])])
    assert [color_at(picture, *at) for at in ((0, 0), (4.8, -4.8), (8, 0), (-8, 8))] == [BRICK] * 4
    assert [color_at(picture, *at) for at in ((6, 0), (0, -6), (-5.2, 3), (2, 6.8))] == [FLOOR] * 4


def test_the_places_where_the_goal_is_reached_are_green():
    picture = sparse_goal_picture([start([6.0, 2.0, 2.0])])
    assert color_at(picture, 6.0, 2.0) == GOAL
    assert color_at(picture, 6.0, 3.8) == REACHED_FLOOR
    assert color_at(picture, 6.0, 4.2) == FLOOR
    assert color_at(picture, 4.5, 2.0) == REACHED_BRICK
    assert color_at(picture, 7.8, 2.0) == REACHED_BRICK


def test_the_point_and_its_trail_are_where_they_are():
    states = [start([6.0, 6.0, 0.05])]
    for _ in range(10):
        states.append(ENV.step(states[-1], np.array([[1.0, 0.0]]), None).state)
    picture = sparse_goal_picture(states)
    assert color_at(picture, -3.0, -6.0) == POINT
    assert color_at(picture, -4.5, -6.0) != FLOOR
    assert color_at(picture, -4.5, -5.5) == FLOOR
    assert picture.shape == (446, 420, 3)
