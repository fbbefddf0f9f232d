"""Which directories a new experiment may take over."""

import pytest

from procurl.experiments.running.slots import NAMES
from procurl.experiments.running.unused import holds_runs, remove_unused_store
from procurl.records.experiment import RunPlan
from procurl.records.store import FILE, open_experiment
from tests.experiments.counting import BATCH
from tests.experiments.stores import EXPERIMENT, POOL, everything, filled


def test_a_store_without_runs_is_removed(tmp_path):
    open_experiment(tmp_path, EXPERIMENT, POOL, RunPlan({"iid": 4})).close()
    assert not holds_runs(tmp_path)
    remove_unused_store(tmp_path)
    assert not (tmp_path / FILE).exists()


def test_a_store_with_evaluations_stays(tmp_path):
    before = everything(filled(tmp_path))
    assert holds_runs(tmp_path)
    remove_unused_store(tmp_path)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_store_stays_with_a_checkpoint_from_before_the_first_evaluation(tmp_path, name):
    open_experiment(tmp_path, EXPERIMENT, POOL, RunPlan({"iid": 4})).close()
    (tmp_path / BATCH.folder).mkdir(parents=True)
    (tmp_path / BATCH.folder / name).touch()
    assert holds_runs(tmp_path)
    remove_unused_store(tmp_path)
    assert (tmp_path / FILE).exists()


def test_a_directory_without_a_store_stays_as_it_is(tmp_path):
    (tmp_path / "notes.txt").touch()
    for folder in (tmp_path, tmp_path / "missing"):
        assert not holds_runs(folder)
        remove_unused_store(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
