"""Pages of strategies whose runs are spread over several pools."""

from collections.abc import Sequence
from pathlib import Path

from procurl.experiments.analysis.figures.curves import draw_curves
from procurl.experiments.analysis.figures.pools import draw_pool_means
from procurl.experiments.analysis.labels import step_label
from procurl.experiments.analysis.pool_spread import pool_spreads, pools_ahead, pools_table
from procurl.experiments.analysis.standings import BASELINE, standings
from procurl.experiments.analysis.tables import as_csv, as_markdown, final_table, numbers_table
from procurl.experiments.compact_records.record import CompactRecords
from procurl.experiments.paper.run_pages import (
    Page,
    RecordsBySweep,
    best_standing,
    complete_curves,
    curves_caption,
    picture,
)
from procurl.internals.files import write_text
from procurl.strategies.registry import DEFAULT_STRATEGY

ABOUT = (
    "Runs are spread over {n} pools, drawn with the seeds 0 to {last}. All strategies play the "
    "same pools with the same seeds. Intervals tell what to expect on further pools."
)


def pools_page(runs: RecordsBySweep, out: Path, rows: Sequence[str]) -> Page:
    """Strategies compared over several pools, with their means on each pool."""
    (records,) = runs.values()
    results = records.results
    curves = complete_curves(records, rows)
    last = min(int(curve.steps[-1]) for curve in curves)
    cut = [curve.cut(last) for curve in curves]
    ranked, spreads = standings(cut), pool_spreads(cut, last)
    write_text(out / "table.csv", as_csv(numbers_table(ranked)))
    draw_curves(curves, out / "curves", results.env)
    verdict = f"Highest at {step_label(last)} over {_pools(records)}: {best_standing(ranked)}."
    body = [ABOUT.format(n=len(results.pools), last=len(results.pools) - 1), ""]
    body += [as_markdown(final_table(ranked))]
    if spreads:
        write_text(out / "pools.csv", as_csv(pools_table(spreads)))
        draw_pool_means(spreads, out / "pools", results.env, last)
        ahead = {row.label: pools_ahead(row) for row in spreads}
        if DEFAULT_STRATEGY in ahead and BASELINE in ahead:
            where = ahead[DEFAULT_STRATEGY]
            verdict += f" {DEFAULT_STRATEGY} is better than {BASELINE} on {where}."
        body += [f"## Each pool\n\n{as_markdown(pools_table(spreads))}"]
        body += [f"{verdict}\n", picture("pools", "Mean return on each pool, and over all pools")]
    else:
        body += [f"{verdict}\n"]
    return Page("\n".join([*body, picture("curves", curves_caption(curves))]), verdict)


def _pools(records: CompactRecords) -> str:
    count = len(records.results.pools)
    return f"{count} pool{'s' * (count > 1)}"
