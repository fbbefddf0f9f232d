"""The store: what was recorded comes back, and another experiment is refused."""

import io
import json
import math
import sys
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from procurl import TaskPool, make_strategy, strategy_names
from procurl.records.experiment import Contender, RunPlan
from procurl.records.export import write_csv
from procurl.records.packing import pack_pool
from procurl.records.provenance import command_line
from procurl.records.results import RunId
from procurl.records.store import FILE, open_experiment, read_store
from procurl.records.tables import create_file
from tests.experiments.stores import (
    EXPERIMENT,
    IID,
    POOL,
    VAL,
    evaluation,
    everything,
    filled,
    same,
)
from tests.strategies.own_rule import AtMultiples


def test_what_was_recorded_comes_back(tmp_path):
    with read_store(filled(tmp_path)) as store:
        results = store.results()
        assert store.finished_runs() == {VAL, IID}
    assert (results.env, results.engine, results.steps, results.n_envs) == (
        "corridor",
        "sb3",
        1000,
        2,
    )
    assert results.runs == [VAL, IID]
    assert results.stopped == {IID: 150}
    assert results.pool.fingerprint == POOL.fingerprint
    assert results.pool.features["hard"].tolist() == [0, 0, 1]
    assert [m.step for m in results.evaluations[VAL]] == [100, 200]
    assert results.evaluations[VAL][1].performance == 1 / 3
    assert results.evaluations[VAL][0].picks.size == 0
    detail = results.detail(VAL)
    assert same(detail[0], evaluation(100))
    assert same(detail[1], evaluation(200, performance=1 / 3, picks=()))
    assert results.facts["command"] == "procurl compare"
    assert results.facts["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize("name", strategy_names())
def test_a_contender_is_named_so_that_it_can_be_made_again(name):
    for settings in ({}, {"beta": 7.5}, {"floor": 0.25}, {"v_min": None, "v_max": None}):
        try:
            strategy = make_strategy(name, **settings)
        except ValueError:
            continue
        contender = Contender.of(strategy)
        assert Contender.parse(contender.label) == contender
        assert make_strategy(contender.strategy, **contender.settings()) == strategy
    assert Contender.of(make_strategy(name)).label == name
    assert Contender.of(AtMultiples(every=3.0)).label == "AtMultiples"


def test_the_command_of_a_process_can_be_pasted(monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", "-u", "my train.py", "--lr", "3"])
    assert command_line() == "python -u 'my train.py' --lr 3"
    for words in (["python"], ["python", "-c", "spawn_main()", "--multiprocessing-fork"]):
        monkeypatch.setattr(sys, "orig_argv", words)
        assert command_line() == ""
    monkeypatch.setattr(sys, "orig_argv", ["python", "ipykernel_launcher.py"])
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert command_line() == ""


@pytest.mark.parametrize(
    "pool",
    [
        TaskPool.from_seeds([5, 3], features={"hard": [0.5, 1]}),
        TaskPool([{"level": "maze"}, {"level": "cave"}], labels=["m", "c"]),
        TaskPool(np.array([[1.0, 2.0], [3.0, 4.0]])),
    ],
    ids=["seeds", "objects", "contexts"],
)
def test_every_kind_of_pool_comes_back(tmp_path, pool):
    open_experiment(tmp_path, EXPERIMENT, pool).close()
    with read_store(tmp_path) as store:
        back = store.results().pool
    assert back.fingerprint == pool.fingerprint
    assert (back.labels, back.names, list(back.features)) == (
        pool.labels,
        pool.names,
        list(pool.features),
    )


def test_tasks_that_json_cannot_express_come_back_as_their_description(tmp_path):
    open_experiment(tmp_path, EXPERIMENT, TaskPool.from_objects([{1, 2}, {3}])).close()
    with read_store(tmp_path) as store:
        assert store.results().pool[1] == "{3}"


def test_adding_again_changes_nothing(tmp_path):
    before = everything(filled(tmp_path))
    with open_experiment(tmp_path, EXPERIMENT, POOL, command="again") as store:
        store.begin(VAL)
        store.add(VAL, evaluation(100), evaluation(200, performance=1 / 3, picks=()))
    with read_store(tmp_path) as store:
        results = store.results()
    assert results.facts["commands"] == ("procurl compare", "again")
    assert before.partition("'command'")[0] == everything(tmp_path).partition("'command'")[0]


def test_a_run_that_starts_again_can_be_forgotten(tmp_path):
    with open_experiment(filled(tmp_path), EXPERIMENT, POOL) as store:
        store.clear(VAL)
        assert store.finished_runs() == {IID}
        store.add(VAL, evaluation(300))
        assert [m.step for m in store.results().evaluations[VAL]] == [300]


def test_what_was_written_together_is_there_or_not_together(tmp_path):
    def begin_and_fail(store):
        with store.transaction():
            store.begin(VAL)
            store.add(VAL, evaluation())
            raise KeyError("something else went wrong")

    with open_experiment(tmp_path, EXPERIMENT, POOL) as store:
        with pytest.raises(KeyError):
            begin_and_fail(store)
        assert store.results().runs == []
        store.begin(IID)
        store.add(IID, evaluation())
        assert store.results().runs == [IID]


def test_names_of_a_users_own_are_kept_as_they_are(tmp_path):
    mine = [RunId("my: strategy, <b>", "fast & loose", 7), RunId("my", " strategy, <b>", 0)]
    with open_experiment(tmp_path, EXPERIMENT, POOL) as store:
        for run in mine:
            store.begin(run)
            store.add(run, evaluation())
        assert store.results().runs == mine


def test_numbers_that_are_not_finite_are_kept(tmp_path):
    with open_experiment(tmp_path, EXPERIMENT, POOL) as store:
        store.begin(IID)
        odd = evaluation(performance=math.nan, test=math.inf, success=False)
        store.add(IID, odd._replace(entropy=-math.inf, mean_success=math.nan))
        back = store.results().evaluations[IID][0]
    assert math.isnan(back.performance)
    assert (back.test_performance, back.entropy) == (math.inf, -math.inf)
    assert back.mean_success is not None
    assert math.isnan(back.mean_success)


def test_the_entropy_of_a_single_task_is_kept(tmp_path):
    """It is −0.0, which SQLite does not have."""
    with open_experiment(tmp_path, EXPERIMENT, POOL) as store:
        store.begin(IID)
        store.add(IID, evaluation(performance=-0.0)._replace(entropy=-0.0, mean_success=-0.0))
        back = store.results().evaluations[IID][0]
    assert (back.entropy, back.performance, back.mean_success) == (0.0, 0.0, 0.0)


def test_rows_are_those_asked_for_by_contender_seed_and_step(tmp_path):
    plan = RunPlan({"iid": 1, "easy": 2})
    with open_experiment(tmp_path, EXPERIMENT, POOL, plan) as store:
        for run in (RunId("easy", "", 1), RunId("iid", "", 0), RunId("easy", "", 0)):
            store.begin(run)
            store.add(run, evaluation(200), evaluation(100, test=0.25))
        file = io.StringIO()
        write_csv(store.rows(), file)
    assert file.getvalue().splitlines()[1:] == [
        "corridor,iid,,sb3,0,100,0.5,0.25,124,300,0.123",
        "corridor,iid,,sb3,0,200,0.5,,224,600,0.123",
        "corridor,easy,,sb3,0,100,0.5,0.25,124,300,0.123",
        "corridor,easy,,sb3,0,200,0.5,,224,600,0.123",
        "corridor,easy,,sb3,1,100,0.5,0.25,124,300,0.123",
        "corridor,easy,,sb3,1,200,0.5,,224,600,0.123",
    ]


def test_seeds_beyond_those_asked_for_wait_until_they_are(tmp_path):
    with open_experiment(tmp_path, EXPERIMENT, POOL, RunPlan({"iid": 1})) as store:
        for seed in range(2):
            store.begin(RunId("iid", "", seed), padding=seed > 0)
            store.add(RunId("iid", "", seed), evaluation())
        assert [run.seed for run in store.results().runs] == [0]
        store.extend_plan(RunPlan({"iid": 2}))
        assert [run.seed for run in store.results().runs] == [0, 1]


def test_a_directory_is_extended_and_nothing_is_taken_back(tmp_path):
    open_experiment(tmp_path, EXPERIMENT, POOL, RunPlan({"iid": 4})).close()
    with open_experiment(tmp_path, EXPERIMENT, POOL, RunPlan({"iid": 2, "easy": 8})) as store:
        assert store.plan.seeds == {"iid": 4, "easy": 8}


def test_a_directory_from_before_evaluation_options_continues(tmp_path):
    old = asdict(replace(EXPERIMENT, pool_hash=POOL.fingerprint))
    for name in ("eval_every", "eval_episodes", "eval_tasks", "eval_stochastic", "test_name"):
        del old[name]
    create_file(tmp_path / FILE, {"experiment": json.dumps(old), "pool": pack_pool(POOL)})
    open_experiment(tmp_path, EXPERIMENT, POOL).close()
    with pytest.raises(ValueError, match="another experiment: eval_every is the default, not 5"):
        open_experiment(tmp_path, replace(EXPERIMENT, eval_every=5), POOL)


def test_the_width_is_that_of_the_first_time(tmp_path):
    open_experiment(tmp_path, replace(EXPERIMENT, width=4), POOL).close()
    with open_experiment(tmp_path, replace(EXPERIMENT, width=8), POOL) as store:
        assert store.experiment.width == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 2000}, "steps is 1000, not 2000"),
        ({"env": "pointmass-d"}, "env is 'corridor', not 'pointmass-d'"),
        ({"n_envs": 4}, "n_envs is 2, not 4"),
        ({"device": "gpu"}, "device is 'cpu', not 'gpu'"),
        ({"student": {"gamma": 0.9}}, "student is None, not {'gamma': 0.9}"),
    ],
)
def test_another_experiment_is_refused_and_nothing_changes(tmp_path, change, message):
    before = everything(filled(tmp_path))
    with pytest.raises(ValueError, match=message):
        open_experiment(tmp_path, replace(EXPERIMENT, **change), POOL)
    assert everything(tmp_path) == before


def test_another_pool_is_refused(tmp_path):
    filled(tmp_path)
    other = TaskPool([[0.1], [0.2], [0.8]], names=["length"])
    with pytest.raises(ValueError, match="holds another experiment") as error:
        open_experiment(tmp_path, EXPERIMENT, other)
    assert str(error.value) == (
        f"{tmp_path} holds another experiment: its training pool differs in 1 of 3 tasks, first in "
        "task 2 (length=0.9, not length=0.8). Use another directory (--out on the command line) or "
        "the same settings"
    )


def test_runs_spread_over_pools_come_back_with_their_pools(tmp_path):
    pools = [POOL, TaskPool([[0.3], [0.4]], names=["length"])]
    with open_experiment(tmp_path, EXPERIMENT, pools) as store:
        for seed in range(3):
            store.begin(RunId("iid", "", seed))
            store.add(RunId("iid", "", seed), evaluation())
    with read_store(tmp_path) as store:
        results, rows = store.results(), list(store.rows())
    assert [pool.fingerprint for pool in results.pools] == [pool.fingerprint for pool in pools]
    assert results.pool_of(RunId("iid", "", 1)) is results.pools[1]
    assert [row.pool for row in rows] == [0, 1, 0]
    assert results.facts["n_pools"] == 2


@pytest.mark.parametrize(
    ("there", "wanted", "message"),
    [(1, 2, "its runs are spread over 1 pool, not 2"), (2, 1, "over 2 pools, not 1")],
)
def test_another_number_of_pools_is_refused(tmp_path, there, wanted, message):
    pools = [POOL, TaskPool([[0.3], [0.4]], names=["length"])]
    open_experiment(tmp_path, EXPERIMENT, pools[:there]).close()
    with pytest.raises(ValueError, match=message) as error:
        open_experiment(tmp_path, EXPERIMENT, pools[:wanted])
    assert "hash" not in str(error.value)


def test_another_test_pool_is_refused(tmp_path):
    filled(tmp_path)
    tested = replace(EXPERIMENT, test_hash="abcdefab" * 8)
    with pytest.raises(ValueError, match="experiment: it has no test pool. Use"):
        open_experiment(tmp_path, tested, POOL)
    open_experiment(tmp_path / "tested", tested, POOL).close()
    with pytest.raises(ValueError, match="experiment: it has a test pool. Use"):
        open_experiment(tmp_path / "tested", EXPERIMENT, POOL)
    with pytest.raises(ValueError, match="experiment: its test pool has other tasks. Use"):
        open_experiment(tmp_path / "tested", replace(EXPERIMENT, test_hash="0" * 64), POOL)


def test_of_another_student_only_the_settings_that_differ_are_reported(tmp_path):
    student = {"gamma": 0.99, "n_steps": 64}
    open_experiment(tmp_path, replace(EXPERIMENT, student=student), POOL).close()
    with pytest.raises(ValueError, match="student is {'gamma': 0.99}, not {'gamma': 0.9}. Use"):
        open_experiment(tmp_path, replace(EXPERIMENT, student=student | {"gamma": 0.9}), POOL)


def test_of_another_environment_nothing_else_is_reported(tmp_path):
    filled(tmp_path)
    other = replace(EXPERIMENT, env="pointmass-d", steps=3, student={"gamma": 0.9})
    with pytest.raises(ValueError, match="env is 'corridor', not 'pointmass-d'. Use"):
        open_experiment(tmp_path, other, TaskPool([[0.5]]))


def test_a_directory_without_a_store_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no experiment: there is no results.sqlite in it"):
        read_store(tmp_path)


def test_a_run_that_was_not_begun_is_refused(tmp_path):
    with (
        open_experiment(tmp_path, EXPERIMENT, POOL) as store,
        pytest.raises(ValueError, match="does not exist"),
    ):
        store.add(VAL, evaluation())


def test_two_writers_lose_nothing(tmp_path):
    with (
        open_experiment(tmp_path, EXPERIMENT, POOL) as one,
        open_experiment(tmp_path, EXPERIMENT, POOL) as other,
    ):
        for store, run in ((one, VAL), (other, IID), (one, VAL), (other, IID)):
            store.begin(run)
            store.add(run, evaluation())
        assert one.results().runs == other.results().runs == [VAL, IID]


def test_a_log_that_its_writer_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    filled(tmp_path)
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.suffix == ".sqlite-wal" or exists(path))
    with read_store(tmp_path) as store:
        assert store.experiment.steps


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.results(),
        lambda store: list(store.rows()),
        lambda store: store.detail(VAL),
        lambda store: (store.plan, store.finished_runs()),
    ],
)
def test_what_is_read_while_another_process_writes_is_of_one_moment(tmp_path, read):
    """Between any two looks at the file, there is more in each of its tables."""
    seeds = count(1)
    with (
        open_experiment(filled(tmp_path), EXPERIMENT, POOL) as writer,
        read_store(tmp_path) as reader,
    ):

        def write(_):
            seed = next(seeds)
            new = RunId("new", f"x={seed}", 0)
            writer.begin(new)
            for run in (VAL, new):
                writer.add(run, evaluation(1000 * seed))
            writer.finish(new)

        reader._db.set_trace_callback(write)
        for _ in range(3):
            before = next(seeds)
            read(reader)
            assert next(seeds) > before + 1
