"""The page's section on groups with a signal, for students that learn from groups."""

from collections.abc import Sequence
from html import escape

import numpy as np

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.labels import MISSING
from procurl.internals.arrays import Floats

PARTS = 4  # of a run


def signal_section(curves: Sequence[Curve], places: Sequence[str], steps: int) -> str:
    """HTML of the section; empty without curves.

    Args:
        curves: from `signal_curves`.
        places: all labels of the page; the index of a strategy selects its color.
        steps: planned samples per run.
    """
    if not curves:
        return ""
    heads = ["strategy", "whole run", *(f"quarter {part + 1}" for part in range(PARTS))]
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    body = "".join(_row(curve, places.index(curve.label), steps) for curve in curves)
    return (
        '<section id="signal" aria-labelledby="signal-title">'
        '<h2 id="signal-title">Groups with a signal</h2>'
        '<p class="about">Share of the groups of completions whose rewards differ, averaged over '
        "runs. The other groups have cost as much and teach nothing.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="signal-title">'
        '<table><caption class="unseen">Groups with a signal</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _row(curve: Curve, place: int, steps: int) -> str:
    # An evaluation tells of the samples before it, so that the last one of a quarter is at its end.
    part = np.clip(np.ceil(PARTS * curve.steps / steps).astype(int) - 1, 0, PARTS - 1)
    shares = [curve.performance, *(curve.performance[:, part == i] for i in range(PARTS))]
    cells = "".join(f"<td>{_percent(values)}</td>" for values in shares)
    return (
        f'<tr><th scope="row"><span data-swatch="{place}"></span> '
        f'<span class="name">{escape(curve.label)}</span></th>{cells}</tr>'
    )


def _percent(values: Floats) -> str:
    known = values[np.isfinite(values)]
    return f"{known.mean():.0%}" if known.size else MISSING
