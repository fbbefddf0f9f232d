"""Our numbers and the paper's: rows, agreement and sentences by hand."""

import math

import numpy as np
import pytest

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.figures.curves import Pair
from procurl.experiments.analysis.statistics import Interval
from procurl.experiments.paper.agreement import (
    ABLATIONS,
    METRICS_ROWS,
    agreement,
    agrees,
    compare_rows,
    evaluation_steps,
    plain_rows,
    side_by_side,
)
from procurl.strategies import strategy_names

NAN = float("nan")


def curve(label, values, step=1_000_000):
    heights = np.array(values)[:, None]
    return Curve(
        label, np.arange(len(values)), np.array([step]), heights, heights, heights, heights
    )


def test_every_strategy_of_the_paper_and_ours_is_a_row():
    assert set(METRICS_ROWS) <= set(strategy_names())
    assert len(METRICS_ROWS) == 13


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (Interval(0.60, 0.05, 100), Interval(0.71, 0.10, 20), True),
        (Interval(0.60, 0.05, 100), Interval(0.80, 0.10, 20), False),
        (Interval(0.56, 0.05, 100), Interval(0.71, 0.10, 20), True),  # exactly at the edge
        (Interval(0.02, 0.0, 100), Interval(0.01, 0.0, 20), True),  # within the paper's rounding
        (Interval(0.03, 0.0, 100), Interval(0.01, 0.0, 20), False),
        (Interval(0.70, NAN, 1), Interval(0.71, 0.10, 20), True),
        (Interval(0.70, 0.1, 20), Interval(0.71, NAN, 20), None),
        (None, Interval(0.71, 0.10, 20), None),
        (Interval(0.70, 0.1, 20), None, None),
    ],
)
def test_agreement_is_the_papers_interval_widened_by_ours(ours, theirs, expected):
    assert agrees(Pair("x", ours, theirs)) is expected


def test_the_sentence_names_who_is_outside():
    rows = [
        Pair("plr", Interval(0.69, 0.05, 9), Interval(0.69, 0.13, 20)),
        Pair("hard", Interval(0.5, 0.05, 9), Interval(0.01, 0.01, 20)),
        Pair("procurl-out", Interval(0.5, 0.05, 9), None),
    ]
    assert agreement(rows, 1_000_000) == (
        "At 1M steps, 1 of our 2 means lie inside the paper's 95% interval widened by ours; "
        "outside: hard."
    )
    assert "None of our numbers" in agreement(rows[2:], 1_000_000)


def test_rows_have_ours_and_the_papers_numbers():
    found = {"iid": curve("iid", [0.3, 0.35, 0.4]), "procurl-out": curve("procurl-out", [0.7])}
    rows = plain_rows(("iid", "procurl-out", "plr"))
    iid, out, plr = compare_rows(found, rows, "metrics", "pointmass-s", 1_000_000)
    assert iid.ours is not None
    assert iid.ours.mean == pytest.approx(0.35)
    assert iid.theirs == (0.36, 0.19, 20)
    assert out.theirs is None
    assert plr.ours is None
    table = side_by_side({1_000_000: [iid, out, plr]}, "strategy")
    assert table.rows[0] == ("iid", "3", "20", "0.35 ± 0.12", "0.36 ± 0.19", "yes")
    assert table.rows[1] == ("procurl-out", "1", "–", "0.70", "–", "–")
    assert table.rows[2] == ("plr", "–", "20", "–", "0.69 ± 0.13", "–")


def test_the_papers_own_value_is_the_plain_strategy():
    beta = ABLATIONS["beta"]
    assert beta.contender("pointmass-s", 20) == "procurl-val"
    assert beta.contender("pointmass-s", 10) == "procurl-val:beta=10"
    assert beta.contender("basickarel", 10) == "procurl-val"
    assert ABLATIONS["noise"].contender("basickarel", 0) == "procurl-val"
    assert ABLATIONS["noise"].contender("basickarel", 0.05) == "procurl-val:epsilon=0.05"
    assert [row.contender for row in ABLATIONS["gamma"].rows("pointmass-s")] == [
        "procurl-val:gamma2=0.6",
        "procurl-val:gamma2=0.8",
        "procurl-val",
        "procurl-val:gamma2=1.2",
        "procurl-val:gamma2=1.4",
    ]


def test_every_row_of_an_ablation_is_in_the_paper():
    for ablation in ABLATIONS.values():
        for env in ("pointmass-s", "basickarel"):
            rows = compare_rows({}, ablation.rows(env), ablation.table, env, 250_000)
            assert all(row.theirs is not None for row in rows)


def test_shown_steps_are_those_that_were_evaluated():
    assert evaluation_steps({"iid": curve("iid", [0.1])}, (250_000, 1_000_000)) == (1_000_000,)
    assert evaluation_steps({"iid": curve("iid", [0.1], 50_000)}, (250_000, 1_000_000)) == (50_000,)


def test_a_single_run_has_no_interval():
    row = compare_rows({"iid": curve("iid", [0.3])}, plain_rows(("iid",)), "hard", "antgoal", 1)[0]
    assert row == Pair("iid", None, None)
    assert math.isnan(Interval(NAN, NAN, 0).mean)
