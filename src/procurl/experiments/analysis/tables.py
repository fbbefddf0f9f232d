"""Where each contender stands, as numbers, and tables of them as text, Markdown or CSV."""

import csv
import io
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curves import Curve, by_label
from procurl.experiments.analysis.statistics import (
    Estimate,
    Floats,
    Interval,
    TimeToThreshold,
    area_under_curve,
    iqm_interval,
    mean_interval,
    probability_of_improvement,
    time_to_threshold,
)

BASELINE = "iid"
MISSING = "–"
NUMERIC = frozenset("0123456789-–>")  # how the cells of a column of numbers begin
NO_EVALUATION = "there is no evaluation yet, so there is nothing to show"


class Table(NamedTuple):
    """Cells as they are shown."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Standing(NamedTuple):
    """What the runs of one contender came to; sort by these numbers, show the table's cells."""

    label: str
    runs: int
    steps: tuple[int, ...]  # that are shown
    performance: tuple[Interval, ...]  # at each of them
    iqm: Estimate  # at the last of them
    improvement: Estimate | None  # over the baseline there; None without it, or with one run
    area: Interval  # under the learning curve
    reached: TimeToThreshold | None  # the threshold; None where no mean is above 0
    env_steps: Interval  # at the last shown step, training and teacher
    seconds: Interval  # likewise; of the whole batch that a run was trained in
    test: Interval | None = None  # performance on the test pool there, where there is one


def standings(
    found: Sequence[Curve],
    steps: Sequence[int] | None = None,
    baseline: str = BASELINE,
    threshold: float | None = None,
) -> list[Standing]:
    """Every contender's numbers, in the order of the curves.

    Args:
        found: at least one curve.
        steps: to show; by default about a quarter, a half and all of training.
        baseline: the contender that the others are compared with, where it is there.
        threshold: for the steps to reach it; by default half of the best final mean, and none
            where that is not above 0.
    """
    if not found:
        raise ValueError(NO_EVALUATION)
    shown = tuple(shown_steps(found) if steps is None else steps)
    last = shown[-1]
    if threshold is None:
        means = [mean_interval(curve.at(last)).mean for curve in found]
        best = max((mean for mean in means if not math.isnan(mean)), default=0.0)
        threshold = best / 2 if best > 0 else None
    base = by_label(found).get(baseline)
    made = []
    for curve in found:
        until = curve.cut(last)
        made.append(
            Standing(
                curve.label,
                len(curve.seeds),
                shown,
                tuple(mean_interval(curve.at(step)) for step in shown),
                iqm_interval(curve.at(last)),
                _improvement(curve, base, last),
                mean_interval(area_under_curve(until.steps, until.performance)),
                None
                if threshold is None
                else time_to_threshold(until.steps, until.performance, threshold),
                mean_interval(curve.env_steps_at(last)),
                mean_interval(curve.seconds_at(last)),
            )
        )
    return made


def with_test(rows: Sequence[Standing], found: Sequence[Curve]) -> list[Standing]:
    """The same with the performance on the test pool, where the curves have any.

    Args:
        rows: the standings of these curves.
        found: in the same order.
    """
    if not _tested(found):
        return list(rows)
    return [
        row._replace(test=_test_at(curve, row.steps[-1]))
        for row, curve in zip(rows, found, strict=True)
    ]


def shown_steps(found: Sequence[Curve]) -> list[int]:
    """The evaluated steps nearest to a quarter, a half and all of training."""
    steps = max((curve.steps for curve in found), key=len)
    quarters = (steps[-1] / 4, steps[-1] / 2, steps[-1])
    return list(dict.fromkeys(int(steps[np.argmin(np.abs(steps - at))]) for at in quarters))


def terminal_table(found: Sequence[Curve]) -> Table:
    """The short form: performance along training, environment steps and time."""
    if not found:
        raise ValueError(NO_EVALUATION)
    shown = shown_steps(found)
    tested = _tested(found)
    head = ["strategy", "runs", *(f"at {short(step)}" for step in shown)]
    head += [f"test at {short(shown[-1])}"] * tested + ["env steps", "seconds"]
    rows = []
    for curve in found:
        cells = [str(mean_interval(curve.at(step))) for step in shown]
        cells += [str(_test_at(curve, shown[-1]))] * tested
        cells += [short(_latest(curve.env_steps)), f"{_latest(curve.seconds):.0f}"]
        rows.append((curve.label, str(len(curve.seeds)), *cells))
    return Table(tuple(head), tuple(rows))


def final_table(rows: Sequence[Standing], baseline: str = BASELINE) -> Table:
    """Everything that is known of every contender, for reports and papers."""
    first = rows[0]
    last = short(first.steps[-1])
    head = (
        "strategy",
        "runs",
        *(f"at {short(step)}" for step in first.steps),
        *([] if first.test is None else [f"test at {last}"]),
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
                *map(str, row.performance),
                *([] if row.test is None else [str(row.test)]),
                str(row.iqm),
                MISSING if row.improvement is None else str(row.improvement),
                str(row.area),
                *_reached_cells(row.reached, last),
                short(row.env_steps.mean),
                MISSING if math.isnan(row.seconds.mean) else f"{row.seconds.mean:.0f}",
            )
            for row in rows
        ),
    )


def numbers_table(rows: Sequence[Standing]) -> Table:
    """The same as plain numbers for a CSV file, an empty cell where there is none."""
    shown = rows[0].steps
    head = ["strategy", "runs"]
    for step in shown:
        head += [f"mean_{step}", f"ci95_{step}", f"runs_{step}"]
    if rows[0].test is not None:
        head += [f"{name}_{shown[-1]}" for name in ("test", "test_ci95", "test_runs")]
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
    """Aligned columns: those of numbers to the right, those of words to the left."""
    lines = [table.head, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, _of_numbers(table), strict=True)
        ).rstrip()
        for line in lines
    )


def as_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, aligned likewise; a bar within a cell is escaped."""
    rule = ["---:" if right else "---" for right in _of_numbers(table)]
    lines = [table.head, rule, *table.rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped) + "\n"


def as_csv(table: Table) -> str:
    """Comma-separated values with a header line."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.head)
    writer.writerows(table.rows)
    return file.getvalue()


def _improvement(curve: Curve, base: Curve | None, step: int) -> Estimate | None:
    """Over the baseline; a single run on either side tells nothing of a chance."""
    if base is None or base is curve:
        return None
    ours, theirs = curve.at(step), base.at(step)
    if min(_counted(ours), _counted(theirs)) < 2:
        return None
    return probability_of_improvement(ours, theirs)


def _counted(values: Floats) -> int:
    """How many runs were measured."""
    return int((~np.isnan(values)).sum())


def _tested(found: Sequence[Curve]) -> bool:
    return any(_counted(curve.test_performance) for curve in found)


def _test_at(curve: Curve, step: int) -> Interval:
    return mean_interval(curve._replace(performance=curve.test_performance).at(step))


def _reached_cells(reached: TimeToThreshold | None, last: str) -> tuple[str, str]:
    """How many runs got to the threshold, and after how many steps."""
    if reached is None:
        return MISSING, MISSING
    median = short(reached.median) if math.isfinite(reached.median) else f"> {last}"
    return f"{reached.reached} of {reached.runs}", median


def _of_numbers(table: Table) -> list[bool]:
    """Of each column, whether it holds numbers; the first never counts as such."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.head)
    return [i > 0 and all(x[:1] in NUMERIC for x in column) for i, column in enumerate(columns)]


def short(number: float) -> str:
    """250000 as 0.25M, 1500 as 1.5k."""
    if math.isnan(number):
        return MISSING
    if number >= 1e5:
        return f"{number / 1e6:.3g}M"
    return f"{number / 1e3:.3g}k" if number >= 1e3 else f"{number:.0f}"


def _latest(values: Floats) -> float:
    """The mean over runs at the last evaluation that any of them has."""
    return mean_interval(values[:, -1]).mean


def _plain(number: float | None) -> str:
    if number is None or not math.isfinite(number):
        return ""
    return str(int(number)) if float(number).is_integer() else f"{number:.6g}"
