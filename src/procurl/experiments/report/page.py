"""`procurl report`: one self-contained HTML file, with tables and figures in files next to it.

The page contains its style, scripts and data and needs no network. A content security policy with
their hashes stops the browser from running or loading anything else.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from string import Template

import numpy as np

from procurl import __version__
from procurl.experiments.analysis.curves import Curve, learning_curves
from procurl.experiments.analysis.figures.curriculum import draw_curriculum
from procurl.experiments.analysis.figures.curves import AXES, draw_curves
from procurl.experiments.analysis.figures.pools import draw_pool_means
from procurl.experiments.analysis.figures.signal import draw_signal, signal_curves
from procurl.experiments.analysis.pool_spread import pool_spreads, pools_table
from procurl.experiments.analysis.standings import Standing, standings, with_test
from procurl.experiments.analysis.tables import as_csv, as_markdown, final_table, numbers_table
from procurl.experiments.analysis.trends import features_of, trends
from procurl.experiments.compact_records.files import has_records, read_records
from procurl.experiments.report import html_tables, html_text
from procurl.experiments.report.curve_data import (
    cost_payload,
    curves_payload,
    return_range,
    single_runs,
    unit_returns,
)
from procurl.experiments.report.encoding import script_json
from procurl.experiments.report.explorer_data import explorer_payload, select_runs
from procurl.experiments.report.pools_section import pools_section
from procurl.experiments.report.signal_table import signal_section
from procurl.internals.files import write_text
from procurl.records.results import Results
from procurl.records.store import read_store

PAGE = "report.html"
MARKDOWN, CSV = "table.md", "table.csv"
CURRICULUM, SIGNAL = "curriculum", "signal"
POOLS, POOLS_CSV = "pools", "pools.csv"
FIGURE_CURVES = 24  # per figure
FIGURE_STRATEGIES, FIGURE_SEEDS = 12, 8  # in the figure of the curriculum
SCRIPTS = ("read", "chart", "curves", "tables", "tasks", "moment", "trends", "explorer", "begin")


def write_report(folder: Path) -> Path:
    """Write report.html, tables and figures into `folder` and return the page's path.

    The folder has an experiment's store or compact records. Raises ValueError, before writing
    anything, if there is no evaluation yet.
    """
    if has_records(folder):
        return _write(folder, read_records(folder).results)
    with read_store(folder) as store:
        return _write(folder, replace(store.results(), detail=store.detail))  # the open file's


def _write(folder: Path, results: Results) -> Path:
    curves = learning_curves(results)
    rows = with_test(standings(curves), curves)
    names = [MARKDOWN, CSV]
    write_text(folder / MARKDOWN, as_markdown(final_table(rows)))
    write_text(folder / CSV, as_csv(numbers_table(rows)))
    if spreads := pool_spreads(curves, rows[0].steps[-1]):
        write_text(folder / POOLS_CSV, as_csv(pools_table(spreads)))
        draw_pool_means(spreads, folder / POOLS, results.env, rows[0].steps[-1])
        names += [POOLS_CSV, f"{POOLS}.png", f"{POOLS}.svg"]
    for figure in _draw_figures(folder, results, curves):
        names += [f"{figure}.png", f"{figure}.svg"]
    page = folder / PAGE
    write_text(page, report_html(results, names))
    return page


def _draw_figures(folder: Path, results: Results, curves: Sequence[Curve]) -> list[str]:
    """Draw learning curves against every axis, and the curriculum and signal if recorded."""
    names = [f"curves-{axis}" for axis in AXES]
    for name, axis in zip(names, AXES, strict=True):
        draw_curves(curves[:FIGURE_CURVES], folder / name, results.env, axis)
    if any(curve.has_test for curve in curves):
        names.append(f"curves-{results.test_name}")
        shown = [curve.on_test for curve in curves[:FIGURE_CURVES]]
        draw_curves(shown, folder / names[-1], results.env, over=curves[0].test_tasks)
    features = features_of(results.pool)
    played = trends(results, results.labels[:FIGURE_STRATEGIES], FIGURE_SEEDS)
    if played and (np.ptp(features.values, axis=0) > 0).any():
        draw_curriculum(played, features, folder / CURRICULUM)
        names.append(CURRICULUM)
    if shares := signal_curves(results):
        draw_signal(shares[:FIGURE_CURVES], folder / SIGNAL, results.env)
        names.append(SIGNAL)
    return names


def report_html(results: Results, files: Sequence[str] = ()) -> str:
    """The page as text.

    Args:
        results: of any engine; without evaluations the page says so.
        files: names of the tables and figures to link.
    """
    curves = learning_curves(results)
    rows = with_test(standings(curves), curves) if curves else []
    style, script = _part("style.css"), "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    data = {
        "steps": results.steps,
        "tasks": len(results.pool),
        "unit": unit_returns(curves),
        "range": return_range(curves),
        "curves": curves_payload(curves),
        "cost": cost_payload(results, curves),
        "explorer": explorer_payload(results),
    }
    return Template(_part("page.html")).substitute(
        _texts(results, curves, rows, files),
        version=__version__,
        policy=policy,
        style=style,
        script=script,
        explorer=_part("explorer.html"),
        data=script_json(data),
    )


def _texts(
    results: Results, curves: Sequence[Curve], rows: Sequence[Standing], files: Sequence[str]
) -> dict[str, str]:
    """The HTML that fills the page's template."""
    labels = [curve.label for curve in curves]
    heading = html_text.heading(results)
    return {
        "title": f"{heading} · procurl",
        "heading": heading,
        "lead": html_text.lead(rows, curves),
        "facts": html_text.facts(results),
        "notices": html_text.notices(results, rows),
        "pool_choice": html_text.pool_choice(curves),
        "curve_caption": html_text.curve_caption(curves, single_runs(curves)),
        "about_table": html_text.about_table(rows),
        "final_table": html_tables.final_results(rows, labels) if rows else "",
        "improvement": html_tables.improvement(curves, rows, labels),
        "pools": pools_section(pool_spreads(curves, rows[0].steps[-1]), labels, rows[0].steps[-1])
        if rows
        else "",
        "signal": signal_section(signal_curves(results), labels, results.steps),
        "coverage": html_text.coverage(results, select_runs(results)),
        "reproduce": html_text.reproduce(results, files),
    }


@cache
def _part(name: str) -> str:
    """The text of a file in `web/`."""
    return (package_files(__package__) / "web" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which a content security policy allows a style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
