"""Karel pools as files: what is written is read back, and every fault has a place."""

import pytest

from procurl import TaskPool
from procurl.envs.karel.dynamics import Karel
from procurl.envs.karel.file import read_karel_pool, write_karel_pool
from procurl.envs.karel.pool import karel_pool, karel_solutions
from procurl.envs.karel.task import karel_task

HEADER = "walls,cell,direction,markers,goal_cell,goal_direction,goal_markers"


def written(path, text: str):
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("kind", ["uniform", "hard-test"])
def test_a_pool_is_read_back_as_it_was_written(tmp_path, kind):
    pool = karel_pool(kind, size=1000)
    write_karel_pool(pool, tmp_path / "pool.csv")
    again = Karel().read_pool(tmp_path / "pool.csv")
    assert again.fingerprint == pool.fingerprint
    assert again.labels == tuple(str(task) for task in range(1000))
    assert karel_solutions(again) == karel_solutions(pool)
    for name, column in pool.features.items():
        assert again.features[name].tolist() == column.tolist()


def test_a_file_by_hand_needs_the_seven_integers_alone(tmp_path):
    rows = "\ufeffCell,walls,direction,markers,goal_cell,goal_direction,goal_markers\r\n"
    path = written(tmp_path / "pool.csv", rows + "\r\n 0,2,3,0,2,3,0\r\n4 ,0,0,16,4,0,0\r\n")
    pool = read_karel_pool(path)
    assert len(pool) == 2
    assert pool.labels is None
    assert pool[0] == karel_task([2, 0, 3, 0, 2, 3, 0], "RMLMMLMRF")
    assert pool[1] == karel_task([0, 4, 0, 16, 4, 0, 0], "PF")


def test_labels_are_kept_and_another_shortest_solution_is_accepted(tmp_path):
    text = f"id,{HEADER},solution\nround,0,5,0,0,5,2,0,RRF\nnone,0,0,0,0,0,0,0,F\n"
    pool = read_karel_pool(written(tmp_path / "pool.csv", text))
    assert pool.labels == ("round", "none")
    assert karel_solutions(pool) == ["LLF", "F"]


def test_a_pool_without_stored_solutions_is_written_with_them(tmp_path):
    pool = TaskPool([karel_task([0, 0, 3, 0, 2, 3, 0])], labels=["a"])
    write_karel_pool(pool, tmp_path / "pool.csv")
    text = (tmp_path / "pool.csv").read_text()
    assert text == f"id,{HEADER},solution\na,0,0,3,0,2,3,0,MMF\n"


@pytest.mark.parametrize("label", ["a\nb", "a\r\nb", "a\u2028b", 'a "b", c'])
def test_a_label_of_several_lines_is_read_back(tmp_path, label):
    pool = TaskPool([karel_task([0, 0, 3, 0, cell, 3, 0]) for cell in (2, 3)], labels=[label, "x"])
    write_karel_pool(pool, tmp_path / "pool.csv")
    assert read_karel_pool(tmp_path / "pool.csv").labels == (label, "x")


@pytest.mark.parametrize("label", ["", " a", "a\n"])
def test_a_label_that_would_not_be_read_back_is_not_written(tmp_path, label):
    pool = TaskPool([karel_task([0, 0, 3, 0, 2, 3, 0])], labels=[label])
    with pytest.raises(ValueError, match="would not be read back as it is"):
        write_karel_pool(pool, tmp_path / "pool.csv")
    assert not (tmp_path / "pool.csv").exists()


def test_a_task_that_is_not_valid_is_not_written(tmp_path):
    pool = TaskPool([[0, 0, 3, 0, 2, 3, 0], [0.5, 0, 3, 0, 2, 3, 0]])
    with pytest.raises(ValueError, match="task 1: 'walls' must be an integer .* got 0.5"):
        write_karel_pool(pool, tmp_path / "pool.csv")
    assert not (tmp_path / "pool.csv").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a header row and at least one task"),
        (f"{HEADER}\n\n", "must have a header row and at least one task"),
        ("0,0,0,0,0,0,0\n", "row 1, column 1: '0' is not a column of a Karel pool"),
        (f"{HEADER},gate\n", "row 1, column 8: 'gate' is not a column"),
        (f"{HEADER},cell\n", "row 1, column 2: the name 'cell' is twice in the header"),
        (f"{HEADER[6:]}\n", "row 1, column 'walls': this column is missing in the header"),
        (f"{HEADER}\n0,0,0,0,0,0\n", "row 2: the header names 7 columns, this row has 6"),
        (f"{HEADER}\n0,0,0,0,0,0,0\n0,x,0,0,0,0,0\n", "row 3, column 'cell': 'x' is not an int"),
        (f"{HEADER}\n0,١,0,0,0,0,0\n", "row 2, column 'cell': '١' is not an integer"),
        (f"{HEADER}\n0,,0,0,0,0,0\n", "row 2, column 'cell': '' is not an integer"),
        (f"{HEADER}\n0,1.0,0,0,0,0,0\n", "row 2, column 'cell': '1.0' is not an integer"),
        (f"{HEADER}\n0,-1,0,0,0,0,0\n", "row 2, column 'cell': '-1' is not an integer"),
        (f"{HEADER}\n0,0,0,0,0,0,{'9' * 30}\n", "row 2, column 'goal_markers': '9+' is not an int"),
        (f"{HEADER}\n0,16,0,0,0,0,0\n", "row 2, column 'cell': must be an integer from 0 to 15"),
        (f"{HEADER}\n0,0,0,0,0,9,0\n", "row 2, column 'goal_direction': must be .* 0 to 3, got 9"),
        (f"{HEADER}\n\n1,0,0,0,1,0,0\n", "row 3, column 'cell': is a wall"),
        (f"{HEADER}\n1,1,0,1,1,0,0\n", "row 2, column 'markers': has markers on walls"),
        (f"{HEADER}\n18,0,0,0,2,0,0\n", "row 2, column 'goal_cell': is cut off .* no solution"),
        (f"{HEADER}\n18,0,0,0,0,0,4\n", "row 2, column 'goal_markers': .* no solution"),
        (f"{HEADER}\n0,0,0,0,1,0,0\n0,0,0,0,1,0,0\n", "row 3: this task is already in row 2"),
        (f"id,{HEADER}\n,0,0,0,0,0,0,0\n", "row 2, column 'id': the id is empty"),
        (
            f"id,{HEADER}\na,0,0,0,0,0,0,0\na,0,0,0,0,1,0,0\n",
            "row 3, column 'id': id 'a' is already used in row 2",
        ),
        (
            f"{HEADER},solution\n0,0,0,0,0,0,0,\n",
            "'solution': '' has 0 actions, the shortest has 1",
        ),
        (f"{HEADER},solution\n0,0,0,0,0,0,0,X\n", "'solution': 'X' has letters other than MLRPUF"),
        (f"{HEADER},solution\n0,0,3,0,2,3,0,MLF\n", "'solution': 'MLF' does not solve the task"),
        (f"{HEADER},solution\n0,0,3,0,1,3,0,FM\n", "'solution': 'FM' does not solve the task"),
        (f'{HEADER}\n"0,0,0\n', "row 2: not a CSV row"),
    ],
)
def test_a_malformed_file_gives_one_error_with_its_place(tmp_path, text, message):
    path = written(tmp_path / "bad.csv", text)
    with pytest.raises(ValueError, match=message) as raised:
        read_karel_pool(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_not_text_and_a_missing_file(tmp_path):
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_karel_pool(tmp_path / "bad.csv")
    with pytest.raises(FileNotFoundError):
        read_karel_pool(tmp_path / "none.csv")
