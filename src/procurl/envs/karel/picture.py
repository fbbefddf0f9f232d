"""Pictures of Karel tasks: the current grid on the left, the target on the right."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.karel.task import CELLS, SIDE

try:
    from PIL import Image, ImageDraw
except ImportError as error:
    raise ImportError(
        "pictures need Pillow, which is not installed: pip install 'procurl[report]'"
    ) from error

OVERSAMPLING = 4  # drawn this much larger and scaled down, for smooth edges
PAPER = "#ffffff"
FLOOR = "#f4f5f7"
TARGET_FLOOR = "#eef6ef"
LINE = "#d5d9df"
FRAME = "#8a93a0"
WALL = "#4a5361"
MARKER = "#f2a93b"
MARKER_EDGE = "#b87412"
AVATAR = "#2563c9"
ARROW = "#8a93a0"

# Corners of an avatar that faces north and of a marker, in cells from the middle of a cell.
DART = ((0.0, -0.38), (0.30, 0.32), (0.0, 0.17), (-0.30, 0.32))
DIAMOND = ((0.0, -0.41), (0.41, 0.0), (0.0, 0.41), (-0.41, 0.0))


def karel_picture(context: Sequence[int] | NDArray[Any], cell_size: int = 44) -> NDArray[np.uint8]:
    """[height, width, 3] the two grids of a task, or of an episode at one step.

    Walls are dark squares, markers are amber diamonds, and the avatar is a blue dart that points in
    its direction.

    Args:
        context: [7] the seven integers of a task; for an episode, from `current_contexts`.
        cell_size: pixels per side of a cell.
    """
    walls, cell, direction, markers, goal_cell, goal_direction, goal_markers = map(int, context)
    unit = OVERSAMPLING * cell_size
    board, margin, gap = SIDE * unit, unit // 4, unit
    image = Image.new("RGB", (2 * board + gap + 2 * margin, board + 2 * margin), PAPER)
    pen = ImageDraw.Draw(image)
    right = margin + board + gap
    _draw_grid(pen, (margin, margin), unit, FLOOR, walls, markers)
    _draw_grid(pen, (right, margin), unit, TARGET_FLOOR, walls, goal_markers)
    _draw_avatar(pen, (margin, margin), unit, cell, direction)
    _draw_avatar(pen, (right, margin), unit, goal_cell, goal_direction)
    _draw_arrow(pen, (margin + board + gap / 2, margin + board / 2), unit)
    return np.asarray(image.reduce(OVERSAMPLING)).copy()


def _draw_grid(
    pen: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    unit: int,
    floor: str,
    walls: int,
    markers: int,
) -> None:
    left, top = corner
    end = SIDE * unit
    pen.rectangle((left, top, left + end, top + end), fill=floor)
    for k in range(1, SIDE):
        pen.line((left + k * unit, top, left + k * unit, top + end), fill=LINE, width=OVERSAMPLING)
        pen.line((left, top + k * unit, left + end, top + k * unit), fill=LINE, width=OVERSAMPLING)
    for cell in range(CELLS):
        x, y = _middle(corner, unit, cell)
        if walls >> cell & 1:
            half = 0.46 * unit
            pen.rounded_rectangle((x - half, y - half, x + half, y + half), 0.08 * unit, WALL)
        if markers >> cell & 1:
            _draw_shape(pen, (x, y), unit, DIAMOND, MARKER, MARKER_EDGE, 1)
    pen.rectangle((left, top, left + end, top + end), outline=FRAME, width=2 * OVERSAMPLING)


def _draw_avatar(
    pen: ImageDraw.ImageDraw, corner: tuple[int, int], unit: int, cell: int, direction: int
) -> None:
    facing: Sequence[tuple[float, float]] = DART
    for _ in range(direction):
        facing = [(y, -x) for x, y in facing]  # a quarter turn to the left; y points down
    _draw_shape(pen, _middle(corner, unit, cell), unit, facing, AVATAR, PAPER, 1.5)


def _draw_arrow(pen: ImageDraw.ImageDraw, middle: tuple[float, float], unit: int) -> None:
    """The arrow from the current grid to the target."""
    x, y = middle
    reach, head = 0.26 * unit, 0.13 * unit
    pen.line((x - reach, y, x + reach - head, y), fill=ARROW, width=int(0.06 * unit))
    tip = [(x + reach, y), (x + reach - 1.4 * head, y - head), (x + reach - 1.4 * head, y + head)]
    pen.polygon(tip, fill=ARROW)


def _draw_shape(
    pen: ImageDraw.ImageDraw,
    middle: tuple[float, float],
    unit: int,
    corners: Sequence[tuple[float, float]],
    fill: str,
    edge: str,
    edge_width: float,
) -> None:
    """A polygon with an edge of `edge_width` pixels in the final picture."""
    points = [(middle[0] + unit * x, middle[1] + unit * y) for x, y in corners]
    pen.polygon(points, fill=fill)
    pen.line(
        [*points, *points[:2]], fill=edge, width=round(edge_width * OVERSAMPLING), joint="curve"
    )


def _middle(corner: tuple[int, int], unit: int, cell: int) -> tuple[float, float]:
    row, column = divmod(cell, SIDE)
    return corner[0] + (column + 0.5) * unit, corner[1] + (row + 0.5) * unit
