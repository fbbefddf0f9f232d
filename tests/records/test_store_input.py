"""What users hand to a store: numbers of NumPy are kept, mistakes are named, nothing is damaged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from procurl.records.evaluation import Snapshot
from procurl.records.results import RunId
from procurl.records.store import open_experiment, read_store
from tests.experiments.stores import EXPERIMENT, POOL, VAL, evaluation, filled

HALF: Any = 0.5  # not a seed


def test_numbers_of_numpy_come_back_as_numbers(tmp_path):
    run = RunId("iid", "", np.int64(1))
    wanted = replace(EXPERIMENT, steps=np.int64(1000), eval_stochastic=np.bool_(True))
    with open_experiment(tmp_path, wanted, POOL) as store:
        store.begin(run)
        store.add(run, evaluation(100)._replace(step=1e2, train_steps=np.int32(100), picks=[]))
        store.add(run, evaluation(200)._replace(performance=np.float32(0.25)))
        store.finish(run, np.int64(150))
    with read_store(tmp_path) as store:
        results = store.results()
        [first, second] = store.detail(run)
    assert (results.runs, results.stopped, results.steps) == ([run], {run: 150}, 1000)
    assert (first.step, first.train_steps, second.performance) == (100, 100, 0.25)
    assert first.picks.dtype == np.int64
    open_experiment(tmp_path, wanted, POOL).close()


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda store: store.begin(RunId("iid", "", -1)), "seed must be an integer of at least 0"),
        (lambda store: store.begin(RunId("iid", "", HALF)), "seed must be an integer"),
        (
            lambda store: store.add(VAL, evaluation(100)._replace(step=10.5)),
            "step of an evaluation must be an integer, got 10.5",
        ),
    ],
)
def test_what_is_no_integer_is_refused_and_the_store_stays_whole(write, message, tmp_path):
    with open_experiment(filled(tmp_path), EXPERIMENT, POOL) as store:
        with pytest.raises((TypeError, ValueError), match=message):
            write(store)
        assert [m.step for m in store.detail(VAL)] == [100, 200]
    empty = tmp_path / "empty"
    with pytest.raises(ValueError, match="steps must be an integer of at least 1, got 0"):
        open_experiment(empty, replace(EXPERIMENT, steps=0), POOL)
    assert not empty.exists()


def test_a_snapshot_may_be_of_lists(tmp_path):
    shown = Snapshot([0, 2], [0.25, 0.75], None, [1.0, 2.0])
    with open_experiment(filled(tmp_path), EXPERIMENT, POOL) as store:
        store.add(VAL, evaluation(300)._replace(snapshot=shown))
        kept = store.detail(VAL)[-1].snapshot
    assert [None if of is None else of.tolist() for of in kept] == list(shown)


def test_a_closed_store_is_not_called_damaged(tmp_path):
    store = read_store(filled(tmp_path))
    store.close()
    with pytest.raises(RuntimeError, match="Use a store between opening and closing it"):
        store.finished_runs()
