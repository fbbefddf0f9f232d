"""Pictures of SparseGoal: the corridor from above with goal, tolerance, point and trail."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from procurl.envs.sparse_goal.rules import CONTEXT_HIGH, INNER, OUTER, SparseGoalState

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError("pictures need Pillow: pip install 'procurl[report]'") from error

SIZE = 400  # pixels of the side of the square in which goals lie
MARGIN = 10
CAPTION = 26
OVERSAMPLING = 3  # drawn this much larger and scaled down, for smooth edges
EDGE = CONTEXT_HIGH[0]  # half the side of that square
POINT_RADIUS = 0.28
GOAL_RADIUS = 0.2  # of the mark at its middle

PAPER = (255, 255, 255)
FLOOR = (246, 247, 249)
BRICK = (52, 58, 70)
REACHED_FLOOR = (204, 235, 214)
REACHED_BRICK = (44, 84, 72)
GOAL = (33, 140, 84)
TRAIL_OLD = (206, 219, 240)
POINT = (31, 94, 184)
INK = (70, 76, 88)

Color = tuple[int, ...]


def sparse_goal_picture(states: Sequence[SparseGoalState]) -> NDArray[np.uint8]:
    """[height, width, 3] the episode so far.

    Walls are dark. The places within the tolerance of the goal are green, and the goal itself is a
    green dot. The trail gets darker toward the point.

    Args:
        states: first to current, each with a batch of one.
    """
    size = ((SIZE + 2 * MARGIN) * OVERSAMPLING, (SIZE + 2 * MARGIN + CAPTION) * OVERSAMPLING)
    image = Image.new("RGB", size, PAPER)
    now = states[-1]
    goal, tolerance = (float(now.goal_x[0]), float(now.goal_y[0])), float(now.tolerance[0])
    image.paste(_map(goal, tolerance), (MARGIN * OVERSAMPLING, MARGIN * OVERSAMPLING))
    draw = ImageDraw.Draw(image)
    _draw_disc(draw, goal, GOAL_RADIUS, GOAL)
    points = [(float(state.x[0]), float(state.y[0])) for state in states]
    _draw_trail(draw, points)
    _draw_disc(draw, points[-1], POINT_RADIUS, POINT)
    at = ((SIZE / 2 + MARGIN) * OVERSAMPLING, (SIZE + MARGIN + CAPTION * 0.6) * OVERSAMPLING)
    text = f"goal at {goal[0]:.2f}, {goal[1]:.2f}, tolerance {tolerance:.2f}"
    draw.text(at, text, INK, font=ImageFont.load_default(14 * OVERSAMPLING), anchor="mm")
    small = image.resize((size[0] // OVERSAMPLING, size[1] // OVERSAMPLING), Image.Resampling.BOX)
    return np.asarray(small).copy()


def _map(goal: tuple[float, float], tolerance: float) -> Image.Image:
    """Floor and walls, in other colors within the tolerance."""
    side = SIZE * OVERSAMPLING
    x = ((np.arange(side) + 0.5) * 2 / side - 1) * EDGE
    y = -x[:, None]  # y points up
    beyond = np.maximum(np.abs(x), np.abs(y))
    floor = (beyond >= INNER) & (beyond <= OUTER)
    reached = np.hypot(x - goal[0], y - goal[1]) < tolerance
    colors = np.array([[BRICK, REACHED_BRICK], [FLOOR, REACHED_FLOOR]], dtype=np.uint8)
    return Image.fromarray(colors[floor.astype(int), reached.astype(int)])


def _draw_trail(draw: ImageDraw.ImageDraw, points: list[tuple[float, float]]) -> None:
    for i, (start, end) in enumerate(pairwise(points)):
        age = (i + 1) / (len(points) - 1)
        tint = tuple(round(a + age * (b - a)) for a, b in zip(TRAIL_OLD, POINT, strict=True))
        draw.line([_pixel(*start), _pixel(*end)], tint, width=2 * OVERSAMPLING)


def _draw_disc(
    draw: ImageDraw.ImageDraw, center: tuple[float, float], radius: float, fill: Color
) -> None:
    x, y = center
    box = [_pixel(x - radius, y + radius), _pixel(x + radius, y - radius)]
    draw.ellipse(box, fill, PAPER, width=OVERSAMPLING)


def _pixel(x: float, y: float) -> tuple[float, float]:
    """The point of the large picture that shows (x, y); y points up."""
    scale = SIZE * OVERSAMPLING / (2 * EDGE)
    return MARGIN * OVERSAMPLING + (x + EDGE) * scale, MARGIN * OVERSAMPLING + (EDGE - y) * scale
