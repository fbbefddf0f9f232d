"""Committed records: what comes back, what is refused, how large they are."""

import dataclasses
import gzip
import hashlib
import json
import random

import numpy as np
import pytest

from procurl.envs import make_pool
from procurl.experiments.analysis.curves import learning_curves
from procurl.experiments.analysis.standings import standings
from procurl.experiments.analysis.tables import as_csv, numbers_table
from procurl.experiments.analysis.trends import trends
from procurl.experiments.compact_records.files import (
    CURRICULUM,
    EVALUATIONS,
    FILE,
    has_records,
    load_records,
    read_joined_records,
    read_records,
    record_names,
    write_records,
)
from procurl.experiments.compact_records.joining import join_records
from procurl.experiments.compact_records.record import Part, compact
from procurl.experiments.own_pools import OwnPool
from procurl.records.experiment import Experiment
from procurl.records.results import RunId
from procurl.records.store import open_experiment
from procurl.tasks.pool import TaskPool
from tests.crafted import deep, mutated
from tests.experiments.synthetic import synthetic_results

LABELS = ("procurl-val", "iid", "procurl-val:beta=10,floor=0.1")


@pytest.fixture(scope="module")
def results():
    return synthetic_results(LABELS, seeds=3, steps=200_000)


def _spread(results, pools):
    return dataclasses.replace(results, pool=pools[0], other_pools=pools[1:])


def test_pools_that_were_drawn_are_named_and_others_are_files(tmp_path, results):
    """Pool 0 and 2 are draws of ours; the one between them is not."""
    drawn = [make_pool("pointmass-s", seed=seed) for seed in (0, 2)]
    pools = [drawn[0], make_pool("pointmass-s", size=100, seed=77), drawn[1]]
    write_records(compact(_spread(results, pools)), tmp_path)
    about = json.loads((tmp_path / FILE).read_text())
    assert about["pool"] == {"kind": "uniform", "seed": 0}
    assert about["other_pools"] == [None, {"kind": "uniform", "seed": 2}]
    assert sorted(path.name for path in tmp_path.glob("pool*")) == ["pool-1.csv"]
    read = read_records(tmp_path).results
    assert [pool.fingerprint for pool in read.pools] == [pool.fingerprint for pool in pools]
    for curve in learning_curves(read):
        assert curve.pools.tolist() == [0, 1, 2]


def test_records_on_other_pools_cannot_be_joined(results):
    one, two = (make_pool("pointmass-s", seed=seed) for seed in (0, 1))
    joined = join_records([compact(_spread(results, [one, two]))] * 2)
    assert len(joined.results.pools) == 2
    with pytest.raises(ValueError, match="pool_hash"):
        join_records([compact(_spread(results, [one, two])), compact(_spread(results, [one]))])


def test_everything_that_tables_need_comes_back(tmp_path, results):
    write_records(compact(results), tmp_path)
    assert has_records(tmp_path)
    read = read_records(tmp_path).results
    assert (read.env, read.engine, read.steps) == (results.env, results.engine, results.steps)
    assert read.labels == LABELS
    assert read.pool.fingerprint == results.pool.fingerprint
    assert read.facts == results.facts
    for run in results.runs:
        for mine, theirs in zip(read.evaluations[run], results.evaluations[run], strict=True):
            assert mine[:-2] == theirs[:-2]  # all but picks and snapshot
    tables = [as_csv(numbers_table(standings(learning_curves(found)))) for found in (read, results)]
    assert tables[0] == tables[1]


def test_a_pool_of_ours_with_targets_is_named_and_not_stored(tmp_path, results):
    pool = OwnPool("uniform", 300, "target-one-mode").make("pointmass-s")
    write_records(compact(dataclasses.replace(results, pool=pool)), tmp_path)
    assert not (tmp_path / "pool.csv").exists()
    read = read_records(tmp_path).results.pool
    assert read.fingerprint == pool.fingerprint
    assert read.features["target"].sum() == 100


def test_trends_come_back_for_the_first_runs(tmp_path, results):
    write_records(compact(results, trend_seeds=2), tmp_path)
    read = read_records(tmp_path)
    wanted = trends(results, seeds=2)
    assert [(t.label, t.seed) for t in read.trends] == [(t.label, t.seed) for t in wanted]
    for mine, theirs in zip(read.trends, wanted, strict=True):
        np.testing.assert_allclose(mine.means, theirs.means, rtol=1e-5)
        np.testing.assert_allclose(mine.steps, theirs.steps, atol=0.51)
        np.testing.assert_array_equal(mine.typical, theirs.typical)
    assert {t.label for t in read.trends_of(["iid"])} == {"iid"}


def test_equal_results_are_equal_bytes(tmp_path, results):
    for name in ("a", "b"):
        write_records(compact(results), tmp_path / name)
    for file in (FILE, EVALUATIONS, CURRICULUM):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_custom_pool_travels_with_the_records(tmp_path, results):
    contexts = np.random.default_rng(0).uniform([-4, 0.5, 0], [4, 8, 4], (100, 3))
    pool = TaskPool(contexts, names=results.pool.names)
    write_records(compact(dataclasses.replace(results, pool=pool)), tmp_path)
    assert read_records(tmp_path).results.pool.fingerprint == pool.fingerprint


def test_a_custom_environment_too(tmp_path, results):
    pool = TaskPool(np.arange(100.0)[:, None], names=("length",))
    write_records(compact(dataclasses.replace(results, env="mine", pool=pool)), tmp_path)
    assert read_records(tmp_path).results.env == "mine"


def test_stopped_runs_and_missing_values_come_back(tmp_path, results):
    run = RunId("iid", "", 1)
    evaluations = dict(results.evaluations)
    evaluations[run] = [
        at._replace(performance=float("nan"), test_performance=None) for at in evaluations[run]
    ]
    changed = dataclasses.replace(results, evaluations=evaluations, stopped={run: 2048})
    write_records(compact(changed), tmp_path)
    read = read_records(tmp_path).results
    assert read.stopped == {run: 2048}
    assert np.isnan(read.evaluations[run][0].performance)
    assert read.evaluations[run][0].test_performance is None


@pytest.mark.parametrize("file", [EVALUATIONS, CURRICULUM])
def test_damage_is_noticed(tmp_path, results, file):
    write_records(compact(results), tmp_path)
    content = bytearray((tmp_path / file).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=f"{file} was changed or truncated"):
        read_records(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(ValueError, match=f"{file} is missing"):
        read_records(tmp_path)


def test_every_change_to_the_description_is_noticed(tmp_path, results):
    write_records(compact(results), tmp_path)
    path = tmp_path / FILE
    whole = path.read_text(encoding="utf-8")
    assert json.loads(whole)["sha256"].keys() == {FILE, EVALUATIONS, CURRICULUM}
    for before, after in (
        ('"steps": 200000', '"steps": 300000'),
        ('"engine": "jax"', '"engine": "sb3"'),
        ('"cores": 2', '"cores": 3'),
        ('"format": 3', '"format": 2'),
    ):
        assert before in whole
        path.write_text(whole.replace(before, after), encoding="utf-8")
        with pytest.raises(ValueError, match="json: the file was changed or truncated"):
            read_records(tmp_path)
    about = json.loads(whole)
    del about["sha256"][FILE]
    path.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ValueError, match="json: the file was changed or truncated"):
        read_records(tmp_path)


def sealed(about):
    """`experiment.json` with a checksum that holds."""
    about = json.loads(json.dumps(about))
    if isinstance(about, dict) and isinstance(about.get("sha256"), dict):
        about["sha256"].pop(FILE, None)
        text = json.dumps(about, sort_keys=True)
        about["sha256"][FILE] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(about)


def test_crafted_records_are_refused_in_one_sentence(tmp_path):
    write_records(recorded_by("a", "iid"), tmp_path)
    path = tmp_path / FILE
    about = json.loads(path.read_text(encoding="utf-8"))
    rng, refused = random.Random(0), 0
    for _ in range(150):
        path.write_text(sealed(mutated(about, rng)), encoding="utf-8")
        try:
            learning_curves(read_records(tmp_path).results)
        except ValueError as error:
            message = str(error)
            refused += 1
        else:
            message = str(path)
        assert message.startswith(str(path))
        assert "\n" not in message
    assert refused > 50
    path.write_text(deep(), encoding="utf-8")
    with pytest.raises(ValueError, match=r"experiment\.json: its content has another form"):
        read_records(tmp_path)
    for content in (b"", b"abc", gzip.compress(b"\xff"), gzip.compress(b"a,b\n1,2\n")):
        (tmp_path / EVALUATIONS).write_bytes(content)
        digests = about["sha256"] | {EVALUATIONS: hashlib.sha256(content).hexdigest()}
        path.write_text(sealed(about | {"sha256": digests}), encoding="utf-8")
        with pytest.raises(ValueError, match=r"experiment\.json: "):
            read_records(tmp_path)


def test_records_name_no_file_outside_their_folder(tmp_path, results):
    write_records(compact(results), tmp_path / "records")
    (tmp_path / "secret").write_text("mine")
    path = tmp_path / "records" / FILE
    about = json.loads(path.read_text(encoding="utf-8"))
    about["sha256"]["../secret"] = hashlib.sha256(b"mine").hexdigest()
    path.write_text(sealed(about), encoding="utf-8")
    with pytest.raises(ValueError, match=r"must name files of the records only, got .*\.\./secret"):
        read_records(tmp_path / "records")


def test_a_pool_whose_columns_are_in_another_order_comes_back(tmp_path, results):
    names = [name.title() for name in results.pool.names[::-1]]
    pool = TaskPool(results.pool.contexts[:, ::-1], names=names)
    write_records(compact(dataclasses.replace(results, pool=pool)), tmp_path)
    assert read_records(tmp_path).results.pool.fingerprint == pool.fingerprint


def test_a_folder_without_records_is_named(tmp_path):
    with pytest.raises(ValueError, match="has no records"):
        read_records(tmp_path)
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(ValueError, match="the entry 'format' is missing"):
        read_records(tmp_path)


def test_an_evaluation_takes_a_few_bytes(tmp_path):
    results = synthetic_results(("procurl-val", "iid"), seeds=20)
    write_records(compact(results, trend_seeds=0), tmp_path)
    rows = len(gzip.decompress((tmp_path / EVALUATIONS).read_bytes()).splitlines()) - 1
    assert (tmp_path / EVALUATIONS).stat().st_size / rows < 25


def recorded_by(program, *labels, seeds=2, steps=100_000):
    results = synthetic_results(labels, seeds, steps=steps)
    return compact(dataclasses.replace(results, facts={"command": program, "width": seeds}))


def test_where_each_contender_came_from_comes_back(tmp_path):
    joined = join_records([recorded_by("a", "iid", "hard"), recorded_by("b", "procurl-val:beta=5")])
    write_records(joined, tmp_path)
    about = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    assert about["parts"] == [
        {"labels": ["iid", "hard"], "facts": {"command": "a", "width": 2}},
        {"labels": ["procurl-val:beta=5"], "facts": {"command": "b", "width": 2}},
    ]
    read = read_records(tmp_path)
    assert read.parts == joined.parts
    assert read.results.facts == {"width": 2, "commands": ("a", "b")}


def test_what_was_read_is_written_as_it_was(tmp_path):
    recorded = join_records([recorded_by("a", "iid"), recorded_by("b", "hard")])
    write_records(recorded, tmp_path / "a")
    write_records(join_records([read_records(tmp_path / "a")]), tmp_path / "b")
    for file in (FILE, EVALUATIONS, CURRICULUM):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_the_first_format_is_still_read(tmp_path, results):
    write_records(compact(results), tmp_path)
    about = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    (part,) = about.pop("parts")
    del about["sha256"][FILE]
    old = about | {"format": 1, "facts": part["facts"]}
    (tmp_path / FILE).write_text(json.dumps(old), encoding="utf-8")
    read = read_records(tmp_path)
    assert read.parts == [Part(LABELS, {**part["facts"], "eval_every": 25_000})]
    assert read.results.labels == LABELS
    (tmp_path / FILE).write_text(json.dumps(old | {"format": 4}), encoding="utf-8")
    with pytest.raises(ValueError, match="format must be one of 1, 2, 3, got 4"):
        read_records(tmp_path)


def test_folders_are_joined_by_the_names_of_their_experiments(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    write_records(recorded_by("a", "iid"), a / "pointmass-s")
    write_records(recorded_by("b", "hard"), b / "pointmass-s")
    write_records(recorded_by("b", "iid"), b / "mine")
    assert record_names(b) == ["mine", "pointmass-s"]
    joined = read_joined_records([a, b], ["pointmass-s", "mine", "other"])
    assert list(joined) == ["pointmass-s", "mine"]
    assert joined["pointmass-s"].results.labels == ("iid", "hard")
    write_records(recorded_by("b", "hard", steps=50_000), b / "pointmass-s")
    with pytest.raises(ValueError, match="a/pointmass-s, .*b/pointmass-s: .* steps is 50000"):
        read_joined_records([a, b], ["pointmass-s"])


def test_a_comparison_can_be_recorded_too(tmp_path, results):
    experiment = Experiment("pointmass-s", "jax", results.steps, width=3, eval_episodes=2)
    with open_experiment(tmp_path / "runs", experiment, results.pool, command="procurl") as store:
        for run in results.runs:
            store.begin(run)
            store.add(run, *results.detail(run))
            store.finish(run)
    recorded = load_records(tmp_path / "runs")
    assert recorded.results.labels == LABELS
    assert len(recorded.trends) == len(results.runs)
    facts = recorded.facts_of("iid")
    assert (facts["command"], facts["width"], facts["eval_episodes"]) == ("procurl", 3, 2)
    assert facts["eval_every"] is None
    write_records(recorded, tmp_path / "records")
    assert load_records(tmp_path / "records").parts == recorded.parts
