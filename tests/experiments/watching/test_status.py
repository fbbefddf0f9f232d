"""The progress of a sweep as its store shows it, with numbers worked out by hand."""

import os
from dataclasses import replace

import pytest

from procurl.experiments.watching.status import status_of, version_of
from procurl.records.experiment import Experiment, RunPlan
from procurl.records.results import RunId
from procurl.records.store import open_experiment, read_store
from tests.experiments.stores import POOL, evaluation

EXPERIMENT = Experiment(env="corridor", engine="jax", steps=1000, width=1)
PLAN = RunPlan({"procurl": 2, "iid": 2})


def at(step, seconds, performance=0.5):
    """An evaluation after as many training steps, in as many seconds."""
    return evaluation(step, performance)._replace(train_steps=step, seconds=seconds)


@pytest.fixture
def store(tmp_path):
    with open_experiment(tmp_path, EXPERIMENT, POOL, PLAN, "procurl compare") as store:
        yield store


def record(store, label, seed, *evaluations, finished=False):
    run = RunId(label, "", seed)
    store.begin(run)
    store.add(run, *evaluations)
    if finished:
        store.finish(run)


def test_nothing_is_known_before_the_first_evaluation(store):
    status = status_of(store)
    assert status.seconds_left is None
    assert not status.finished
    assert [one[:5] for one in status.contenders] == [
        ("procurl", 2, 0, 0, 0.0),
        ("iid", 2, 0, 0, 0),
    ]
    assert status.contenders[0].performance is None


def test_runs_are_finished_running_or_not_begun(store):
    record(store, "procurl", 0, at(1000, 10.0, 0.8), finished=True)
    record(store, "procurl", 1, at(500, 5.0, 0.2))
    procurl, iid = status_of(store).contenders
    assert procurl == ("procurl", 2, 1, 1, 0.75, 0.5)
    assert (iid.finished, iid.running, iid.progress) == (0, 0, 0.0)


def test_the_time_left_follows_from_recorded_training_times(store):
    # procurl: 100 steps/s, 500 steps left: 5 s. iid: 50 steps/s, 750 left, and 1,000 of a run that
    # has not begun: 15 s and 20 s. Two train side by side: 40 s / 2, and none alone takes longer.
    record(store, "procurl", 0, at(1000, 10.0), finished=True)
    record(store, "procurl", 1, at(500, 5.0))
    record(store, "iid", 0, at(250, 5.0))
    assert status_of(store).seconds_left == pytest.approx(20.0)


def test_a_sweep_is_finished_when_all_planned_runs_are(store):
    for label in ("procurl", "iid"):
        record(store, label, 0, at(1000, 10.0), finished=True)
    assert not status_of(store).finished
    for label in ("procurl", "iid"):
        record(store, label, 1, at(1000, 10.0), finished=True)
    status = status_of(store)
    assert status.finished
    assert status.seconds_left == 0.0


def test_the_version_changes_with_records_and_not_with_readers(store, tmp_path):
    before, _ = version_of(tmp_path)
    with read_store(tmp_path) as reader:
        assert status_of(reader).version == before
    assert version_of(tmp_path)[0] == before
    record(store, "iid", 0, at(250, 5.0))
    assert version_of(tmp_path)[0] != before


def test_an_empty_file_that_a_reader_left_is_no_change(tmp_path):
    with open_experiment(tmp_path, EXPERIMENT, POOL, PLAN):
        pass
    before = version_of(tmp_path)
    wal = tmp_path / "results.sqlite-wal"
    wal.touch()
    os.utime(wal, (before[1] + 100, before[1] + 100))
    assert version_of(tmp_path) == before


def test_runs_that_are_recorded_one_by_one_are_the_plan(tmp_path):
    """A single run with seed 42 does not make 43."""
    own = replace(EXPERIMENT, student={"algorithm": "PPO"})
    with open_experiment(tmp_path, own, POOL) as store:
        record(store, "procurl", 42, at(500, 5.0))
        status = status_of(store)
        assert status.contenders == [("procurl", 1, 0, 1, 0.5, 0.5)]
        assert not status.finished
        record(store, "procurl", 42, at(1000, 10.0), finished=True)
        assert status_of(store).finished


def test_returns_that_are_not_finite_are_left_out(store):
    record(store, "procurl", 0, at(500, 5.0, float("nan")))
    assert status_of(store).contenders[0].performance is None
    record(store, "procurl", 1, at(500, 5.0, 0.25))
    assert status_of(store).contenders[0].performance == 0.25
