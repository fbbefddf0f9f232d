"""Progress of batches reaches the store and the logs once, however often it is reported."""

import pytest

from procurl.experiments.batches import batches_of
from procurl.experiments.running import batch as batch_module
from procurl.experiments.running.batch import train_batch
from procurl.experiments.running.recorder import recorder, unfinished_batches
from procurl.records.experiment import RunPlan
from procurl.records.results import RunId
from procurl.records.store import open_experiment
from tests.experiments.counting import POOL, CountingTrainer, job


class ListLog:
    """Keeps what it receives."""

    def __init__(self):
        self.added, self.finished = [], []

    def add(self, run, evaluation):
        self.added.append((run, evaluation.step))

    def finish(self, run):
        self.finished.append(run)


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    monkeypatch.setattr(batch_module, "make_trainer", CountingTrainer)


@pytest.fixture
def store(tmp_path):
    """Three seeds are asked for, so the second batch trains one more than that."""
    with open_experiment(tmp_path, job().experiment, POOL, RunPlan({"iid": 3})) as opened:
        yield opened


def test_a_sweep_is_recorded_with_its_padding_hidden(store):
    log, shown = ListLog(), []
    batches = batches_of(store.plan, store.experiment.width)
    for batch in batches:
        for progress in train_batch(job(), batch, None):
            recorder(store, [log], shown.append)(progress)
    results = store.results()
    assert results.runs == [RunId("iid", "", seed) for seed in range(3)]
    assert results.stopped == {RunId("iid", "", 1): 50}
    assert [m.step for m in results.evaluations[results.runs[2]]] == [30, 60, 90, 100]
    assert len(store.finished_runs()) == 4
    assert unfinished_batches(store, batches, keep_models=False) == []
    assert len(log.added) == len(set(log.added)) == 4 * 4
    assert len(log.finished) == 4
    assert len(shown) >= 10


def test_repeated_reports_are_stored_and_logged_once(store):
    log = ListLog()
    record = recorder(store, [log], lambda _: None)
    batch = batches_of(store.plan, store.experiment.width)[0]
    reports = list(train_batch(job(), batch, None))
    cut = next(
        i for i, progress in enumerate(reports) if progress.evaluations and progress.step > 50
    )
    for progress in reports[: cut + 1]:
        record(progress)
    before = len(log.added)
    assert unfinished_batches(store, [batch], keep_models=False) == [batch]
    for progress in train_batch(job(), batch, reports[cut].checkpoint):
        record(progress)
    assert before == 4
    assert len(log.added) == len(set(log.added)) == 8
    assert [m.step for m in store.detail(batch.runs[0])] == [30, 60, 90, 100]


def test_a_batch_without_the_requested_models_is_not_finished(store):
    batch = batches_of(store.plan, store.experiment.width)[0]
    for progress in train_batch(job(), batch, None):
        recorder(store, [], lambda _: None)(progress)
    assert unfinished_batches(store, [batch], keep_models=False) == []
    assert unfinished_batches(store, [batch], keep_models=True) == [batch]
