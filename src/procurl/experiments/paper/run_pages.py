"""Pages built from runs: learning curves, tables, ablations, curricula and engines."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curve_intervals import (
    difference_at,
    interval_at,
    interval_of,
)
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.figures.curriculum import draw_curriculum, typical_pictures
from procurl.experiments.analysis.figures.curves import (
    Pair,
    band_label,
    draw_ablation,
    draw_curves,
    draw_intervals,
)
from procurl.experiments.analysis.labels import MISSING, step_label
from procurl.experiments.analysis.standings import Standing, standings
from procurl.experiments.analysis.tables import (
    Table,
    as_csv,
    as_markdown,
    final_table,
    numbers_table,
)
from procurl.experiments.analysis.trends import features_of
from procurl.experiments.compact_records.record import CompactRecords
from procurl.experiments.paper.agreement import (
    ABLATIONS,
    CURVE_ROWS,
    HARD_ROWS,
    HARD_STEPS,
    METRICS_ROWS,
    QUARTERS,
    TEST_ROWS,
    Row,
    agreement,
    compare_rows,
    evaluation_steps,
    interval_or_none,
    plain_rows,
    side_by_side,
)
from procurl.experiments.paper.published import published_number, published_numbers
from procurl.internals.files import write_text

CURRICULUM_ROWS = ("procurl-env", "procurl-val", "iid")
ENGINES_ROWS = ("procurl-val", "iid")
RETURN = "mean return over the pool"


class Page(NamedTuple):
    """The page of an entry: its text in Markdown, and the result in one sentence."""

    body: str
    verdict: str = ""


RecordsBySweep = Mapping[str, CompactRecords]  # keyed by the name of the sweep


def curves_page(runs: RecordsBySweep, out: Path) -> Page:
    """Learning curves against training steps, environment steps and time, with final numbers."""
    records = _only(runs)
    curves, env = complete_curves(records, CURVE_ROWS), records.results.env
    page = _standings(curves, records.results.steps, env, out)
    pictures = [
        picture("curves-env-steps", "The same against environment steps"),
        picture("curves-time", "The same against seconds of training, for a whole batch of runs"),
    ]
    for x, name in (("env", "curves-env-steps"), ("seconds", "curves-time")):
        draw_curves(curves, out / name, env, x=x)
    return page._replace(body="\n".join([page.body, *pictures]))


def field_page(runs: RecordsBySweep, out: Path, rows: Sequence[str]) -> Page:
    """Strategies of other papers and made by hand beside the paper's."""
    records = _only(runs)
    curves = complete_curves(records, rows)
    return _standings(curves, records.results.steps, records.results.env, out)


def targets_page(runs: RecordsBySweep, out: Path, rows: Sequence[str]) -> Page:
    """Strategies compared on the targets and on the training pool."""
    records = _only(runs)
    curves = complete_curves(records, rows)
    env = records.results.env
    draw_curves(
        [curve.on_test for curve in curves], out / "curves-targets", env, over="the targets"
    )
    draw_curves(curves, out / "curves", env)
    last = min(int(curve.steps[-1]) for curve in curves)
    cut = [curve.cut(last) for curve in curves]
    on_targets = standings([curve.on_test for curve in cut])
    on_pool = standings(cut)
    write_text(out / "table.csv", as_csv(numbers_table(on_targets)))
    write_text(out / "table-pool.csv", as_csv(numbers_table(on_pool)))
    verdict = f"Highest on the targets at {step_label(last)}: {best_standing(on_targets)}."
    body = [
        f"## On the targets\n\n{as_markdown(final_table(on_targets))}",
        f"{verdict}\n",
        picture("curves-targets", f"On the targets. {curves_caption(curves)}"),
        f"## On the training pool\n\n{as_markdown(final_table(on_pool))}",
        picture("curves", f"On the training pool. {curves_caption(curves)}"),
    ]
    return Page("\n".join(body), verdict)


def best_standing(rows: Sequence[Standing]) -> str:
    """The contender with the highest mean at the last step, with its interval."""
    best = max(rows, key=lambda row: np.nan_to_num(row.performance[-1].mean, nan=-np.inf))
    return f"{best.label} with {best.performance[-1]}"


def _standings(curves: Sequence[Curve], steps: int, env: str, out: Path) -> Page:
    """Curves and their numbers, compared up to the last step that all runs have reached."""
    draw_curves(curves, out / "curves", env)
    last = min(int(curve.steps[-1]) for curve in curves)
    rows = standings([curve.cut(last) for curve in curves])
    write_text(out / "table.csv", as_csv(numbers_table(rows)))
    until = f" of {step_label(steps)}, the last step of all runs" if last < steps else ""
    verdict = f"Highest at {step_label(last)}{until}: {best_standing(rows)}."
    figure = picture("curves", curves_caption(curves))
    body = [as_markdown(final_table(rows)), f"{verdict}\n", figure]
    return Page("\n".join(body), verdict)


def _complete(curves: Sequence[Curve]) -> list[Curve]:
    """Each curve up to the last step that all its runs have reached, or its first step."""
    cut = []
    for curve in curves:
        everywhere = np.flatnonzero(~np.isnan(curve.performance).any(axis=0))
        cut.append(curve.cut(int(curve.steps[everywhere.max(initial=0)])))
    return cut


def metrics_page(runs: RecordsBySweep, out: Path) -> Page:
    """Performance along training, environment steps and time, ours beside the paper's."""
    records = _only(runs)
    results, curves = records.results, records.curves
    rows = plain_rows(METRICS_ROWS)
    by_step = _by_step(curves, rows, "metrics", results.env, QUARTERS)
    cost = cost_table(records, max(by_step))
    panels = {f"at {step_label(step)}": pairs for step, pairs in by_step.items()}
    draw_intervals(panels, out / "metrics", RETURN)
    figure = picture("metrics", "Means with 95% intervals; filled: ours, hollow: the paper's")
    return _comparison_page(out, by_step, "strategy", [as_markdown(cost), figure])


def ablation_page(runs: RecordsBySweep, out: Path, which: str) -> Page:
    """Performance of `procurl-val` with one setting varied, ours beside the paper's."""
    records = _only(runs)
    results, curves = records.results, records.curves
    ablation = ABLATIONS[which]
    by_step = _by_step(curves, ablation.rows(results.env), ablation.table, results.env, QUARTERS)
    panels = {
        f"at {step_label(step)}": list(zip(ablation.values, pairs, strict=True))
        for step, pairs in by_step.items()
    }
    draw_ablation(panels, out / "ablation", ablation.symbol)
    figure = picture("ablation", "Means with 95% intervals; filled: ours, hollow: the paper's")
    return _comparison_page(out, by_step, "procurl-val", [figure])


def best_models_page(runs: RecordsBySweep, out: Path) -> Page:
    """Each run's best evaluation on the training pool, with its performance on the test pool."""
    records = _only(runs)
    results, curves = records.results, records.curves
    head = ("strategy", "seeds, ours", "training pool, ours", "paper", "test pool, ours", "paper")
    lines: list[tuple[str, ...]] = []
    panels: dict[str, list[Pair]] = {"training pool": [], "test pool": []}
    for name in TEST_ROWS:
        cells = []
        best = curves[name].best(results.steps) if name in curves else (None, None)
        for panel, quantity, values in zip(panels, ("best", "best_test"), best, strict=True):
            ours = None
            if values is not None:
                ours = interval_or_none(interval_of(curves[name], values))
            paper = interval_or_none(
                published_number("test", results.env, name, results.steps, quantity)
            )
            panels[panel].append(Pair(name, ours, paper))
            cells += [str(ours or MISSING), str(paper or MISSING)]
        count = str(len(curves[name].seeds)) if name in curves else MISSING
        lines.append((name, count, *cells))
    table = Table(head, tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    draw_intervals(panels, out / "test", RETURN)
    caption = "Best models; filled: ours with 95% intervals, hollow: the paper's means"
    verdict = _test_gap(*panels.values())
    return Page("\n".join([as_markdown(table), f"{verdict}\n", picture("test", caption)]), verdict)


def _test_gap(train: Sequence[Pair], test: Sequence[Pair]) -> str:
    """How much lower the test pool's return is, averaged over rows that both have."""
    gaps = [
        (mine.ours.mean - tested.ours.mean, mine.theirs.mean - tested.theirs.mean)
        for mine, tested in zip(train, test, strict=True)
        if mine.ours and mine.theirs and tested.ours and tested.theirs
    ]
    if not gaps:
        return "No strategy has both our numbers and the paper's."
    ours, paper = (sum(gap) / len(gaps) for gap in zip(*gaps, strict=True))
    return (
        f"On the test pool, our models return {ours:.2f} less on average, the paper's {paper:.2f} "
        f"less ({len(gaps)} strategies)."
    )


def hard_page(runs: RecordsBySweep, out: Path) -> Page:
    """The harder pool: performance along training, ours beside the paper's."""
    records = _only(runs)
    results, curves = records.results, records.curves
    by_step = _by_step(curves, plain_rows(HARD_ROWS), "hard", results.env, HARD_STEPS)
    drawn = _curves_of(curves, HARD_ROWS)
    draw_curves(drawn, out / "curves", "harder pool")
    figure = picture("curves", curves_caption(drawn))
    return _comparison_page(out, by_step, "strategy", [figure])


def curriculum_page(runs: RecordsBySweep, out: Path, steps: Sequence[int]) -> Page:
    """Features of the tasks that were played along training, with pictures of typical ones."""
    records = _only(runs)
    results = records.results
    features = features_of(results.pool)
    trends = records.trends_of(CURRICULUM_ROWS)
    if not trends:
        raise ValueError(f"the records have no picked tasks of {', '.join(CURRICULUM_ROWS)}")
    shown_trends = [trend for trend in trends if trend.label == "procurl-val"] or trends
    shown = [step for step in steps if step <= results.steps]
    pictures = typical_pictures(shown_trends, features, results.env, results.pool, shown)
    draw_curriculum(trends, features, out / "curriculum", pictures)
    counts = {label: len(records.trends_of([label])) for label in CURRICULUM_ROWS}
    run_counts = ", ".join(f"{label} {count} runs" for label, count in counts.items())
    caption = (
        f"Features of the tasks that were played ({run_counts}), and typical tasks of "
        f"{shown_trends[0].label}"
    )
    return Page(picture("curriculum", caption))


def engines_page(runs: RecordsBySweep, out: Path) -> Page:
    """The same strategies trained by two engines, up to the last step of both."""
    sides = list(runs.values())
    head = ("strategy", "at", "JAX", "seeds", "SB3", "seeds", "JAX − SB3, with its 95% interval")
    lines, drawn, apart = [], [], []
    for label in ENGINES_ROWS:
        curves = [_curves_of(side.curves, [label])[0] for side in sides]
        ours, other = (curve.cut(min(curve.steps[-1] for curve in curves)) for curve in curves)
        for side, curve in zip(sides, (ours, other), strict=True):
            drawn.append(curve._replace(label=f"{label} ({side.results.engine})"))
        both = np.intersect1d(ours.steps, other.steps).tolist()
        for step in sorted({both[(len(both) - 1) // 2], both[-1]}):
            between = difference_at(ours, other, step)
            apart += [f"{label} at {step_label(step)}"] * (between.low > 0 or between.high < 0)
            means = (interval_at(curve, step) for curve in (ours, other))
            cells = [cell for mean in means for cell in (str(mean), str(mean.runs))]
            lines.append((label, step_label(step), *cells, str(between)))
    table = Table(head, tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    draw_curves(drawn, out / "curves", "both engines")
    verdict = (
        f"The engines differ: {', '.join(apart)}."
        if apart
        else f"All {len(lines)} intervals of the engines' difference contain 0."
    )
    parts = [as_markdown(table), f"{verdict}\n", picture("curves", curves_caption(drawn))]
    return Page("\n".join(parts), verdict)


def variants_page(runs: RecordsBySweep, out: Path, strategies: Collection[str]) -> Page:
    """Strategies with settings other than the paper's, beside the paper's numbers if any."""
    curves = {
        label: curve
        for records in runs.values()
        for label, curve in records.curves.items()
        if label.partition(":")[0] in strategies
    }
    plain = next(iter(runs.values())).results
    env = plain.env
    if not any((key.table, key.env) == ("metrics", env) for key in published_numbers()):
        return _standings(_complete(list(curves.values())), plain.steps, env, out)
    rows = [Row(label, label, label.partition(":")[0]) for label in curves]
    by_step = _by_step(curves, rows, "metrics", env, QUARTERS)
    drawn = list(curves.values())
    draw_curves(drawn, out / "curves", env)
    return _comparison_page(out, by_step, "ours", [picture("curves", curves_caption(drawn))])


def _comparison_page(
    out: Path, by_step: Mapping[int, Sequence[Pair]], first: str, more: Sequence[str]
) -> Page:
    """A page with both numbers, a sentence on the last step, and further parts."""
    table = side_by_side(by_step, first)
    write_text(out / "table.csv", as_csv(table))
    last = max(by_step)
    sentence = agreement(by_step[last], last)
    return Page("\n".join([as_markdown(table), f"{sentence}\n", *more]), sentence)


def _by_step(
    curves: Mapping[str, Curve], rows: Sequence[Row], table: str, env: str, steps: Sequence[int]
) -> dict[int, list[Pair]]:
    shown = evaluation_steps(curves, steps)
    return {step: compare_rows(curves, rows, table, env, step) for step in shown}


def cost_table(records: CompactRecords, step: int) -> Table:
    """Environment steps and time at a step; a batch's time is divided among its runs."""
    env, curves = records.results.env, records.curves
    head = (
        "strategy",
        f"env steps at {step_label(step)}, ours",
        "paper",
        "seconds per run, ours",
        "paper, minutes",
    )
    lines = []
    for name in METRICS_ROWS:
        cells = [MISSING, MISSING]
        if name in curves:
            steps = interval_of(curves[name], curves[name].env_steps_at(step))
            seconds = interval_of(curves[name], curves[name].seconds_at(step))
            width = int(records.facts_of(name).get("width") or 1)
            cells = [step_label(steps.mean), f"{seconds.mean / width:.3g}"]
        paper = [
            published_number("metrics", env, name, step, quantity).mean
            for quantity in ("env_steps", "minutes")
        ]
        lines.append((name, cells[0], step_label(paper[0]), cells[1], step_label(paper[1])))
    return Table(head, tuple(lines))


def _only(runs: RecordsBySweep) -> CompactRecords:
    (records,) = runs.values()
    return records


def complete_curves(records: CompactRecords, names: Sequence[str]) -> list[Curve]:
    """The curves of these contenders, each up to the last step that all its runs have reached."""
    return _complete(_curves_of(records.curves, names))


def _curves_of(curves: Mapping[str, Curve], names: Sequence[str]) -> list[Curve]:
    """The curves of these contenders, in that order; raises ValueError if there are none."""
    chosen = [curves[name] for name in names if name in curves]
    if not chosen:
        raise ValueError(f"the records have none of {', '.join(names)}")
    return chosen


def curves_caption(curves: Sequence[Curve]) -> str:
    """The caption of a figure of learning curves."""
    return band_label(curves, "Mean return ± 1 standard error")


def picture(name: str, caption: str) -> str:
    return f"![{caption}]({name}.png)\n\n*{caption}.*\n"
