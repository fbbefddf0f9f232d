"""What the terminal shows at the end of a comparison, and the rows of its export."""

import io

from procurl.experiments.analysis.curves import curves_from_rows
from procurl.experiments.analysis.figures.curves import draw_curves
from procurl.experiments.analysis.tables import as_text, terminal_table
from procurl.records.evaluation import Evaluation
from procurl.records.export import ExportRow, write_csv


def row(strategy="iid", seed=0, step=100, performance=0.5, setting="", test=None):
    at = Evaluation(
        step,
        performance,
        test,
        train_steps=step,
        env_steps=2 * step,
        seconds=1.5,
        entropy=0.0,
        mean_success=None,
    )
    return ExportRow("pointmass-s", strategy, setting, "jax", seed, at)


def rows():
    return [
        row(strategy, seed, step, performance=0.1 * seed + step / 1e6)
        for strategy in ("procurl-val", "iid")
        for seed in range(4)
        for step in (100_000, 200_000, 400_000)
    ]


def test_the_table_shows_steps_that_were_evaluated():
    lines = as_text(terminal_table(curves_from_rows(rows()))).splitlines()
    assert [" ".join(line.split()) for line in lines[:2]] == [
        "strategy runs at 0.1M at 0.2M at 0.4M env steps seconds",
        "procurl-val 4 0.25 ± 0.21 0.35 ± 0.21 0.55 ± 0.21 0.8M 2",
    ]


def test_the_table_has_a_gap_where_a_contender_is_not_there_yet():
    short = [row("easy", step=100_000)]
    assert (
        as_text(terminal_table(curves_from_rows([*rows(), *short]))).splitlines()[3].count("–") == 2
    )


def test_the_table_shows_the_steps_of_the_contender_that_has_come_furthest():
    """Strategies may be evaluated at different intervals; iid has fewer evaluations and is done."""
    begun = [row("procurl", 0, step) for step in (100, 200, 300)]
    done = [row("iid", 0, step) for step in (500, 1000)]
    table = terminal_table(curves_from_rows([*begun, *done]))
    assert table.head[2:4] == ("at 500", "at 1k")
    assert [cells[3] for cells in table.rows] == ["–", "0.50"]


def test_a_time_that_was_not_measured_is_missing():
    one = row()
    unknown = one._replace(evaluation=one.evaluation._replace(seconds=float("nan")))
    assert terminal_table(curves_from_rows([unknown])).rows[0][-1] == "–"


def test_small_returns_are_told_apart_and_small_beside_large_ones_are_zero():
    small = [row("a", performance=0.0012), row("b", performance=-0.0031)]
    assert [r[2] for r in terminal_table(curves_from_rows(small)).rows] == ["0.0012", "-0.0031"]
    both = [row("a", performance=0.0012), row("b", performance=0.7)]
    assert [r[2] for r in terminal_table(curves_from_rows(both)).rows] == ["0.00", "0.70"]


def test_the_figure_is_a_png_and_an_svg(tmp_path):
    draw_curves(curves_from_rows(rows()), tmp_path / "curves.png", "pointmass-s")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "curves.svg").read_text(encoding="utf-8")


def test_csv_has_the_columns_of_the_contract():
    file = io.StringIO()
    write_csv([row(test=0.25), row(setting="beta=1,floor=0.1")], file)
    lines = file.getvalue().splitlines()
    assert lines[0] == (
        "env,strategy,setting,engine,seed,step,performance,test_performance,train_steps,"
        "env_steps,seconds"
    )
    assert lines[1] == "pointmass-s,iid,,jax,0,100,0.5,0.25,100,200,1.5"
    assert lines[2] == 'pointmass-s,iid,"beta=1,floor=0.1",jax,0,100,0.5,,100,200,1.5'
