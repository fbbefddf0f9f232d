"""Pictures of PointMass: the arena from above with gate, goal, mass and trail."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from procurl.envs.point_mass.rules import ARENA, GOAL, GOAL_RADIUS, START, PointMassState

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError("pictures need Pillow: pip install 'procurl[report]'") from error

SIZE = 400  # pixels of the arena's side
MARGIN = 10
CAPTION = 26
OVERSAMPLING = 3  # drawn this much larger and scaled down, for smooth edges
MASS_RADIUS = 0.16
WALL = 0.12  # half its thickness
ARROW = 0.12  # length of the velocity's arrow per unit of speed
LONGEST_ARROW = 1.0

PAPER = (255, 255, 255)
FLOOR = (246, 247, 249)
FRAME = (170, 176, 186)
BRICK = (52, 58, 70)
GOAL_FILL = (204, 235, 214)
GOAL_EDGE = (33, 140, 84)
TRAIL_OLD = (206, 219, 240)
MASS = (31, 94, 184)
CRASHED = (200, 55, 45)
INK = (70, 76, 88)


def point_mass_picture(states: Sequence[PointMassState]) -> NDArray[np.uint8]:
    """[height, width, 3] the episode so far.

    The trail has a dot at the start of each action and gets darker toward the mass. A crashed mass
    is red. The arrow shows the velocity.

    Args:
        states: first to current, each with a batch of one.
    """
    size = ((SIZE + 2 * MARGIN) * OVERSAMPLING, (SIZE + 2 * MARGIN + CAPTION) * OVERSAMPLING)
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    now = states[-1]
    _draw_arena(draw, float(now.gate_position[0]), float(now.gate_width[0]))
    _draw_trail(draw, [(float(state.x[0]), float(state.y[0])) for state in states])
    _draw_mass(draw, now)
    _draw_caption(draw, now)
    small = image.resize((size[0] // OVERSAMPLING, size[1] // OVERSAMPLING), Image.Resampling.BOX)
    return np.asarray(small).copy()


def _draw_arena(draw: ImageDraw.ImageDraw, gate: float, width: float) -> None:
    draw.rectangle(_box(-ARENA, -ARENA, ARENA, ARENA), FLOOR, FRAME, width=OVERSAMPLING)
    left, right = max(gate - width / 2, -ARENA), min(gate + width / 2, ARENA)
    for start, end in ((-ARENA, left), (right, ARENA)):
        if end > start:
            draw.rectangle(_box(start, -WALL, end, WALL), BRICK)
    _draw_disc(draw, GOAL, GOAL_RADIUS, GOAL_FILL, GOAL_EDGE)
    _draw_disc(draw, START, MASS_RADIUS, FLOOR, FRAME)


def _draw_trail(draw: ImageDraw.ImageDraw, points: list[tuple[float, float]]) -> None:
    for i, (start, end) in enumerate(pairwise(points)):
        age = (i + 1) / (len(points) - 1)
        tint = tuple(round(a + age * (b - a)) for a, b in zip(TRAIL_OLD, MASS, strict=True))
        draw.line([_pixel(*start), _pixel(*end)], tint, width=2 * OVERSAMPLING)
        _draw_disc(draw, start, 0.045, tint, tint)


def _draw_mass(draw: ImageDraw.ImageDraw, state: PointMassState) -> None:
    x, y = float(state.x[0]), float(state.y[0])
    vx, vy = float(state.vx[0]), float(state.vy[0])
    speed = float(np.hypot(vx, vy))
    moving = speed > 0 or int(state.steps[0]) == 0
    length = min(ARROW * speed, LONGEST_ARROW)
    if length > MASS_RADIUS:
        tip = (x + length * vx / speed, y + length * vy / speed)
        draw.line([_pixel(x, y), _pixel(*tip)], MASS, width=2 * OVERSAMPLING)
        _draw_arrowhead(draw, tip, (vx / speed, vy / speed))
    _draw_disc(draw, (x, y), MASS_RADIUS, MASS if moving else CRASHED, PAPER)


def _draw_arrowhead(
    draw: ImageDraw.ImageDraw, tip: tuple[float, float], ahead: tuple[float, float]
) -> None:
    (x, y), (dx, dy) = tip, ahead
    corners = [(0.08, 0.0), (-0.08, 0.075), (-0.08, -0.075)]  # along and across the arrow
    draw.polygon([_pixel(x + a * dx - c * dy, y + a * dy + c * dx) for a, c in corners], MASS)


def _draw_caption(draw: ImageDraw.ImageDraw, state: PointMassState) -> None:
    text = (
        f"gate at {state.gate_position[0]:.2f}, width {state.gate_width[0]:.2f}, "
        f"friction {state.friction[0]:.2f}"
    )
    at = ((SIZE / 2 + MARGIN) * OVERSAMPLING, (SIZE + MARGIN + CAPTION * 0.6) * OVERSAMPLING)
    draw.text(at, text, INK, font=ImageFont.load_default(14 * OVERSAMPLING), anchor="mm")


def _draw_disc(
    draw: ImageDraw.ImageDraw,
    center: tuple[float, float],
    radius: float,
    fill: tuple[int, ...],
    edge: tuple[int, ...],
) -> None:
    x, y = center
    box = _box(x - radius, y - radius, x + radius, y + radius)
    draw.ellipse(box, fill, edge, width=round(1.5 * OVERSAMPLING))


def _pixel(x: float, y: float) -> tuple[float, float]:
    """The point of the large picture that shows (x, y); y points up."""
    scale = SIZE * OVERSAMPLING / (2 * ARENA)
    return MARGIN * OVERSAMPLING + (x + ARENA) * scale, MARGIN * OVERSAMPLING + (ARENA - y) * scale


def _box(left: float, bottom: float, right: float, top: float) -> list[tuple[float, float]]:
    return [_pixel(left, top), _pixel(right, bottom)]
