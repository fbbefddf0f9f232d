"""What is said of a directory after training."""

import pytest

from procurl.experiments.comparison import summarize
from procurl.records.experiment import Experiment, RunPlan
from procurl.records.results import RunId
from procurl.records.store import open_experiment
from tests.experiments.stores import POOL, evaluation


@pytest.mark.parametrize(("stopped", "trained"), [((), True), ((0,), True), ((0, 1), False)])
def test_it_tells_whether_any_run_was_trained(stopped, trained, tmp_path):
    experiment = Experiment(env="corridor", engine="jax", steps=100)
    with open_experiment(tmp_path, experiment, POOL, RunPlan({"iid": 2}), "procurl") as store:
        for seed in (0, 1):
            run = RunId("iid", "", seed)
            store.begin(run)
            store.add(run, evaluation(step=100))
            store.finish(run, stopped_at=50 if seed in stopped else None)
        assert summarize(tmp_path, store).trained is trained
