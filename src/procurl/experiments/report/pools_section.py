"""The page's section on pools, if runs were spread over several."""

from collections.abc import Sequence
from html import escape

from procurl.experiments.analysis.pool_spread import PoolSpread, pools_table


def pools_section(rows: Sequence[PoolSpread], places: Sequence[str], step: int) -> str:
    """HTML of the section; empty without rows.

    Args:
        rows: from `pool_spreads`.
        places: all labels of the page; the index of a strategy selects its color.
        step: training steps of the means.
    """
    if not rows:
        return ""
    table = pools_table(rows)
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.head)
    body = "".join(
        f'<tr><th scope="row"><span data-swatch="{places.index(label)}"></span> '
        f'<span class="name">{escape(label)}</span></th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for label, *cells in table.rows
    )
    return (
        '<section id="pools" aria-labelledby="pools-title">'
        '<h2 id="pools-title">Pools</h2>'
        f'<p class="about">Mean return on each pool after {step:,} steps. The standard deviation '
        "between pools is that of their expected returns, without what runs on the same pool "
        "differ by. Intervals on this page tell what to expect on further pools.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="pools-title">'
        '<table><caption class="unseen">Pools</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )
