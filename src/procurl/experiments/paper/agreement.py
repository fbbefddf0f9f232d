"""Our numbers beside the paper's: rows, steps, and whether they agree."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from procurl.experiments.analysis.curve_intervals import interval_at
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.figures.curves import Pair
from procurl.experiments.analysis.labels import MISSING, step_label
from procurl.experiments.analysis.statistics import Interval
from procurl.experiments.analysis.tables import Table
from procurl.experiments.paper.published import published_number
from procurl.experiments.presets import preset

# The paper prints two decimals, so its mean and its interval may each be half a unit off.
ROUNDING = 0.01
QUARTERS = (250_000, 500_000, 1_000_000)
HARD_STEPS = (*QUARTERS, 1_500_000, 2_000_000)

METRICS_ROWS = (
    "procurl",
    "procurl-env",
    "procurl-env-4",
    "procurl-env-2",
    "procurl-val",
    "procurl-out",
    "space",
    "space-alt",
    "spdl",
    "plr",
    "iid",
    "easy",
    "hard",
)
CURVE_ROWS = tuple(name for name in METRICS_ROWS if name not in ("procurl-env-4", "procurl-env-2"))
TEST_ROWS = tuple(name for name in CURVE_ROWS if name not in ("easy", "hard"))
HARD_ROWS = ("procurl", "procurl-val", "procurl-out", "iid")


class Row(NamedTuple):
    """A row of a table: its label, our contender, and the paper's row."""

    label: str
    contender: str
    paper: str


class Ablation(NamedTuple):
    """A setting of `procurl-val` that the paper varies."""

    table: str  # of the paper's numbers
    symbol: str
    setting: str
    values: tuple[float, ...]

    def contender(self, env: str, value: float) -> str:
        """The strategy with that value; the plain strategy if the value is the paper's own."""
        usual = {"beta": preset(env).settings["procurl-val"]["beta"], "epsilon": 0.0, "gamma2": 1.0}
        same = usual[self.setting] == value
        return "procurl-val" if same else f"procurl-val:{self.setting}={value:g}"

    def rows(self, env: str) -> tuple[Row, ...]:
        """A row per value."""
        return tuple(
            Row(f"{self.symbol} = {value:g}", self.contender(env, value), f"{value:g}")
            for value in self.values
        )


ABLATIONS: Mapping[str, Ablation] = {
    "beta": Ablation("beta", "β", "beta", (10, 15, 20, 25, 30)),
    "noise": Ablation("noise", "ε", "epsilon", (0, 0.01, 0.05, 0.1, 0.2)),
    "gamma": Ablation("gamma", "γ2/γ1", "gamma2", (0.6, 0.8, 1.0, 1.2, 1.4)),
}


def plain_rows(names: Sequence[str]) -> tuple[Row, ...]:
    """Rows of strategies under their own names."""
    return tuple(Row(name, name, name) for name in names)


def compare_rows(
    curves: Mapping[str, Curve], rows: Sequence[Row], table: str, env: str, step: int
) -> list[Pair]:
    """Our performance and the paper's in every row at one step; None if missing."""
    made = []
    for row in rows:
        curve = curves.get(row.contender)
        ours = None if curve is None else interval_or_none(interval_at(curve, step))
        made.append(
            Pair(row.label, ours, interval_or_none(published_number(table, env, row.paper, step)))
        )
    return made


def agrees(pair: Pair) -> bool | None:
    """Whether our mean lies inside the paper's 95% interval widened by ours; None if unknown."""
    if pair.ours is None or pair.theirs is None or math.isnan(pair.theirs.half_width):
        return None
    allowed = pair.theirs.half_width + _width(pair.ours) + ROUNDING
    return abs(pair.ours.mean - pair.theirs.mean) <= allowed


def side_by_side(by_step: Mapping[int, Sequence[Pair]], first: str) -> Table:
    """A table of our numbers and the paper's at every step, and whether the last ones agree.

    Args:
        by_step: the same rows at every step.
        first: head of the first column.
    """
    head = [first, "seeds, ours", "seeds, paper"]
    for step in by_step:
        head += [f"ours at {step_label(step)}", "paper"]
    last = list(by_step.values())[-1]
    lines = []
    for i, row in enumerate(last):
        seeds = [_seeds(row.ours), _seeds(row.theirs)]
        cells = [
            str(x or MISSING) for rows in by_step.values() for x in (rows[i].ours, rows[i].theirs)
        ]
        lines.append((row.label, *seeds, *cells, verdict(agrees(row))))
    return Table((*head, "agrees"), tuple(lines))


def agreement(rows: Sequence[Pair], step: int) -> str:
    """A sentence that says how many rows agree at a step, and which do not."""
    judged = {row.label: agrees(row) for row in rows}
    known = {label: agreed for label, agreed in judged.items() if agreed is not None}
    if not known:
        return f"None of our numbers can be compared with the paper's at {step_label(step)} steps."
    outside = [label for label, agreed in known.items() if not agreed]
    text = (
        f"At {step_label(step)} steps, {len(known) - len(outside)} of our {len(known)} means lie "
        "inside the paper's 95% interval widened by ours"
    )
    return text + (f"; outside: {', '.join(outside)}." if outside else ".")


def verdict(agreed: bool | None) -> str:
    """`yes`, `no`, or a dash."""
    return MISSING if agreed is None else "yes" if agreed else "no"


def interval_or_none(interval: Interval) -> Interval | None:
    """The interval; None if no run was counted."""
    return None if math.isnan(interval.mean) else interval


def evaluation_steps(curves: Mapping[str, Curve], steps: Sequence[int]) -> tuple[int, ...]:
    """The given steps that were evaluated; if there are none, the last evaluated step."""
    there = {int(step) for curve in curves.values() for step in curve.steps}
    shown = tuple(step for step in steps if step in there)
    return shown or (max(there),)


def _width(interval: Interval) -> float:
    return 0.0 if math.isnan(interval.half_width) else interval.half_width


def _seeds(interval: Interval | None) -> str:
    return MISSING if interval is None else str(interval.runs)
