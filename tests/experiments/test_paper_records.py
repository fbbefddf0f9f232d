"""Committed records: what comes back, what is refused, how large they are."""

import dataclasses
import gzip

import numpy as np
import pytest

from procurl.experiments.curves import curves
from procurl.experiments.paper_records import (
    CURRICULUM,
    EVALUATIONS,
    FILE,
    is_recorded,
    read_records,
    write_records,
)
from procurl.experiments.results import RunId
from procurl.experiments.tables import as_csv, numbers_table, standings
from procurl.experiments.trends import trends
from procurl.pool import TaskPool
from tests.experiments.synthetic import synthetic_results

LABELS = ("procurl-val", "iid", "procurl-val:beta=10,floor=0.1")


@pytest.fixture(scope="module")
def results():
    return synthetic_results(LABELS, seeds=3, steps=200_000)


def test_everything_that_tables_need_comes_back(tmp_path, results):
    write_records(results, tmp_path)
    assert is_recorded(tmp_path)
    read = read_records(tmp_path).results
    assert (read.env, read.engine, read.steps) == (results.env, results.engine, results.steps)
    assert read.labels == LABELS
    assert read.pool.fingerprint == results.pool.fingerprint
    assert read.facts == results.facts
    for run in results.runs:
        for mine, theirs in zip(read.evaluations[run], results.evaluations[run], strict=True):
            assert mine[:-2] == theirs[:-2]  # all but picks and snapshot
    tables = [as_csv(numbers_table(standings(curves(found)))) for found in (read, results)]
    assert tables[0] == tables[1]


def test_trends_come_back_for_the_runs_that_are_followed(tmp_path, results):
    write_records(results, tmp_path, followed=2)
    read = read_records(tmp_path)
    wanted = trends(results, seeds=2)
    assert [(t.label, t.seed) for t in read.trends] == [(t.label, t.seed) for t in wanted]
    for mine, theirs in zip(read.trends, wanted, strict=True):
        np.testing.assert_allclose(mine.means, theirs.means, rtol=1e-5)
        np.testing.assert_allclose(mine.steps, theirs.steps, atol=0.51)
        np.testing.assert_array_equal(mine.typical, theirs.typical)
    assert {t.label for t in read.followed(["iid"])} == {"iid"}


def test_equal_results_are_equal_bytes(tmp_path, results):
    for name in ("a", "b"):
        write_records(results, tmp_path / name)
    for file in (FILE, EVALUATIONS, CURRICULUM):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_pool_of_ones_own_travels_with_the_records(tmp_path, results):
    contexts = np.random.default_rng(0).uniform([-4, 0.5, 0], [4, 8, 4], (100, 3))
    pool = TaskPool(contexts, names=results.pool.names)
    write_records(dataclasses.replace(results, pool=pool), tmp_path)
    assert read_records(tmp_path).results.pool.fingerprint == pool.fingerprint


def test_an_environment_of_ones_own_too(tmp_path, results):
    pool = TaskPool(np.arange(100.0)[:, None], names=("length",))
    write_records(dataclasses.replace(results, env="mine", pool=pool), tmp_path)
    assert read_records(tmp_path).results.env == "mine"


def test_stopped_runs_and_missing_values_come_back(tmp_path, results):
    run = RunId("iid", "", 1)
    evaluations = dict(results.evaluations)
    evaluations[run] = [
        at._replace(performance=float("nan"), test_performance=None) for at in evaluations[run]
    ]
    changed = dataclasses.replace(results, evaluations=evaluations, stopped={run: 2048})
    write_records(changed, tmp_path)
    read = read_records(tmp_path).results
    assert read.stopped == {run: 2048}
    assert np.isnan(read.evaluations[run][0].performance)
    assert read.evaluations[run][0].test_performance is None


@pytest.mark.parametrize("file", [EVALUATIONS, CURRICULUM])
def test_damage_is_noticed(tmp_path, results, file):
    write_records(results, tmp_path)
    content = bytearray((tmp_path / file).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=f"{file} was altered or truncated"):
        read_records(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(ValueError, match=f"{file} is missing"):
        read_records(tmp_path)


def test_a_folder_without_records_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no records"):
        read_records(tmp_path)
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(ValueError, match="cannot be used: 'format'"):
        read_records(tmp_path)


def test_an_evaluation_takes_a_few_bytes(tmp_path):
    results = synthetic_results(("procurl-val", "iid"), seeds=20)
    write_records(results, tmp_path, followed=0)
    rows = len(gzip.decompress((tmp_path / EVALUATIONS).read_bytes()).splitlines()) - 1
    assert (tmp_path / EVALUATIONS).stat().st_size / rows < 25
