"""The sketch of the terminal: heights of bars by hand, and which contender and columns it shows."""

import numpy as np
import pytest

from procurl.experiments.analysis.curves import curves_from_rows
from procurl.experiments.analysis.sketch import WIDTH, bars, sketch_curriculum, sketch_curves
from tests.experiments.analysis.test_terminal_table import row
from tests.experiments.synthetic import synthetic_results


def test_bars_are_as_high_as_their_values():
    assert bars(np.array([0.0, 0.5, 0.99, 1.0]), 0.0, 1.0) == "▁▅██"
    assert bars(np.array([-3.0, 7.0]), 0.0, 1.0) == "▁█"
    assert bars(np.array([2.0, 2.0]), 2.0, 2.0) == "▁▁"


def test_curves_share_one_scale_and_show_their_ends():
    rows = [
        row(strategy, seed, step, performance)
        for strategy, last in (("procurl", 1.0), ("iid", 0.5))
        for seed in range(2)
        for step, performance in ((100, 0.0), (200, last))
    ]
    head, *lines = sketch_curves(curves_from_rows(rows)).splitlines()
    assert head == "mean return, up to 200 steps"
    found = {line.split()[0]: line.split()[1:] for line in lines}
    assert {name: (first, last) for name, (first, _, last) in found.items()} == {
        "procurl": ("0", "1"),
        "iid": ("0", "0.5"),
    }
    assert all(len(line) == WIDTH for _, line, _ in found.values())
    assert found["procurl"][1][-1] == "█"
    assert found["iid"][1][-1] == "▅"


def test_runs_that_stopped_early_leave_the_others():
    rows = [row("iid", 0, 100, 0.2), row("iid", 0, 200, 0.4), row("iid", 1, 100, 0.4)]
    (line,) = sketch_curves(curves_from_rows(rows)).splitlines()[1:]
    assert line.split()[1] == "0.3"
    assert line.split()[-1] == "0.4"


def test_a_line_ends_with_the_last_evaluation():
    rows = [row("new", 0, 100, 0.5), row("iid", 0, 100, 0.0), row("iid", 0, 200, 1.0)]
    new, _ = sketch_curves(curves_from_rows(rows)).splitlines()[1:]
    line = new.removeprefix("  new  0.5 ").removesuffix(" 0.5")
    assert len(line) == WIDTH
    assert line.rstrip(" ") == "▅" * (1 + WIDTH // 2)


@pytest.mark.filterwarnings("error")
def test_returns_that_are_no_numbers_are_left_out():
    nan = float("nan")
    rows = [row("a", 0, 100, nan), row("iid", 0, 50, nan), row("iid", 0, 100, 1.0)]
    lines = sketch_curves(curves_from_rows(rows)).splitlines()[1:]
    assert [line.split() for line in lines] == [["a", "–", "–"], ["iid", "1", "▁" * WIDTH, "1"]]
    assert sketch_curves(curves_from_rows(rows[:1])).split()[-3:] == ["a", "–", "–"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234, "0.123"),
        (999.7, "1000"),
        (-1234.5, "-1234"),
        (43210.0, "43210"),
        (12345678.0, "1.23e+07"),
    ],
)
def test_large_returns_are_written_out(value, text):
    assert sketch_curves(curves_from_rows([row("iid", 0, 100, value)])).split()[-1] == text


def test_the_curriculum_is_that_of_the_first_strategy_with_one():
    results = synthetic_results()
    head, *lines = sketch_curriculum(results).splitlines()
    first = next(label for label in results.labels if label != "iid")
    assert head == f"average task that {first} played (bars span the pool's mean ± 1 SD)"
    assert lines
    assert all(len(line.split()[-2]) == WIDTH for line in lines)


@pytest.mark.parametrize("change", [{"labels": ("iid",)}, {"picks": 1}])
def test_there_is_no_curriculum_without_strategies_or_tasks(change):
    assert sketch_curriculum(synthetic_results(**change, seeds=1)) == ""
