"""Contact sheets: many pictures in rows, with a caption below each."""

import io
from collections.abc import Sequence
from os import PathLike
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from procurl.internals.checks import require_integer
from procurl.internals.files import write_bytes

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError(
        "pictures need Pillow, which is not installed: pip install 'procurl[report]'"
    ) from error

Picture = NDArray[np.uint8]  # [height, width, 3]

PAPER = "#ffffff"
INK = "#333a45"
TEXT_SIZE = 14
LINE_HEIGHT = 18

Font: TypeAlias = "ImageFont.FreeTypeFont | ImageFont.ImageFont"


def contact_sheet(
    pictures: Sequence[Picture],
    captions: Sequence[str] | None = None,
    columns: int = 4,
    gap: int = 16,
) -> Picture:
    """[height, width, 3] all pictures row by row, each centered in a cell of the largest size.

    Args:
        pictures: [height, width, 3] uint8 each.
        captions: one per picture, with any number of lines, or None.
        columns: pictures per row.
        gap: pixels around each cell.
    """
    require_integer("columns", columns, at_least=1)
    require_integer("gap", gap, at_least=0)
    if len(pictures) == 0:
        raise ValueError("pictures is empty: a contact sheet needs at least one")
    for i, picture in enumerate(pictures):
        _check_picture(f"pictures[{i}]", picture)
    if captions is not None and len(captions) != len(pictures):
        raise ValueError(
            f"captions must have one entry for each of the {len(pictures)} pictures, "
            f"got {len(captions)}"
        )
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    height = max(picture.shape[0] for picture in pictures)
    width = max(picture.shape[1] for picture in pictures)
    font = ImageFont.load_default(TEXT_SIZE)
    texts = [_wrap(caption, width, font) for caption in captions or [""] * len(pictures)]
    step_x = width + gap
    step_y = height + LINE_HEIGHT * max(len(lines) for lines in texts) + gap

    sheet = Image.new("RGB", (columns * step_x + gap, rows * step_y + gap), PAPER)
    pen = ImageDraw.Draw(sheet)
    for i, (picture, lines) in enumerate(zip(pictures, texts, strict=True)):
        row, column = divmod(i, columns)
        left, top = gap + column * step_x, gap + row * step_y
        indent = ((width - picture.shape[1]) // 2, (height - picture.shape[0]) // 2)
        sheet.paste(Image.fromarray(picture), (left + indent[0], top + indent[1]))
        for k, line in enumerate(lines):
            at = (left + width / 2, top + height + k * LINE_HEIGHT)
            pen.text(at, line, fill=INK, font=font, anchor="ma")
    return np.asarray(sheet).copy()


def write_png(picture: Picture, path: str | PathLike[str]) -> None:
    """Write a picture [height, width, 3] as a PNG file."""
    _check_picture("picture", picture)
    content = io.BytesIO()
    Image.fromarray(picture).save(content, format="PNG", optimize=True)
    write_bytes(path, content.getvalue())


def _check_picture(argument: str, picture: object) -> None:
    kind = f"an object of type {type(picture).__name__}"
    if isinstance(picture, np.ndarray):
        if picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3:
            return
        kind = f"{picture.dtype} of shape {list(picture.shape)}"
    raise ValueError(f"{argument} must be uint8 of shape [height, width, 3], got {kind}")


def _wrap(caption: str, width: int, font: Font) -> list[str]:
    """The lines of a caption, wrapped to `width` pixels."""
    lines = []
    for line in caption.splitlines():
        rest = line
        while font.getlength(rest) > width and len(rest) > 1:
            fits = next(
                n
                for n in range(len(rest) - 1, 0, -1)
                if n == 1 or font.getlength(rest[:n]) <= width
            )
            cut = rest.rfind(" ", 1, fits + 1)
            cut = fits if cut < 0 else cut
            lines.append(rest[:cut])
            rest = rest[cut:].lstrip()
        lines.append(rest)
    return lines
