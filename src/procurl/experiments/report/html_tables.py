"""The page's tables as HTML: final results and probability of improvement."""

import math
from collections.abc import Sequence
from html import escape
from itertools import combinations
from typing import NamedTuple

from procurl.experiments.analysis.curve_intervals import improvement_at
from procurl.experiments.analysis.curves import Curve, by_label
from procurl.experiments.analysis.labels import MISSING, step_label
from procurl.experiments.analysis.standings import Standing, form_of
from procurl.experiments.analysis.statistics import Estimate, Interval

MOST_COMPARED = 12
SHADES = (0.55, 0.65, 0.75, 0.9)  # thresholds from which a cell of the matrix is darker


class Cell(NamedTuple):
    """HTML of a cell, and the number that its column is sorted by; None sorts last."""

    text: str  # HTML
    value: float | None


def final_results(rows: Sequence[Standing], places: Sequence[str]) -> str:
    """One row per contender. The page makes column headers sort on click.

    Args:
        rows: at least one.
        places: all labels of the page; the index of a strategy selects its color.
    """
    last = step_label(rows[0].steps[-1])
    threshold = rows[0].reached.goal if rows[0].reached else "threshold"
    heads = [("strategy", "ascending"), ("runs", "descending")]
    heads += [(f"at {step_label(step)}", "descending") for step in rows[0].steps]
    if rows[0].test is not None:
        heads.append((f"{rows[0].test_name} at {last}", "descending"))
    heads += [(f"IQM at {last}", "descending"), ("area", "descending")]
    heads += [(f"steps to {threshold}", "ascending"), ("env steps", "ascending")]
    heads += [("seconds", "ascending")]
    head = "".join(
        f'<th scope="col" data-first="{first}">{escape(text)}</th>' for text, first in heads
    )
    form = form_of(rows)
    body = "".join(_row(row, places.index(row.label), form) for row in rows)
    caption = '<caption class="unseen">Final results</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def improvement(curves: Sequence[Curve], rows: Sequence[Standing], places: Sequence[str]) -> str:
    """A matrix of the probabilities that a run of the row ends higher than one of the column."""
    if len(rows) < 2:
        return '<p class="empty">This needs at least two strategies.</p>'
    ranked = sorted(rows, key=lambda row: -_finite(row.performance[-1].mean, -math.inf))
    kept = {row.label for row in ranked[:MOST_COMPARED]}
    labels = [row.label for row in rows if row.label in kept]
    step = rows[0].steps[-1]
    curve = by_label(curves)
    chances = _chances([curve[label] for label in labels], step)
    over = " over the pool" if rows[0].test is not None else ""
    about = (
        f"Probability that a run of the row's strategy has a higher return{over} after {step:,} "
        "steps than a run of the column's. Ties count half. Below it, the 95% bootstrap interval."
    )
    if len(kept) < len(rows):
        about += f" Of {len(rows)} strategies, the {len(kept)} with the highest means are shown."
    head = "".join(f'<th scope="col">{escape(label)}</th>' for label in labels)
    body = "".join(
        f"<tr>{_name(label, places.index(label))}"
        + "".join(_chance(chances.get((label, other))) for other in labels)
        + "</tr>"
        for label in labels
    )
    return (
        f'<p class="about">{about}</p>'
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="improvement-title">'
        '<table class="matrix"><caption class="unseen">Probability of improvement</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _chances(curves: Sequence[Curve], step: int) -> dict[tuple[str, str], Estimate]:
    """The chances of all ordered pairs; without an interval if a side has a single run."""
    chances: dict[tuple[str, str], Estimate] = {}
    for one, other in combinations(curves, 2):
        chance = improvement_at(one, other, step)
        chances[one.label, other.label] = chance
        back = Estimate(1 - chance.value, 1 - chance.high, 1 - chance.low)
        chances[other.label, one.label] = back
    return chances


def _row(row: Standing, place: int, form: str) -> str:
    measured = [*row.performance, *([] if row.test is None else [row.test])]
    cells = [
        Cell(str(row.runs), row.runs),
        *(Cell(_interval(interval, form), interval.mean) for interval in measured),
        Cell(_estimate(row.iqm, form), row.iqm.value),
        Cell(_interval(row.area, form), row.area.mean),
        _threshold_cell(row),
        Cell(step_label(row.env_steps.mean), row.env_steps.mean),
        Cell(_seconds(row.seconds.mean), row.seconds.mean),
    ]
    data = "".join(f"<td{_value(cell.value)}>{cell.text}</td>" for cell in cells)
    return f"<tr>{_name(row.label, place)}{data}</tr>"


def _name(label: str, place: int) -> str:
    return (
        f'<th scope="row" data-value="{escape(label)}"><span data-swatch="{place}"></span> '
        f'<span class="name">{escape(label)}</span></th>'
    )


def _interval(interval: Interval, form: str) -> str:
    mean, _, half = format(interval, form).partition(" ± ")
    return mean + (half and f" <small>± {half}</small>")


def _estimate(estimate: Estimate, form: str) -> str:
    value, _, ends = format(estimate, form).partition(" [")
    return value + (ends and f" <small>[{ends}</small>")


def _threshold_cell(row: Standing) -> Cell:
    reached = row.reached
    if reached is None:
        return Cell(MISSING, None)
    count = f"{reached.reached} of {reached.runs}"
    return Cell(f"{escape(row.when_reached)} <small>{count}</small>", reached.median)


def _seconds(seconds: float) -> str:
    if math.isnan(seconds):
        return MISSING
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _chance(chance: Estimate | None) -> str:
    if chance is None or math.isnan(chance.value):
        return f'<td class="self">{MISSING}</td>'
    better = sum(chance.value >= shade for shade in SHADES)
    worse = sum(1 - chance.value >= shade for shade in SHADES)
    shade = f"b{better}" if better else f"w{worse}" if worse else "even"
    ends = "" if math.isnan(chance.low) else f"{chance.low:.2f} to {chance.high:.2f}"
    return f'<td class="{shade}">{chance.value:.2f}<span class="range">{ends}</span></td>'


def _value(value: float | None) -> str:
    known = value is not None and math.isfinite(value)
    return f' data-value="{value:.10g}"' if known else ""


def _finite(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise
