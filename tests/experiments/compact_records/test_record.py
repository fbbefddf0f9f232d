"""Compact records of one program: which contenders, runs and facts they hold."""

from procurl.experiments.compact_records.record import Part
from procurl.records.results import RunId
from tests.experiments.compact_records.recorded import HERE, recorded, unfinished


def test_only_some_contenders_in_another_order():
    found = recorded("iid", "hard", "procurl-val", stopped={RunId("hard", "", 0): 1024})
    some = found.only(["procurl-val", "spdl", "iid"])
    assert some.results.labels == ("procurl-val", "iid")
    assert list(some.results.evaluations) == list(some.results.runs)
    assert [trend.label for trend in some.trends] == ["procurl-val"] * 2 + ["iid"] * 2
    assert some.parts == [Part(("procurl-val", "iid"), HERE)]
    assert some.results.stopped == {}
    assert found.only(["hard"]).results.stopped == {RunId("hard", "", 0): 1024}


def test_nothing_is_left_of_contenders_without_runs():
    none = recorded("iid").only(["spdl"])
    assert (none.results.labels, none.parts, none.results.facts) == ((), [], {})


def test_finished_runs_have_their_last_evaluation():
    found = unfinished(recorded("iid", "hard", seeds=3), "iid", 1)
    assert found.finished_seeds("iid") == {0, 2}
    assert found.finished_seeds("hard") == {0, 1, 2}
    assert found.finished_seeds("spdl") == set()


def test_facts_that_mean_something_elsewhere_are_kept():
    found = recorded("iid", facts={**HERE, "pool": "/a/file", "student": {"layers": (64,)}})
    assert found.facts_of("iid") == {**HERE, "student": {"layers": [64]}}
    assert found.facts_of("hard") == {}
