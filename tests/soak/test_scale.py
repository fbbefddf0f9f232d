"""Ten thousand runs: listing, exporting and reading stay quick."""

import csv
import time

import numpy as np
import pytest

from procurl import TaskPool
from procurl.records.evaluation import Evaluation, Snapshot
from procurl.records.experiment import Experiment, RunPlan
from procurl.records.export import write_csv
from procurl.records.results import RunId
from procurl.records.store import open_experiment, read_store

RUNS, EVALUATIONS = 10_000, 40
POOL = TaskPool(np.linspace(0.0, 1.0, 100)[:, None])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A store of 400,000 evaluations with picks and snapshots."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    seen = rng.random((3, 100)).astype(np.float32)
    snapshot = Snapshot(np.arange(100), seen[0], seen[1], seen[2])
    picks = rng.integers(0, 100, 600)
    plan = RunPlan({f"procurl-val:beta={beta}": RUNS // 10 for beta in range(10)})
    experiment = Experiment(env="corridor", engine="jax", steps=1_000_000)
    with open_experiment(folder, experiment, POOL, plan) as store:
        for beta in range(10):
            with store.transaction():
                for seed in range(RUNS // 10):
                    run = RunId("procurl-val", f"beta={beta}", seed)
                    store.begin(run)
                    store.add(
                        run, *(evaluation(i, rng, picks, snapshot) for i in range(EVALUATIONS))
                    )
                    store.finish(run)
    return folder


def evaluation(i, rng, picks, snapshot):
    step = 25_000 * (i + 1)
    return Evaluation(
        step=step,
        performance=float(rng.random()),
        test_performance=None,
        train_steps=step,
        env_steps=2 * step,
        seconds=0.5 * i,
        entropy=4.0,
        mean_success=0.5,
        picks=picks,
        snapshot=snapshot,
    )


def seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


@pytest.mark.soak
def test_reading_ten_thousand_runs_takes_a_few_times_as_long_as_their_csv(large, tmp_path):
    """Processor time, against reading the numbers of a CSV file of the same rows."""
    path = tmp_path / "rows.csv"

    def export():
        with read_store(large) as store, path.open("w", encoding="utf-8") as file:
            write_csv(store.rows(), file)

    def read_csv():
        with path.open(encoding="utf-8") as file:
            found = [
                (int(r[4]), int(r[5]), float(r[6]), int(r[8]), int(r[9]), float(r[10]))
                for r in list(csv.reader(file))[1:]
            ]
        assert len(found) == RUNS * EVALUATIONS

    def read():
        with read_store(large) as store:
            assert len(store.results().runs) == RUNS

    def finished():
        with read_store(large) as store:
            assert len(store.finished_runs()) == RUNS

    exporting = seconds(export)
    plain = min(seconds(read_csv) for _ in range(3))
    reading, listing = (min(seconds(f) for _ in range(2)) for f in (read, finished))
    size = (large / "results.sqlite").stat().st_size / 1e6
    print(
        f"\nCSV {plain:.2f} s; results {reading / plain:.1f}, export {exporting / plain:.1f}, "
        f"which are finished {listing / plain:.2f} times as long; {size:.0f} MB"
    )
    assert reading < 10 * plain
    assert exporting < 15 * plain
    assert listing < 0.5 * plain


@pytest.mark.soak
def test_one_run_of_ten_thousand_is_read_at_once(large):
    with read_store(large) as store:
        results = store.results()
    taken = seconds(lambda: results.detail(RunId("procurl-val", "beta=7", 321)))
    whole = seconds(lambda: read_store(large).results())
    assert len(results.detail(RunId("procurl-val", "beta=7", 321))) == EVALUATIONS
    assert taken < 0.1 * whole
