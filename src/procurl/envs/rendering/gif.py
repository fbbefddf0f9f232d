"""Small animated GIFs of drawings with few colors.

All frames share one palette, so that nothing flickers and unchanged areas take little space. The
palette is computed here, because those of Pillow tint large plain areas.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.rendering.contact_sheet import Picture

try:
    from PIL import Image
except ImportError as error:
    raise ImportError(
        "pictures need Pillow, which is not installed: pip install 'procurl[report]'"
    ) from error

COLORS = 255
CELL_BITS = 5  # per channel; colors that agree in these bits count as one
MAX_BYTES = 1_900_000
HOLD_FIRST, HOLD_LAST = 500, 2500  # milliseconds
MIN_MILLISECONDS = 20  # between frames; viewers slow down faster animations


class Palette(NamedTuple):
    """k colors, and which of them replaces any other."""

    colors: NDArray[np.uint8]  # [k, 3]
    nearest: NDArray[np.uint8]  # [2^15] row of `colors` for every cell of the color space


def palette_of(picture: Picture) -> Palette:
    """The most frequent colors of a picture, unchanged, at most 255.

    Args:
        picture: [height, width, 3] with the colors of all frames.
    """
    packed = picture.reshape(-1, 3) @ np.array([1 << 16, 1 << 8, 1])
    seen, counts = np.unique(packed, return_counts=True)
    by_count = seen[np.argsort(-counts, kind="stable")]
    colors = np.stack([by_count >> 16, by_count >> 8 & 255, by_count & 255], axis=1)
    _, commonest = np.unique(_cells(colors), return_index=True)  # the first of each cell
    colors = colors[np.sort(commonest)[:COLORS]]

    side = np.arange(1 << CELL_BITS)
    cells = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    middles = (cells << 8 - CELL_BITS) + (1 << 7 - CELL_BITS)
    nearest = np.argmin((colors**2).sum(axis=1) - 2 * middles @ colors.T, axis=1)
    nearest[_cells(colors)] = np.arange(len(colors))
    return Palette(colors.astype(np.uint8), nearest.astype(np.uint8))


def apply_palette(picture: Picture, palette: Palette) -> Image.Image:
    """A picture [height, width, 3] as an image with the colors of `palette`."""
    frame = Image.fromarray(palette.nearest[_cells(picture)])
    frame.putpalette(palette.colors.tobytes())
    return frame


def small_gif(frames: Sequence[Image.Image], milliseconds: float) -> bytes:
    """The frames as a GIF of at most 1.9 MB that repeats forever and pauses at its end.

    If all frames would take more, every second or fourth frame is kept, at the same pace.

    Args:
        frames: from `apply_palette`, with one palette.
        milliseconds: from one frame to the next.
    """
    stride = 1
    while True:
        shown = [*frames[:-1:stride], frames[-1]]
        content = _encode(shown, milliseconds * stride)
        if len(content) <= MAX_BYTES or len(shown) <= 2:
            return content
        stride *= 2


def _encode(frames: Sequence[Image.Image], milliseconds: float) -> bytes:
    between = max(
        10 * round(milliseconds / 10), MIN_MILLISECONDS
    )  # the format counts in hundredths
    durations = [HOLD_FIRST, *[between] * (len(frames) - 2), HOLD_LAST][-len(frames) :]
    content = BytesIO()
    first, *others = frames
    first.save(content, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    return content.getvalue()


def _cells(colors: NDArray[np.integer]) -> NDArray[np.int32]:
    """[...] the cell of the color space that each color [..., 3] is in."""
    red, green, blue = np.moveaxis(colors.astype(np.int32) >> 8 - CELL_BITS, -1, 0)
    cells: NDArray[np.int32] = red << 2 * CELL_BITS | green << CELL_BITS | blue
    return cells
