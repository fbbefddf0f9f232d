"""Runs that ended early are listed, a few of many by name."""

from procurl.experiments.analysis.stopped import NAMED, stopped_runs
from procurl.records.results import RunId
from tests.experiments.report.report_results import report_results


def sentence(count):
    stopped = {RunId("iid", "", seed): 1000 * (seed + 1) for seed in range(count)}
    return stopped_runs(report_results(seeds=1, stopped=stopped))


def test_nothing_is_said_if_no_run_stopped():
    assert sentence(0) == ""


def test_runs_that_stopped_are_named():
    assert sentence(2) == (
        "2 runs stopped because a value was not finite: iid, seed 0, at step 1,000; iid, seed 1, "
        "at step 2,000. Later evaluations show their last state."
    )


def test_many_are_counted():
    assert f"at step {NAMED},000; and 3 more. Later" in sentence(NAMED + 3)
