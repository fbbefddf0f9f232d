"""One evaluation from engine to report: every consumer follows the one table of its scalars."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import procurl
from procurl.records.evaluation import (
    SCALARS,
    Evaluation,
    Scalar,
    Snapshot,
    column_names,
    evaluation_tasks,
    from_scalars,
    scalar_fields,
    scalar_values,
    snapshot_tasks,
)
from procurl.records.export import EXPORT_COLUMNS, ExportRow, write_csv
from procurl.records.packing import pack_evaluations, unpack_evaluations

SCALAR_VALUES = {
    "step": 100,
    "performance": 0.1 + 0.2,
    "test_performance": None,
    "train_steps": 128,
    "env_steps": 512,
    "seconds": 1.23456,
    "entropy": float("nan"),
    "mean_success": 1 / 3,
    "signal": None,
}
NEW_FIELD = """    # A new scalar.
    mean_length: Annotated[float | None, Scalar(log="eval/mean_length")] = None
"""
# Follows a new scalar through store, details, compact records, checkpoint and log.
FOLLOW = """
import sys
from pathlib import Path
from procurl.envs import make_pool
from procurl.experiments.compact_records.files import read_records, write_records
from procurl.experiments.compact_records.record import compact
from procurl.records.evaluation import Evaluation, log_values
from procurl.records.experiment import Experiment
from procurl.records.packing import pack_evaluations, unpack_evaluations
from procurl.records.results import RunId
from procurl.records.store import open_experiment, read_store

folder, run = Path(sys.argv[1]), RunId("iid", "", 0)
made = Evaluation(
    step=10, performance=0.5, test_performance=None, train_steps=10, env_steps=10, seconds=1.0,
    entropy=1.0, mean_success=None, mean_length=12.5,
)
pool = make_pool("pointmass-s")
with open_experiment(folder, Experiment("pointmass-s", "jax", steps=10), pool) as store:
    store.begin(run)
    store.add(run, made, made._replace(step=20, mean_length=None))
with read_store(folder) as store:
    results = store.results()
write_records(compact(results), folder / "compact")
for found in (
    results.evaluations[run],
    results.detail(run),
    read_records(folder / "compact").results.evaluations[run],
    *unpack_evaluations(*pack_evaluations([results.detail(run)])),
):
    print([evaluation.mean_length for evaluation in found])
print(log_values(made)["eval/mean_length"])
"""


def evaluation(**fields):
    return Evaluation(**(SCALAR_VALUES | fields))


def test_a_new_scalar_is_one_field(tmp_path):
    """A copy of the package with one more field keeps it everywhere."""
    package = tmp_path / "src" / "procurl"
    shutil.copytree(Path(procurl.__file__).parent, package)
    source = package / "records" / "evaluation.py"
    before, mark, rest = source.read_text(encoding="utf-8").partition("    # [e] tasks of the ep")
    assert mark
    source.write_text(before + NEW_FIELD + mark + rest, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", FOLLOW, str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.splitlines() == ["[12.5, None]"] * 4 + ["12.5"], run.stderr


def test_the_columns_of_the_export_are_a_contract():
    assert ",".join(EXPORT_COLUMNS) == (
        "env,strategy,setting,engine,seed,step,performance,test_performance,train_steps,env_steps,"
        "seconds"
    )


def test_a_row_of_the_export():
    file = io.StringIO()
    write_csv([ExportRow("corridor", "iid", "beta=1", "jax", 3, evaluation())], file)
    assert file.getvalue().splitlines()[1] == (
        "corridor,iid,beta=1,jax,3,100,0.30000000000000004,,128,512,1.235"
    )


def test_the_export_of_several_pools_ends_with_the_pool():
    file = io.StringIO()
    row = ExportRow("corridor", "iid", "", "jax", 3, evaluation(), pool=1)
    write_csv([row, row._replace(seed=2, pool=0)], file)
    head, first, second = (line.split(",") for line in file.getvalue().splitlines())
    assert head == [*EXPORT_COLUMNS, "pool"]
    assert (first[4], first[-1], second[4], second[-1]) == ("3", "1", "2", "0")


def test_the_table_is_read_off_the_type():
    class Two(NamedTuple):
        updates: Annotated[int, Scalar(export=True)]
        other: str
        mean: Annotated[float | None, Scalar(log="a/b")] = None

    updates, mean = scalar_fields(Two)
    assert updates == ("updates", int, False, Scalar(export=True))
    assert mean == ("mean", float, True, Scalar(log="a/b"))
    assert column_names() == tuple(SCALAR_VALUES)


def test_scalars_come_back_from_numbers_and_from_text():
    made = evaluation()
    cells = dict(zip(column_names(), scalar_values(made), strict=True))
    text = {name: "" if cell is None else str(cell) for name, cell in cells.items()}
    for found in (from_scalars(cells), from_scalars(text)):
        assert str(found) == str(made)
    assert np.isnan(from_scalars(text | {"performance": ""}).performance)


def test_numbers_of_numpy_become_numbers_of_python():
    made = evaluation(step=np.int64(5), performance=np.float32(0.5))
    assert [type(value) for value in scalar_values(made)[:2]] == [int, float]


def test_a_column_that_is_missing_takes_the_default_of_its_field():
    cells = {name: value for name, value in SCALAR_VALUES.items() if name != "mean_success"}
    with pytest.raises(TypeError, match="mean_success"):  # it has no default
        from_scalars(cells)
    assert from_scalars(SCALAR_VALUES | {"other": 3}).picks.size == 0


def test_evaluations_of_several_runs_come_back_from_a_checkpoint():
    snapshot = Snapshot(
        tasks=np.array([0, 300]),
        probabilities=np.array([0.25, 0.75], np.float32),
        success=None,
        returns=np.array([0, 1], np.float32),
    )
    runs = [
        [evaluation(picks=np.array([3, 1])), evaluation(step=200, snapshot=snapshot)],
        [],
        [evaluation(snapshot=snapshot._replace(success=np.array([0.5, 1], np.float32)))],
    ]
    back = unpack_evaluations(*pack_evaluations(runs))
    assert [str(run) for run in back] == [str(run) for run in runs]
    assert back[0][0].picks.dtype == back[0][1].snapshot.tasks.dtype == np.int64
    assert back[2][0].snapshot.success.dtype == np.float32


def test_runs_without_evaluations_come_back_from_a_checkpoint():
    assert unpack_evaluations(*pack_evaluations([[], []])) == [[], []]


def test_teacher_steps_are_those_beyond_training():
    assert evaluation().teacher_steps == 384


@pytest.mark.parametrize(("n", "most"), [(7, None), (7, 7), (7, 9)])
def test_small_pools_are_evaluated_as_a_whole(n, most):
    assert evaluation_tasks(n, most).tolist() == list(range(n))


def test_of_large_pools_the_same_tasks_are_evaluated_and_shown():
    tasks = evaluation_tasks(3000, 1000)
    assert tasks.tolist() == evaluation_tasks(3000, 1000).tolist() == sorted(set(tasks.tolist()))
    assert len(tasks) == 1000
    shown = snapshot_tasks(tasks)
    assert len(shown) == 500
    assert set(shown.tolist()) < set(tasks.tolist())


def test_every_scalar_is_an_integer_or_a_float():
    assert {field.type for field in SCALARS} == {int, float}
