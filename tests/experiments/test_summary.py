"""Numbers and picture at the end of a comparison."""

import io

import numpy as np
import pytest

from procurl.experiments.records import Row, write_csv
from procurl.experiments.summary import curves, draw_curves, mean_interval, table


def row(strategy="iid", seed=0, step=100, performance=0.5, setting="", test=None):
    return Row(
        "pointmass-s", strategy, setting, "jax", seed, step, performance, test, step, 2 * step, 1.5
    )


def rows():
    return [
        row(strategy, seed, step, performance=0.1 * seed + step / 1e6)
        for strategy in ("procurl-val", "iid")
        for seed in range(4)
        for step in (100_000, 200_000, 400_000)
    ]


def test_interval_by_hand():
    """0.1, 0.2, 0.3, 0.4: mean 0.25, s = 0.129099, SE = 0.064550, t(3) = 3.182446: 0.205426."""
    interval = mean_interval([0.1, 0.2, 0.3, 0.4])
    assert interval.mean == pytest.approx(0.25)
    assert interval.half_width == pytest.approx(0.205426, abs=1e-6)


def test_a_single_run_has_no_interval():
    assert str(mean_interval([0.5])) == "0.50"


def test_curves_keep_contenders_apart_and_runs_together():
    found = curves([*rows(), row(setting="beta=10")])
    assert [curve.label for curve in found] == ["procurl-val", "iid", "iid:beta=10"]
    assert found[0].steps == [100_000, 200_000, 400_000]
    assert found[0].performance[1] == pytest.approx([0.2, 0.3, 0.4, 0.5])
    assert found[0].env_steps == [200_000, 400_000, 800_000]


def test_the_table_shows_steps_that_were_evaluated():
    lines = table(curves(rows())).splitlines()
    assert [" ".join(line.split()) for line in lines[:2]] == [
        "strategy runs at 0.1M at 0.2M at 0.4M env steps seconds",
        "procurl-val 4 0.25 ± 0.21 0.35 ± 0.21 0.55 ± 0.21 0.8M 2",
    ]


def test_the_table_has_a_gap_where_a_contender_is_not_there_yet():
    short = [row("easy", step=100_000)]
    assert table(curves([*rows(), *short])).splitlines()[3].count("–") == 2


def test_the_picture_is_a_png(tmp_path):
    draw_curves(curves(rows()), tmp_path / "curves.png", "pointmass-s")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


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
    assert np.isfinite(float(lines[1].split(",")[6]))
