"""The short answer of a comparison, for the terminal."""

from collections.abc import Sequence

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.curves import curves_from_rows as curves
from procurl.experiments.analysis.figures import draw_curves
from procurl.experiments.analysis.tables import as_text, terminal_table

__all__ = ["curves", "draw_curves", "table"]


def table(found: Sequence[Curve]) -> str:
    """One line per contender: performance along training, environment steps and time."""
    return as_text(terminal_table(found))
