"""Tables of contenders: what they hold, and their three forms."""

import csv
import io
import math
import re

import pytest

from procurl.experiments.analysis.curves import curves_from_rows, learning_curves
from procurl.experiments.analysis.labels import step_label
from procurl.experiments.analysis.standings import standings, with_test
from procurl.experiments.analysis.tables import (
    Table,
    as_csv,
    as_markdown,
    as_text,
    final_table,
    numbers_table,
    terminal_table,
)
from procurl.records.evaluation import Evaluation
from procurl.records.export import ExportRow
from tests.experiments.synthetic import synthetic_results

NAN = float("nan")


def evaluation(step, performance):
    return Evaluation(
        step=step,
        performance=performance,
        test_performance=None,
        train_steps=step,
        env_steps=3 * step,
        seconds=2.0,
        entropy=0.0,
        mean_success=None,
    )


def rows_of(strategy, finals, half=0.0):
    """Runs that are at `half` at 50k steps and at their final value at 100k."""
    return [
        ExportRow("pointmass-s", strategy, "", "jax", seed, evaluation(step, value))
        for seed, final in enumerate(finals)
        for step, value in ((50_000, half), (100_000, final))
    ]


def on_a_test_pool(rows):
    """The same runs, each worse by 0.1 there."""
    return [
        row._replace(evaluation=at._replace(test_performance=at.performance - 0.1))
        for row in rows
        for at in [row.evaluation]
    ]


def shown(table, row=0):
    """The cells of a row by their heads."""
    return dict(zip(table.head, table.rows[row], strict=True))


def found():
    return curves_from_rows([*rows_of("plr", [0.8, 0.8, 0.4, 0.4]), *rows_of("iid", [0.4] * 4)])


def test_standings_by_hand():
    plr, iid = standings(found())
    assert plr.steps == (50_000, 100_000)
    assert plr.performance[1].mean == pytest.approx(0.6)
    assert plr.performance[1].half_width == pytest.approx(3.182446 * 0.230940 / 2, abs=1e-5)
    assert plr.iqm.value == pytest.approx(0.6)
    assert plr.improvement is not None
    assert plr.improvement.value == pytest.approx(0.75)  # two wins, two ties of four
    assert iid.improvement is None
    assert plr.area.mean == pytest.approx(0.3)
    assert plr.reached == (0.3, 4, 4, 100_000)
    assert plr.env_steps.mean == 300_000


def test_no_baseline_no_comparison():
    assert standings(found(), baseline="easy")[0].improvement is None


def test_steps_and_threshold_can_be_given():
    plr = standings(found(), steps=[100_000], threshold=0.7)[0]
    assert plr.steps == (100_000,)
    assert plr.reached == (0.7, 4, 2, math.inf)


def test_the_final_table_says_how_many_runs_never_got_there():
    table = final_table(standings(found(), threshold=0.7))
    plr = dict(zip(table.head, table.rows[0], strict=True))
    assert plr["runs that reach 0.7"] == "2 of 4"
    assert plr["median steps to it"] == "> 0.1M"
    assert plr["P(better than iid)"].startswith("0.75 [")


def test_a_shorter_curve_has_no_area_and_says_nothing_of_steps_it_has_not_played():
    """New has come to 50k of 100k steps, without the threshold."""
    begun = [row for row in rows_of("new", [0.0] * 3) if row.evaluation.step == 50_000]
    rows = standings(curves_from_rows([*rows_of("iid", [0.8] * 3), *begun]))
    iid, new = rows
    assert (iid.area.mean, iid.evaluated) == (pytest.approx(0.4), 100_000)
    assert math.isnan(new.area.mean)
    assert new.reached[1:] == (3, 0, math.inf)
    cells = shown(final_table(rows), 1)
    assert cells["area under curve"] == "–"
    assert cells["median steps to it"] == "> 50k"


def test_runs_without_a_return_say_nothing_of_steps_to_reach_it():
    rows = standings(curves_from_rows([*rows_of("iid", [0.8] * 3), *rows_of("a", [NAN], NAN)]))
    assert shown(final_table(rows), 1)["median steps to it"] == "–"


def test_the_numbers_are_read_back_as_numbers():
    table = numbers_table(standings(found()))
    read = list(csv.DictReader(io.StringIO(as_csv(table))))
    assert float(read[0]["mean_100000"]) == pytest.approx(0.6)
    assert float(read[0]["improvement"]) == pytest.approx(0.75)
    assert read[1]["improvement"] == ""
    assert read[0]["median_steps_to_reach"] == "100000"


def test_one_run_has_no_interval_and_is_not_compared():
    rows = standings(curves_from_rows([*rows_of("plr", [0.8]), *rows_of("iid", [0.4])]))
    plr = shown(final_table(rows))
    assert plr["IQM at 0.1M"] == plr["at 0.1M"] == "0.80"
    assert plr["P(better than iid)"] == "–"
    assert "[" not in as_markdown(final_table(rows))
    numbers = shown(numbers_table(rows))
    assert numbers["iqm"] == "0.8"
    for name in ("iqm_low", "iqm_high", "improvement", "improvement_low", "ci95_100000"):
        assert numbers[name] == ""


def test_a_single_run_of_the_baseline_is_not_compared_with_several():
    rows = standings(curves_from_rows([*rows_of("plr", [0.8, 0.7, 0.6]), *rows_of("iid", [0.4])]))
    assert rows[0].improvement is None
    assert shown(final_table(rows))["IQM at 0.1M"] == "0.70 [0.60, 0.80]"


@pytest.mark.parametrize(
    ("start", "finals", "threshold", "reached"),
    [
        (0.0, [0.8, 0.4], 0.3, 2),  # a success rate: half of the best final mean
        (-200.0, [-100.0, -160.0], -165.0, 2),  # halfway from −200 to −130
        (-200.0, [-100.0, -180.0], -170.0, 1),
        (-10.0, [10.0, 30.0], 5.0, 2),  # across 0
        (0.5, [0.9, 0.9], 0.7, 2),
    ],
)
def test_the_threshold_is_halfway_from_the_first_evaluation_to_the_best_mean(
    start, finals, threshold, reached
):
    [plr] = standings(curves_from_rows(rows_of("plr", finals, half=start)))
    assert plr.reached == (pytest.approx(threshold), 2, reached, plr.reached.median)


def test_the_first_evaluation_is_averaged_over_runs_and_strategies():
    """One run at −4 and three at 0 start at −1; the best ends at 5: halfway is 2."""
    both = [*rows_of("plr", [5.0], half=-4.0), *rows_of("iid", [1.0, 1.0, 2.5])]
    plr, iid = standings(curves_from_rows(both))
    assert plr.reached == (2.0, 1, 1, 100_000)
    assert iid.reached == (2.0, 3, 1, math.inf)


@pytest.mark.parametrize(("start", "final"), [(0.0, 0.0), (-3.0, -3.0), (2.0, 1.0)])
def test_there_is_no_threshold_where_no_mean_has_risen(start, final):
    rows = standings(curves_from_rows(rows_of("plr", [final] * 2, half=start)))
    plr = shown(final_table(rows))
    assert plr["runs that reach a threshold"] == plr["median steps to it"] == "–"
    numbers = shown(numbers_table(rows))
    for name in ("threshold", "reached", "median_steps_to_reach"):
        assert numbers[name] == ""


def test_a_test_pool_has_a_column_in_every_table():
    played = [*rows_of("plr", [0.8, 0.7, 0.6]), *rows_of("iid", [0.4])]
    both = curves_from_rows(on_a_test_pool(played))
    rows = with_test(standings(both), both)
    assert shown(final_table(rows))["test at 0.1M"] == "0.60 ± 0.25"
    assert shown(final_table(rows), 1)["test at 0.1M"] == "0.30"
    assert shown(terminal_table(both))["test at 0.1M"] == "0.60 ± 0.25"
    numbers = shown(numbers_table(rows))
    assert numbers["test_100000"] == "0.6"
    assert numbers["test_ci95_100000"] == "0.248414"  # t(2) = 4.30265, SE = 0.1 / √3
    assert numbers["test_runs_100000"] == "3"


def test_targets_are_called_so_in_every_table():
    played = [*rows_of("plr", [0.8, 0.7, 0.6]), *rows_of("iid", [0.4])]
    both = [
        curve._replace(test_name="targets") for curve in curves_from_rows(on_a_test_pool(played))
    ]
    rows = with_test(standings(both), both)
    for table in (final_table(rows), terminal_table(both)):
        assert shown(table)["targets at 0.1M"] == "0.60 ± 0.25"
        assert not any("test" in head for head in table.head)
    numbers = shown(numbers_table(rows))
    assert (numbers["targets_100000"], numbers["targets_runs_100000"]) == ("0.6", "3")


def test_two_runs_have_no_interval_in_any_table():
    rows = [*rows_of("plr", [0.8, 0.6]), *rows_of("iid", [0.4, 0.2])]
    both = curves_from_rows(rows)
    full = shown(final_table(standings(both)))
    assert (full["runs"], full["at 0.1M"], full["IQM at 0.1M"]) == ("2", "0.70", "0.70")
    assert full["P(better than iid)"] == "1.00"
    assert shown(terminal_table(both))["at 0.1M"] == "0.70"
    numbers = shown(numbers_table(standings(both)))
    assert (numbers["mean_100000"], numbers["ci95_100000"], numbers["iqm_low"]) == ("0.7", "", "")


def test_without_a_test_pool_no_table_speaks_of_it():
    rows = with_test(standings(found()), found())
    for table in (final_table(rows), numbers_table(rows), terminal_table(found())):
        assert not any("test" in head for head in table.head)


def test_nothing_measured_yet_is_said():
    with pytest.raises(ValueError, match="no evaluation yet"):
        standings([])
    with pytest.raises(ValueError, match="no evaluation yet"):
        terminal_table([])


def test_text_is_aligned():
    table = Table(("strategy", "runs"), (("a", "10"), ("procurl-val", "8")))
    assert as_text(table) == "strategy     runs\na              10\nprocurl-val     8"


def test_a_name_of_two_lines_is_one_in_text():
    assert (
        as_text(Table(("strategy", "runs"), (("a\nb", "1"),))) == "strategy  runs\na b          1"
    )


def test_a_bar_in_a_cell_does_not_break_markdown():
    assert as_markdown(Table(("a", "b"), (("x|y", "1"),))) == (
        "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n"
    )


HOSTILE = ("<img src=x onerror=alert(1)>", "a\nb", "a|b", "a\\|b", "&lt;", "=1+1", "@x", "-1+2")


def test_names_are_no_markup_in_markdown():
    table = as_markdown(Table(("a", HOSTILE[0]), tuple((name, name) for name in HOSTILE)))
    lines = table.splitlines()
    assert len(lines) == 2 + len(HOSTILE)
    assert "<" not in table
    for line in lines:
        assert len(re.findall(r"(?<!\\)\|", line)) == 3
    assert lines[2].startswith("| &lt;img src=x onerror=alert(1)> |")
    assert lines[5] == r"| a\&#124;b | a\&#124;b |"
    assert lines[6] == "| &amp;lt; | &amp;lt; |"


def test_names_are_no_formulas_in_csv():
    rows = [*((name, "-0.5") for name in HOSTILE), ("+cmd|' /C calc'!A0", "1e-05")]
    text = as_csv(Table(("=head", "b"), tuple(rows)))
    head, *read = csv.reader(io.StringIO(text))
    assert text.count("\n") == 1 + len(rows)
    assert head == ["'=head", "b"]
    assert [cells[1] for cells in read] == ["-0.5"] * len(HOSTILE) + ["1e-05"]
    names = [cells[0] for cells in read]
    assert not any(name.startswith(("=", "+", "-", "@")) for name in names)
    assert names[1] == "a b"
    assert names[5:8] == ["'=1+1", "'@x", "'-1+2"]


@pytest.mark.parametrize(
    ("number", "text"),
    [(250_000, "0.25M"), (1_500, "1.5k"), (17_400_000, "17.4M"), (12, "12"), (math.nan, "–")],
)
def test_short_numbers(number, text):
    assert step_label(number) == text


def test_all_strategies_of_a_sweep():
    results = synthetic_results(seeds=3)
    table = final_table(standings(learning_curves(results)))
    assert [row[0] for row in table.rows] == list(results.labels)
    assert all(len(row) == len(table.head) for row in table.rows)
