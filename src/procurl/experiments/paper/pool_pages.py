"""Pages of strategies whose runs are spread over several pools."""

from pathlib import Path

from procurl.experiments.paper.agreement import POOLS_ROWS
from procurl.experiments.paper.run_pages import Page, RecordsBySweep, field_page


def pools_page(runs: RecordsBySweep, out: Path) -> Page:
    """Strategies compared over several pools."""
    return field_page(runs, out, POOLS_ROWS)
