"""Small stores to be read and hurt."""

import numpy as np

from procurl import TaskPool
from procurl.records.evaluation import Evaluation, Snapshot
from procurl.records.experiment import Experiment
from procurl.records.results import RunId
from procurl.records.store import open_experiment, read_store

EXPERIMENT = Experiment(env="corridor", engine="sb3", steps=1000, n_envs=2)
POOL = TaskPool([[0.1], [0.2], [0.9]], names=["length"], features={"hard": [0, 0, 1]})
VAL, IID = RunId("procurl-val", "beta=5", 0), RunId("iid", "", 1)


def evaluation(step=100, performance=0.5, picks=(2, 0, 2), test=None, success=True):
    estimate = np.array([0.1, 0.2, 0.3], np.float32) if success else None
    snapshot = Snapshot(
        np.arange(3), np.full(3, 1 / 3, np.float32), estimate, np.array([0, 1, 1], np.float32)
    )
    return Evaluation(
        step=step,
        performance=performance,
        test_performance=test,
        train_steps=step + 24,
        env_steps=3 * step,
        seconds=0.12345,
        entropy=1.1,
        mean_success=0.2 if success else None,
        picks=np.array(picks, dtype=np.int64),
        snapshot=snapshot,
    )


def filled(folder):
    """A store with two runs, one finished and one stopped."""
    with open_experiment(folder, EXPERIMENT, POOL, command="procurl compare") as store:
        for run in (VAL, IID):
            store.begin(run)
            store.add(run, evaluation(100), evaluation(200, performance=1 / 3, picks=()))
        store.finish(VAL)
        store.finish(IID, stopped_at=150)
    return folder


def same(one, other):
    """Whether two evaluations are equal, arrays and all."""
    return str(one._replace(snapshot=None)) == str(other._replace(snapshot=None)) and all(
        (a is None and b is None) or (a.dtype == b.dtype and np.array_equal(a, b))
        for a, b in zip(one.snapshot, other.snapshot, strict=True)
    )


def everything(folder):
    """All that can be read of a store, as text."""
    with read_store(folder) as store:
        results = store.results()
        details = [str(results.detail(run)) for run in results.runs]
        rows = list(store.rows())
    pool = (results.pool.fingerprint, str(results.pool.features))
    plain = (results.runs, dict(results.evaluations), dict(results.stopped), results.steps)
    return str((plain, details, rows, pool, dict(results.facts)))


def read_or_refused(folder):
    """All that can be read of a store, or the error instead."""
    try:
        return everything(folder)
    except (ValueError, OSError) as error:
        return str(error)
