"""Pictures of Karel: every cell of both grids shows what is there."""

import numpy as np
import pytest
from PIL import ImageColor

from procurl.envs.karel.dynamics import Karel
from procurl.envs.karel.picture import (
    AVATAR,
    FLOOR,
    MARKER,
    TARGET_FLOOR,
    WALL,
    karel_picture,
)
from procurl.envs.karel.task import MOVE, TURN_LEFT

SIZE = 40
MARGIN = SIZE // 4


def at(picture, grid, cell, x, y):
    """The color at (x, y), in cells from the middle of a cell of the left (0) or right grid."""
    row, column = divmod(cell, 4)
    left = MARGIN + grid * 5 * SIZE
    return tuple(
        picture[
            round(MARGIN + (row + 0.5 + y) * SIZE), round(left + (column + 0.5 + x) * SIZE)
        ].tolist()
    )


def color(name):
    return ImageColor.getrgb(name)


def test_walls_markers_and_floor_of_both_grids():
    walls, markers, goal_markers = 0b1000_0100, 0b1_0010_0000, 0b10_0000_0000_0001
    picture = karel_picture([walls, 15, 0, markers, 12, 0, goal_markers], cell_size=SIZE)
    assert picture.shape == (4 * SIZE + 2 * MARGIN, 9 * SIZE + 2 * MARGIN, 3)
    assert picture.dtype == np.uint8
    for grid, marked, floor, avatar in (
        (0, markers, FLOOR, 15),
        (1, goal_markers, TARGET_FLOOR, 12),
    ):
        for cell in set(range(16)) - {avatar}:
            expected = WALL if walls >> cell & 1 else MARKER if marked >> cell & 1 else floor
            assert at(picture, grid, cell, 0, 0) == color(expected)


@pytest.mark.parametrize("direction", range(4))
def test_the_avatar_points_where_it_faces(direction):
    picture = karel_picture([0, 5, direction, 0, 10, (direction + 2) % 4, 0], cell_size=SIZE)
    x, y = ((0, -1), (-1, 0), (0, 1), (1, 0))[direction]
    for grid, cell, sign, floor in ((0, 5, 1, FLOOR), (1, 10, -1, TARGET_FLOOR)):
        tip, tail = (at(picture, grid, cell, s * 0.24 * x, s * 0.24 * y) for s in (sign, -sign))
        assert tip == color(AVATAR)
        assert tail == color(floor)


def test_a_marker_shows_below_the_avatar():
    picture = karel_picture([0, 5, 0, 1 << 5, 5, 0, 0], cell_size=SIZE)
    assert at(picture, 0, 5, 0, 0) == color(AVATAR)
    assert at(picture, 0, 5, 0, 0.3) == color(MARKER)
    assert at(picture, 1, 5, 0, 0.3) == color(TARGET_FLOOR)


def test_an_episode_is_drawn_as_it_stands():
    env = Karel()
    state = env.initial(np.array([[0, 0, 3, 0, 2, 3, 0]]))
    first = env.draw([state])
    states = [state]
    for action in (MOVE, TURN_LEFT):
        states.append(env.step(states[-1], np.array([action]), np.empty((1, 0))).state)
    np.testing.assert_array_equal(first, karel_picture([0, 0, 3, 0, 2, 3, 0]))
    np.testing.assert_array_equal(env.draw(states), karel_picture([0, 1, 0, 0, 2, 3, 0]))
