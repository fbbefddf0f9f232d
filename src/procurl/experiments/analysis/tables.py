"""Tables of standings, as text, Markdown or CSV."""

import csv
import io
import math
from collections.abc import Sequence
from typing import NamedTuple

from procurl.experiments.analysis.curve_intervals import interval_at, interval_of
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.labels import MISSING, one_line, return_format, step_label
from procurl.experiments.analysis.standings import (
    BASELINE,
    NO_EVALUATION,
    Standing,
    form_of,
    shown_steps,
)
from procurl.experiments.analysis.statistics import (
    mean_interval,
)
from procurl.internals.arrays import Floats

FORMULA = ("=", "+", "-", "@", "\t")  # how the cells begin that spreadsheets compute
NUMERIC = frozenset("0123456789-–>")  # how the cells of a column of numbers begin


class Table(NamedTuple):
    """A table of text cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def terminal_table(curves: Sequence[Curve]) -> Table:
    """The short table of the terminal: performance along training, environment steps and time."""
    if not curves:
        raise ValueError(NO_EVALUATION)
    shown = shown_steps(curves)
    tested = any(curve.has_test for curve in curves)
    head = ["strategy", "runs", *(f"at {step_label(step)}" for step in shown)]
    head += [f"{curves[0].test_name} at {step_label(shown[-1])}"] * tested
    head += ["env steps", "seconds"]
    found = [[interval_at(curve, step) for step in shown] for curve in curves]
    form = return_format(interval.mean for row in found for interval in row)
    rows = []
    for curve, intervals in zip(curves, found, strict=True):
        cells = [format(interval, form) for interval in intervals]
        cells += [format(interval_of(curve, curve.test_at(shown[-1])), form)] * tested
        cells += [step_label(_latest(curve.env_steps)), _seconds(_latest(curve.seconds))]
        rows.append((curve.label, str(len(curve.seeds)), *cells))
    return Table(tuple(head), tuple(rows))


def final_table(rows: Sequence[Standing], baseline: str = BASELINE) -> Table:
    """The full table of reports and papers: every number of every contender."""
    first, form = rows[0], form_of(rows)
    last = step_label(first.steps[-1])
    head = (
        "strategy",
        "runs",
        *(f"at {step_label(step)}" for step in first.steps),
        *([] if first.test is None else [f"{first.test_name} at {last}"]),
        f"IQM at {last}",
        f"P(better than {baseline})",
        "area under curve",
        f"runs that reach {first.reached.goal if first.reached else 'a threshold'}",
        "median steps to it",
        "env steps",
        "seconds",
    )
    return Table(
        head,
        tuple(
            (
                row.label,
                str(row.runs),
                *(format(interval, form) for interval in row.performance),
                *([] if row.test is None else [format(row.test, form)]),
                format(row.iqm, form),
                MISSING if row.improvement is None else str(row.improvement),
                format(row.area, form),
                *_reached_cells(row),
                step_label(row.env_steps.mean),
                _seconds(row.seconds.mean),
            )
            for row in rows
        ),
    )


def numbers_table(rows: Sequence[Standing]) -> Table:
    """The full table as plain numbers for a CSV file; missing numbers are empty cells."""
    shown = rows[0].steps
    head = ["strategy", "runs"]
    for step in shown:
        head += [f"mean_{step}", f"ci95_{step}", f"runs_{step}"]
    if rows[0].test is not None:
        name = rows[0].test_name
        head += [f"{column}_{shown[-1]}" for column in (name, f"{name}_ci95", f"{name}_runs")]
    head += ["iqm", "iqm_low", "iqm_high", "improvement", "improvement_low", "improvement_high"]
    head += ["area", "area_ci95", "threshold", "reached", "median_steps_to_reach"]
    head += ["env_steps", "env_steps_ci95", "seconds"]
    lines = []
    for row in rows:
        cells: list[float | None] = []
        for interval in row.performance:
            cells += interval
        cells += row.test or ()
        cells += [*row.iqm, *(row.improvement or (None, None, None)), *row.area[:2]]
        goal = row.reached
        cells += (goal.threshold, goal.reached, goal.median) if goal else (None, None, None)
        cells += [*row.env_steps[:2], row.seconds.mean]
        lines.append((row.label, str(row.runs), *map(_plain, cells)))
    return Table(tuple(head), tuple(lines))


def as_text(table: Table) -> str:
    """Aligned columns: numbers to the right, words to the left."""
    lines = [tuple(map(one_line, line)) for line in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, _of_numbers(table), strict=True)
        ).rstrip()
        for line in lines
    )


def as_markdown(table: Table) -> str:
    """A GitHub Markdown table, aligned likewise. Cells hold no HTML, bars or line ends."""
    rule = ["---:" if right else "---" for right in _of_numbers(table)]
    lines = [table.head, rule, *table.rows]
    escaped = ([_markdown_cell(cell) for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped) + "\n"


def as_csv(table: Table) -> str:
    """Comma-separated values with a header line. No cell is a formula to a spreadsheet."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([_csv_cell(cell) for cell in line] for line in (table.head, *table.rows))
    return file.getvalue()


def _markdown_cell(cell: str) -> str:
    plain = one_line(cell).replace("&", "&amp;").replace("<", "&lt;")
    return plain.replace("\\|", "\\&#124;").replace("|", r"\|")


def _csv_cell(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet would compute it."""
    plain = one_line(cell)
    return f"'{plain}" if plain.startswith(FORMULA) and not _is_number(plain) else plain


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _reached_cells(row: Standing) -> tuple[str, str]:
    """How many runs reached the threshold, and after how many steps."""
    if row.reached is None:
        return MISSING, MISSING
    return f"{row.reached.reached} of {row.reached.runs}", row.when_reached


def _of_numbers(table: Table) -> list[bool]:
    """Whether each column holds numbers; the first column never does."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.head)
    return [i > 0 and all(x[:1] in NUMERIC for x in column) for i, column in enumerate(columns)]


def _seconds(seconds: float) -> str:
    return MISSING if math.isnan(seconds) else f"{seconds:.0f}"


def _latest(values: Floats) -> float:
    """The mean over runs at the last evaluation that any run has."""
    return mean_interval(values[:, -1]).mean


def _plain(number: float | None) -> str:
    if number is None or not math.isfinite(number):
        return ""
    return str(int(number)) if float(number).is_integer() else f"{number:.6g}"
