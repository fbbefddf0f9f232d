"""Legends that fit beside a figure, whatever the contenders are called."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from procurl.experiments.analysis.labels import broken_name

MARK = "\u200b"  # Matplotlib leaves out labels that start with an underscore
LETTER = 0.078  # inches, about, of the font that figures use
LINE = 0.17  # inches, likewise
ROW = 0.19  # inches, of a line of a legend beside a figure, with the gap below it
HANDLE = 0.6  # inches of the line next to a name, and of the gaps around it
NARROW = 20  # letters up to which names leave enough room for the figure to their left


class LegendSize(NamedTuple):
    """How a legend is laid out."""

    columns: int
    height: float  # inches


class LegendPlace(NamedTuple):
    """Where a legend goes, and the figure that leaves room for it."""

    size: tuple[float, float]  # inches of the figure
    options: dict[str, Any]  # of `add_legend`


def place_legend(names: Sequence[str], size: tuple[float, float]) -> LegendPlace:
    """At the right of a figure of `size` inches if the names fit there, otherwise below it."""
    width, height = size
    if _fits_beside(names, height):
        return LegendPlace(size, {"loc": "outside right upper"})
    below = legend_size(names, width)
    options = {"loc": "outside lower center", "ncols": below.columns}
    return LegendPlace((width, height + below.height), options)


def legend_label(name: str) -> str:
    """The label of a line that `add_legend` shows as `name`, whatever `name` starts with."""
    return MARK + broken_name(name)


def add_legend(owner: Any, axis: Any, **options: Any) -> None:
    """Add a legend of the lines on `axis`, whose labels are from `legend_label`.

    Args:
        owner: the figure or part of it that shows the legend.
        axis: whose lines it names.
        options: for `Figure.legend`.
    """
    handles, labels = axis.get_legend_handles_labels()
    for text in owner.legend(handles, labels, **options).get_texts():
        text.set_text(text.get_text().removeprefix(MARK))


def _fits_beside(names: Sequence[str], height: float) -> bool:
    """Whether a legend of these names fits at the right of a figure of `height` inches."""
    lines = sum(broken_name(name).count("\n") + 1 for name in names)
    return max(map(_letters, names)) <= NARROW and lines * ROW <= height


def legend_size(names: Sequence[str], width: float) -> LegendSize:
    """As many columns as fit into `width` inches, one at least, and the height of the rows."""
    widest = HANDLE + LETTER * max(map(_letters, names))
    columns = max(1, min(len(names), int(width / widest)))
    rows = -(-len(names) // columns)
    lines = max(broken_name(name).count("\n") + 1 for name in names)
    return LegendSize(columns, rows * lines * LINE)


def _letters(name: str) -> int:
    """The length of the longest line of a name."""
    return max(map(len, broken_name(name).split("\n")))
