"""Tables of medians, as ratios to one contender."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from turns import Seconds

Row = Sequence[str]


def rate(turns: Sequence[Seconds]) -> float:
    """Steps per second of the processor, the median over the turns."""
    return median(turn.steps / turn.processor for turn in turns)


def cost(turns: Sequence[Seconds]) -> float:
    """Seconds of the processor per step or episode, the median over the turns."""
    return median(turn.processor / turn.steps for turn in turns)


def longer(turns: Sequence[Seconds], base: Sequence[Seconds]) -> float:
    """How much longer a step takes than that of `base` in the same round, as a share."""
    pairs = zip(turns, base, strict=True)
    return median(
        (own.processor / own.steps) / (other.processor / other.steps) - 1.0 for own, other in pairs
    )


def ratios(
    columns: Mapping[str, Mapping[str, float]], base: str, show: Callable[[float], str]
) -> list[Row]:
    """One row per contender: each number as `show` writes it, and as a multiple of `base`.

    Args:
        columns: of each column, the number of each contender; those that did not run are left out.
        base: the contender whose multiple is 1; a column without it has no multiples.
        show: the number as text.
    """
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows: list[Row] = []
    for name in names:
        row = [name]
        for column in columns.values():
            if name not in column:
                row.append("–")
                continue
            multiple = f" ({multiple_of(column[name] / column[base])})" if base in column else ""
            row.append(show(column[name]) + multiple)
        rows.append(row)
    return rows


def multiple_of(ratio: float) -> str:
    """A ratio with two digits that count: `46×`, `1.2×`, `0.053×`."""
    if ratio >= 10:
        return f"{ratio:,.0f}×"
    return f"{ratio:.1f}×" if ratio >= 1 else f"{ratio:.2g}×"


def markdown(header: Row, rows: Sequence[Row]) -> str:
    """A table with the first column to the left and the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
