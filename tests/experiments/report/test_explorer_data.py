"""What the curriculum explorer shows of the runs, and what it keeps small."""

from dataclasses import replace

import numpy as np
import pytest

from procurl.experiments.report import explorer_data
from procurl.experiments.report.explorer_data import CELLS, explorer_payload, select_runs
from procurl.records.evaluation import SNAPSHOT_TASKS
from procurl.records.results import RunId
from procurl.tasks.pool import TaskPool
from tests.experiments.report.report_results import report_results
from tests.experiments.report.unpacking import unpacked

SEVEN = TaskPool(np.arange(14.0).reshape(7, 2), names=["gate_position", "width"])


def test_moments_hold_what_the_run_measured():
    results = report_results(["procurl-val"], seeds=1, evaluations=4, pool=SEVEN, env="my own")
    detail = results.detail(results.runs[0])
    payload = explorer_payload(results)
    moments = payload["runs"][0]["moments"]
    assert [at["step"] for at in moments] == [15_000, 30_000, 45_000, 60_000]
    for moment, at in zip(moments, detail, strict=True):
        assert payload["sets"][moment["snapshot"]["set"]] == list(range(7))
        assert unpacked(moment["snapshot"]["p"]) == pytest.approx(
            at.snapshot.probabilities, abs=1e-5
        )
        assert unpacked(moment["snapshot"]["s"]) == pytest.approx(at.snapshot.success, abs=1e-5)
        assert unpacked(moment["snapshot"]["a"]) == pytest.approx(at.snapshot.returns, abs=1e-5)
        times = np.bincount(at.picks, minlength=7)
        assert [n for _, n in moment["picked"]] == sorted(times, reverse=True)[:6]
        assert all(times[task] == n for task, n in moment["picked"])


def test_picks_of_evaluations_left_out_count_towards_the_next(monkeypatch):
    monkeypatch.setattr(explorer_data, "MOST_EVALUATIONS", 2)
    results = report_results(["iid"], seeds=1, evaluations=5, pool=SEVEN, env="my own", picks=10)
    moments = explorer_payload(results)["runs"][0]["moments"]
    assert [(at["step"], at["picks"]) for at in moments] == [(12_000, 10), (60_000, 40)]


def test_trends_show_the_gate_by_its_size_and_maps_by_its_place():
    pool = TaskPool([[-2.0, 1.0], [2.0, 3.0]], names=["gate_position", "gate_width"])
    payload = explorer_payload(report_results(["iid"], seeds=1, pool=pool, env="x", picks=150))
    gate, width = payload["features"]
    assert (gate["name"], gate["trend"]) == ("gate position", "|gate position|")
    assert (gate["values"], gate["mean"]) == ([-2, 2], 2)
    assert width["mean"] == 2
    trend = payload["runs"][0]["trend"]
    assert trend["block"] == 100
    assert unpacked(trend["steps"]).shape == (9,)
    assert (unpacked(trend["means"][0]) == 2.0).all()


def test_long_trends_join_blocks(monkeypatch):
    monkeypatch.setattr(explorer_data, "MOST_BLOCKS", 4)
    payload = explorer_payload(report_results(["iid"], seeds=1, picks=150))
    trend = payload["runs"][0]["trend"]
    assert trend["block"] == 300
    assert unpacked(trend["steps"]).shape == (3,)


@pytest.mark.parametrize(
    ("labels", "seeds", "evaluations", "pool", "runs"),
    [
        (1, 1, 1, 100, 1),
        (2, 8, 40, 100, 16),
        (11, 100, 40, 100, 88),
        (11, 10, 80, 24_000, 22),
        (500, 20, 40, 100, 144),
    ],
)
def test_the_runs_shown_stay_within_bounds(labels, seeds, evaluations, pool, runs):
    names = [f"procurl-val:beta={i}" for i in range(labels)]
    results = report_results(names[:1], seeds, evaluations, picks=1, snapshots=False)
    measured = next(iter(results.evaluations.values()))
    ids = [RunId("procurl-val", name.partition(":")[2], s) for name in names for s in range(seeds)]
    every = dict.fromkeys(ids, measured)
    chosen = select_runs(
        replace(results, runs=ids, evaluations=every, pool=TaskPool.from_seeds(pool))
    )
    assert len(chosen.runs) == runs
    assert len(chosen.runs) * chosen.evaluations * min(pool, SNAPSHOT_TASKS) <= CELLS or runs == 1
    assert chosen.runs[0].seed == 0


def test_fewer_picked_tasks_are_listed_where_pictures_are_many(monkeypatch):
    monkeypatch.setattr(explorer_data, "MOST_PICTURES", 9)
    payload = explorer_payload(report_results(["procurl-val", "iid"], seeds=1, evaluations=4))
    picked = [at["picked"] for run in payload["runs"] for at in run["moments"]]
    assert {len(tasks) for tasks in picked} == {1}
    assert {task for tasks in picked for task, _ in tasks} == set(payload["pictures"])
