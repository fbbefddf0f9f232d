"""One strategy beside all others, on every environment."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curve_intervals import improvement, interval_at, interval_of
from procurl.experiments.analysis.curve_statistics import area_under_curve
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.figures.curves import draw_curves
from procurl.experiments.analysis.labels import step_label
from procurl.experiments.analysis.statistics import Estimate, Interval
from procurl.experiments.analysis.tables import Table, as_csv, as_markdown
from procurl.experiments.compact_records.record import CompactRecords
from procurl.experiments.paper.run_pages import Page, RecordsBySweep, curves_caption, picture
from procurl.internals.arrays import Floats
from procurl.internals.files import write_text

DRAWN = ("procurl-env", "procurl-val", "iid")  # beside the strategy and its best rivals
OPEN = "open"  # verdict if too few runs give no interval
HINTED = ("stages", "anneal")  # are told which tasks are easy
HEAD = (
    "sweep",
    "steps",
    "runs",
    "at the end",
    "area under curve",
    "compared with",
    "best of them",
    "its area",
    "P(larger area)",
    "verdict",
)


class Rival(NamedTuple):
    """The strategy with the largest area under its curve."""

    label: str
    area: Interval
    chance: Estimate  # that a run of ours has the larger area


def one_strategy_page(
    runs: RecordsBySweep, out: Path, ours: str, others: Mapping[str, tuple[str, ...]]
) -> Page:
    """A strategy beside the best of all others in each sweep, by the area under the curve.

    Args:
        runs: records of each sweep.
        out: folder of the figures and the table.
        ours: the strategy.
        others: the strategies to compare it with, by the name of the sweep.
    """
    lines, parts, verdicts = [], [], []
    for name, records in runs.items():
        if ours not in records.curves:
            continue
        curves = _until_the_same_step(records, (ours, *others[name]))
        mine = curves.pop(ours)
        last = int(mine.steps[-1])
        numbers = (
            name,
            step_label(last),
            str(len(mine.seeds)),
            str(interval_at(mine, last)),
            str(interval_of(mine, _area(mine))),
        )
        unaided = {label: curve for label, curve in curves.items() if not _is_aided(curve)}
        rivals = {
            "strategies without extra steps or hints": _rival(mine, unaided),
            "all": _rival(mine, curves),
        }
        for group, rival in rivals.items():
            area = str(rival.area)
            cells = (group, rival.label, area, str(rival.chance), _verdict(rival.chance))
            lines.append((*numbers, *cells))
        verdicts.append(_verdict(next(iter(rivals.values())).chance))
        shown = [*(rival.label for rival in rivals.values()), *DRAWN]
        drawn = [mine, *(curves[label] for label in dict.fromkeys(shown) if label in curves)]
        draw_curves(drawn, out / f"curves-{name}", name)
        parts.append(picture(f"curves-{name}", f"{name}. {curves_caption(drawn)}"))
    table = Table(HEAD, tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    good = sum(verdict not in ("behind", OPEN) for verdict in verdicts)
    sentence = (
        f"By area, {ours} is best or tied for best of the strategies without extra steps or hints "
        f"in {good} of {len(verdicts)} sweeps."
    )
    if unsettled := verdicts.count(OPEN):
        sentence += f" In {unsettled}, the best of the others has too few runs to tell."
    return Page("\n".join([as_markdown(table), f"{sentence}\n", *parts]), sentence)


def _until_the_same_step(records: CompactRecords, names: tuple[str, ...]) -> dict[str, Curve]:
    """The curves of these contenders up to the last step of all their runs."""
    curves = {name: records.curves[name] for name in names if name in records.curves}
    complete = [
        curve.steps[~np.isnan(curve.performance).any(axis=0)].max() for curve in curves.values()
    ]
    return {name: curve.cut(int(min(complete))) for name, curve in curves.items()}


def _area(curve: Curve) -> Floats:
    return area_under_curve(curve.steps, curve.performance)


def _is_aided(curve: Curve) -> bool:
    """Whether a strategy takes steps beside training, or is told which tasks are easy."""
    last = int(curve.steps[-1])
    return curve.label in HINTED or float(np.nanmax(curve.env_steps_at(last))) > 1.05 * last


def _rival(mine: Curve, curves: Mapping[str, Curve]) -> Rival:
    areas = {label: _area(curve) for label, curve in curves.items()}
    label = max(areas, key=lambda name: float(areas[name].mean()))
    best = curves[label]
    chance = improvement(mine, best, _area(mine), areas[label])
    return Rival(label, interval_of(best, areas[label]), chance)


def _verdict(chance: Estimate) -> str:
    """`tied` if the interval of the chance contains one half, `open` if there is no interval."""
    if math.isnan(chance.low):
        return OPEN
    return "best" if chance.low > 0.5 else "behind" if chance.high < 0.5 else "tied"
