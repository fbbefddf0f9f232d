"""Pools: what they hold, what they refuse, and their CSV form."""

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from procurl import TaskPool

ONE: Any = 1  # not a text


def write(path, text: str):
    path.write_bytes(text.encode())
    return path


def test_contexts_have_names_rows_and_no_way_to_change_them():
    given = np.array([[1, 2], [3, 4], [5, 6]])
    pool = TaskPool(given, names=["x", "y"], features={"size": [1, 2, 3]})
    given[0, 0] = 99
    assert len(pool) == 3
    assert pool[1].tolist() == [3.0, 4.0]
    assert pool[0].tolist() == [1.0, 2.0]
    assert pool.names == ("x", "y")
    assert pool.features["size"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        pool.contexts[0, 0] = 7.0


@pytest.mark.parametrize("another", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pools_of_other_processes_do_not_change_either(another):
    pool = another(TaskPool([[1.0], [2.0]], features={"size": [1, 2]}))
    for array in (
        pool.contexts,
        pool[0],
        pool.features["size"],
        another(TaskPool.from_seeds(3)).seeds,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    assert another(TaskPool(["maze"]))[0] == "maze"


@pytest.mark.parametrize(
    "tasks",
    [[{"a": 1}, {"a": 2}], ["maze", "cave"], [("a", 1), ("b", 2)], [["a"], [1, 2]], [3, 5]],
)
def test_anything_that_is_not_a_matrix_of_numbers_is_opaque(tasks):
    pool = TaskPool(tasks)
    assert pool.contexts is None
    assert [pool[i] for i in range(len(pool))] == tasks


def test_lists_of_equally_long_rows_are_contexts():
    pool = TaskPool([[1, 2.5], (3, 4)])
    assert pool.contexts is not None
    assert pool.contexts.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert pool.names == ("context_0", "context_1")


class Table:
    """As much of a data frame as a pool looks at."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns

    def __len__(self):
        return len(self.rows)

    def __iter__(self):  # over the columns, as pandas does
        return iter(self.columns)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rows, dtype=dtype)


def test_a_table_gives_contexts_and_their_names():
    pool = TaskPool(Table([[1, 2.5], [3, 4], [5, 6]], ["x", "y"]))
    assert pool.contexts.tolist() == [[1.0, 2.5], [3.0, 4.0], [5.0, 6.0]]
    assert pool.names == ("x", "y")
    assert TaskPool(Table([[1, 2]], ["x", "y"]), names=["a", "b"]).names == ("a", "b")
    assert TaskPool(Table([[1, 2]], [0, 1])).names == ("context_0", "context_1")
    with pytest.raises(
        ValueError, match="every column of a data frame must hold numbers: .*'maze'"
    ):
        TaskPool(Table([[1, "maze"]], ["x", "level"]))


def test_a_tensor_gives_contexts():
    torch = pytest.importorskip("torch")
    contexts = torch.arange(8.0).reshape(4, 2)
    for tensor in (contexts, contexts.bfloat16(), contexts.requires_grad_()):
        pool = TaskPool(tensor, features={"f": tensor[:, 0]})
        assert pool.contexts.tolist() == np.arange(8.0).reshape(4, 2).tolist()
        assert pool.features["f"].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_an_array_of_bfloat16_gives_contexts():
    pool = TaskPool(np.array([[1, 2], [3, 4]], dtype=ml_dtypes.bfloat16))
    assert pool.contexts.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_masked_contexts_are_refused():
    with pytest.raises(TypeError, match="contexts must be numbers, got .* masked entries"):
        TaskPool(np.ma.masked_array([[1.0], [2.0]], [[False], [True]]))
    assert len(TaskPool(np.ma.masked_array([[1.0], [2.0]]))) == 2


@pytest.mark.parametrize("make", [TaskPool, TaskPool.from_objects])
@pytest.mark.parametrize("tasks", [{"maze", "cave"}, {(0.1, 0.2), (0.3, 0.4)}])
def test_a_set_has_no_order_and_is_no_pool(make, tasks):
    with pytest.raises(TypeError, match=r"tasks must have an order, got a set: .*sorted\(tasks\)"):
        make(tasks)


def test_objects_that_look_like_contexts_can_stay_opaque():
    pool = TaskPool.from_objects([(1, 2), (3, 4)], features={"f": [5, 6]})
    assert pool.contexts is None
    assert pool[1] == (3, 4)
    assert pool.subset([1])[0] == (3, 4)
    assert pool.subset([1]).contexts is None


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_rows_of_other_libraries_are_contexts(library):
    rows = pytest.importorskip(library)
    make = rows.tensor if library == "torch" else rows.array
    pool = TaskPool([make([1.0, 2.0]), make([3.0, 4.0])])
    assert pool.contexts.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match="as many numbers as the first, 2, got 1 at task 1"):
        TaskPool([make([1.0, 2.0]), make([3.0])])


def test_nested_lists_of_different_lengths_are_opaque():
    assert TaskPool([[[1], [2, 3]], [[1], [2]]]).contexts is None


def test_rows_of_different_lengths_are_tasks_on_request():
    pool = TaskPool.from_objects([[1], [1, 2]])
    assert [pool[0], pool[1]] == [[1], [1, 2]]


def test_seeds_by_number_or_by_name():
    assert TaskPool.from_seeds(3).seeds.tolist() == [0, 1, 2]
    pool = TaskPool.from_seeds([7, 2])
    assert (pool[0], len(pool), pool.contexts) == (7, 2, None)
    assert repr(pool) == "TaskPool(2 seeds)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TaskPool([]), "tasks is empty"),
        (lambda: TaskPool(np.zeros((0, 2))), "tasks is empty"),
        (lambda: TaskPool(np.zeros(4)), r"shape \[n, d\].*got \[4\]"),
        (lambda: TaskPool([0.5, 0.7]), r"contexts\[:, None\]"),
        (lambda: TaskPool(np.zeros((2, 2, 2))), r"got \[2, 2, 2\]; .* use TaskPool.from_objects"),
        (lambda: TaskPool([[0.0], [np.nan]]), "finite, got nan at task 1, column 0"),
        (lambda: TaskPool([[0.0]], names=["a", "b"]), "names must name the 1 context columns"),
        (lambda: TaskPool([[0.0, 1.0]], names=["a", "a"]), "names must differ"),
        (lambda: TaskPool([[0.0, 1.0]], names=[ONE, "1"]), "names must differ"),
        (lambda: TaskPool([[1, 2], ["a"]], names=["a", "b"]), "for rows of 1 to 2 entries"),
        (lambda: TaskPool([[1, 2], [3, 4], [5]]), "as many .* the first, 2, got 1 at task 2: .*"),
        (lambda: TaskPool([[1], [3, 4]], names=["a", "b"]), "the first, 1, got 2 at task 1: .*"),
        (lambda: TaskPool([np.zeros(2), np.zeros(3)]), "the first, 2, got 3 at task 1: .*objects"),
        (lambda: TaskPool(["maze", "cave"], names=["a"]), r"got \['a'\] for opaque tasks"),
        (lambda: TaskPool([[0.0]], features={"f": [1.0, 2.0]}), "feature 'f' must hold 1 numbers"),
        (lambda: TaskPool([[0.0]], features={"f": ["a"]}), r"1 numbers, got shape \(1,\) of <U1"),
        (lambda: TaskPool([[0.0]], features={"f": [np.inf]}), "feature 'f' must be finite"),
        (lambda: TaskPool([[0.0]], names=["a\nb"]), r"names must not hold control .* 'a\\nb'"),
        (lambda: TaskPool([[0.0]], names=["\ud800"]), "names must not hold control characters"),
        (lambda: TaskPool([[0.0]], features={"\x1b[2J": [1]}), "features must not hold control"),
        (lambda: TaskPool([[0.0], [1.0]], labels=["a", "a"]), "2 different labels, got 1"),
        (lambda: TaskPool.from_seeds(0), "seeds must be an integer of at least 1, got 0"),
        (lambda: TaskPool.from_seeds([1, -1]), "every seed must be an integer of at least 0"),
        (lambda: TaskPool.from_seeds([1, 1]), "seeds has duplicates"),
        (lambda: TaskPool.from_seeds([2**63]), f"seeds must be at most {2**63 - 1} each, got"),
    ],
)
def test_bad_tasks_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("labels", ["ab", 3])
def test_labels_are_a_list(labels):
    with pytest.raises(TypeError, match=f"labels must be a list .*, got {labels!r}"):
        TaskPool([[0.0], [1.0]], labels=labels)


def test_what_is_not_a_sequence_is_refused():
    with pytest.raises(TypeError, match="tasks must be contexts"):
        TaskPool("maze")
    with pytest.raises(TypeError, match="got int"):
        TaskPool(5)
    with pytest.raises(TypeError, match="seeds must be integers, or their number, got 2.5"):
        TaskPool.from_seeds(2.5)
    with pytest.raises(TypeError, match="features must be a dictionary of columns .* got list"):
        TaskPool([[0.0]], features=[[1.0]])


def test_task_ids_are_checked():
    with pytest.raises(IndexError, match="task must be from 0 to 1, got 2"):
        TaskPool(["a", "b"])[2]
    with pytest.raises(TypeError, match="task must be an integer from 0 to 1, got 'a'"):
        TaskPool(["a", "b"])["a"]


@pytest.mark.parametrize(
    "pool",
    [
        TaskPool(np.arange(20.0).reshape(10, 2), features={"f": range(10)}),
        TaskPool.from_seeds(range(5, 15)),
        TaskPool([f"level {i}" for i in range(10)]),
    ],
    ids=["contexts", "seeds", "opaque"],
)
def test_split_is_disjoint_complete_and_repeatable(pool):
    first, second = pool.split(0.7, seed=3)
    assert (len(first), len(second)) == (7, 3)
    again, _ = pool.split(0.7, seed=3)
    assert again.fingerprint == first.fingerprint
    assert pool.split(0.7, seed=4)[0].fingerprint != first.fingerprint
    both = sorted(str(pool_half[i]) for pool_half in (first, second) for i in range(len(pool_half)))
    assert both == sorted(str(pool[i]) for i in range(10))
    assert type(first[0]) is type(pool[0])


def test_split_refuses_an_empty_half():
    with pytest.raises(ValueError, match="leaves one of the two pools empty"):
        TaskPool.from_seeds(3).split(0.01)
    with pytest.raises(ValueError, match="fraction must be"):
        TaskPool.from_seeds(3).split(1.5)
    with pytest.raises(ValueError, match="seed must be an integer of at least 0, got -1"):
        TaskPool.from_seeds(3).split(0.5, seed=-1)


@pytest.mark.parametrize("tasks", [[], [0, 0], [5], [-1], [0.5]])
def test_subset_refuses_what_names_no_tasks(tasks):
    with pytest.raises(ValueError, match="tasks"):
        TaskPool.from_seeds(3).subset(tasks)


def test_fingerprints_tell_pools_apart():
    pools = [
        TaskPool([[0.0, 1.0]]),
        TaskPool([[0.0], [1.0]]),
        TaskPool([[0.0, 2.0]]),
        TaskPool([[0.0, 1.0]], names=["x", "y"]),
        TaskPool.from_seeds(2),
        TaskPool(["a", "b"]),
        TaskPool([{"a": 1}, {"a": 2}]),
    ]
    assert len({pool.fingerprint for pool in pools}) == len(pools)
    assert TaskPool([object(), object()]).fingerprint == TaskPool([object(), object()]).fingerprint


def test_csv_reads_back_bit_for_bit(tmp_path):
    contexts = np.random.default_rng(0).normal(size=(50, 3)) * [1e-300, 1.0, 1e300]
    pool = TaskPool(
        contexts, names=["a", "b c", "d,e"], features={"f": np.arange(50)}, labels=range(100, 150)
    )
    pool.to_csv(tmp_path / "pool.csv")
    again = TaskPool.from_csv(tmp_path / "pool.csv")
    np.testing.assert_array_equal(again.contexts, contexts)
    assert again.names == ("a", "b c", "d,e")
    assert again.labels == tuple(str(i) for i in range(100, 150))
    assert again.features["f"].tolist() == list(range(50))
    assert again.fingerprint == pool.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,2\n3,4\n",
        "id,x,y\n0,1,2\n1,3,4\n",
        "ID,x,y\r\n7,1,2\r\n8,3,4\r\n",
        '"ID,x,y"\n0,1,2\n1,3,4\n',
        '"ID","x","y"\n"a","1","2"\n"b","3","4"\n',
        "\ufeffID,x,y\n0,1,2\n\n1,3,4\n\n",
        "x, y, id\n 1, 2, a\n 3, 4, b",
    ],
)
def test_csv_files_from_the_wild_load(tmp_path, text):
    pool = TaskPool.from_csv(write(tmp_path / "pool.csv", text))
    assert pool.names == ("x", "y")
    assert pool.contexts is not None
    assert pool.contexts.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("x,y\n", "row 1: there is no task below the header row"),
        ("1,2\n3,4\n", "row 1, column 1: a header row with column names is needed, found '1'"),
        ("x;y\n1;2\n", "row 1: columns must be separated by commas, not by semicolons; save"),
        ("x;y\n1,5;2\n", "row 1: columns must be separated by commas, not by semicolons"),
        ("x\ty\n1\t2\n", "row 1: columns must be separated by commas, not by tabs"),
        ("x,\n1,2\n", "row 1, column 2: the column name is empty"),
        ("x,x\n1,2\n", "row 1, column 2: the name 'x' is twice in the header"),
        ("id,ID,x\n1,2,3\n", "row 1, column 2: the name 'ID' is twice in the header"),
        ("x,y\n1,2\n3\n", "row 3, column 'y': the header names 2 columns, this row has 1"),
        ("x,y\n1,2,3\n", "row 2, column 3: the header names 2 columns, this row has 3"),
        ("x,y\n1,2\n\n3,up\n", "row 4, column 'y': 'up' is not a number"),
        ("x,y\n1,\n", "row 2, column 'y': '' is not a number"),
        ("x,y\n1,nan\n", "row 2, column 'y': 'nan' is not finite"),
        ("x,y\n-inf,1\n", "row 2, column 'x': '-inf' is not finite"),
        ("x,y\n1e999,1\n", "row 2, column 'x': '1e999' is not finite"),
        ("x,y\n1_0,1\n", "row 2, column 'x': '1_0' is not a number"),
        ("x,y\n1,١٢\n", "row 2, column 'y': '١٢' is not a number; write it in ASCII digits"),
        ("x,y\n1,１\n", "row 2, column 'y': '１' is not a number; write it in ASCII digits"),
        ("x,y\n1,1e-400\n", "row 2, column 'y': '1e-400' is too small: it would be read as 0"),
        ("x,y\n1,-.002E-999\n", "row 2, column 'y': '-.002E-999' is too small"),
        ("x,y\n1,0x10\n", "row 2, column 'y': '0x10' is not a number"),
        ("x,a\x07b\n1,2\n", r"row 1, column 2: the name 'a\\x07b' holds a control character"),
        ('x,"a\nb"\n1,2\n', r"row 2, column 2: the name 'a\\nb' holds a control character"),
        ("x,feature:\x00\n1,2\n", r"row 1, column 2: the name 'feature:\\x00' holds a control"),
        ("id,x\na,1\nb,2\na,3\n", "row 4, column 'id': id 'a' is already used in row 2"),
        ("id,x\n,1\n", "row 2, column 'id': the id is empty"),
        ("id\n1\n", "row 1: there is no context column"),
        ("id,feature:f\n1,2\n", "row 1: there is no context column"),
        ('x,y\n"1,2\n', "row 2"),
    ],
)
def test_malformed_csv_gives_file_row_and_column(tmp_path, text, message):
    path = write(tmp_path / "bad.csv", text)
    with pytest.raises(ValueError, match=message) as caught:
        TaskPool.from_csv(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cell", ["0e-999", "-0.0", "+1.", ".5", "1E3", "5e-324", "1e308"])
def test_numbers_are_read_as_python_writes_them(tmp_path, cell):
    pool = TaskPool.from_csv(write(tmp_path / "pool.csv", f"x\n{cell}\n"))
    assert pool.contexts.tolist() == [[float(cell)]]


def test_a_full_disk_leaves_the_old_pool_file(tmp_path, monkeypatch):
    pool = TaskPool([[1.0], [2.0]])
    pool.to_csv(tmp_path / "pool.csv")
    before = (tmp_path / "pool.csv").read_bytes()

    def no_space(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match=r"No space left.*pool\.csv"):
        pool.subset([0]).to_csv(tmp_path / "pool.csv")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"pool.csv": before}


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_bytes(b"\xff\xfe\x00x")
    with pytest.raises(ValueError, match="not UTF-8"):
        TaskPool.from_csv(path)
    with pytest.raises(FileNotFoundError):
        TaskPool.from_csv(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    "pool",
    [
        TaskPool([[1.0]], names=["id"]),
        TaskPool([[1.0]], names=["7"]),
        TaskPool([[1.0]], names=[" x"]),
        TaskPool([[1.0]], names=[""]),
        TaskPool([[1.0]], names=["feature:x"]),
        TaskPool([[1.0]], labels=["a "]),
        TaskPool([[1.0]], labels=[""]),
        TaskPool([[1.0]], labels=["a\rb"]),
        TaskPool([[1.0]], labels=["\ud800"]),
    ],
    ids=str,
)
def test_what_would_not_be_read_back_is_not_written(tmp_path, pool):
    with pytest.raises(ValueError, match="would not be read back|would be read as a feature"):
        pool.to_csv(tmp_path / "pool.csv")
    assert not list(tmp_path.iterdir())


def test_labels_may_span_lines(tmp_path):
    TaskPool([[1.0], [2.0]], labels=["a\nb", 'c"d']).to_csv(tmp_path / "pool.csv")
    assert TaskPool.from_csv(tmp_path / "pool.csv").labels == ("a\nb", 'c"d')


def test_only_contexts_go_to_csv(tmp_path):
    with pytest.raises(ValueError, match="only a pool of contexts can be written as CSV"):
        TaskPool.from_seeds(3).to_csv(tmp_path / "pool.csv")
    assert not (tmp_path / "pool.csv").exists()
