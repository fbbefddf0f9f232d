"""Pools by file, number of seeds or function."""

import pytest

pytest.importorskip("gymnasium")

from procurl.envs import make_pool, pool_of, read_pool, resolve_environment
from tests.envs.sources.test_resolve import CODE


def test_seeds_are_counted_from_zero():
    assert read_pool("seeds:3").seeds.tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["seeds:", "seeds:0", "seeds:-1", "seeds:many", "seeds:1.5"])
def test_a_number_of_seeds_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="number of seeds must be a positive integer, got 'seeds"):
        read_pool(text)


def test_a_file_holds_contexts(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("length\n1\n2\n")
    assert read_pool(path).contexts.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="context columns must be gate_position"):
        read_pool(path, "pointmass-s")


def test_a_function_returns_any_pool(tmp_path):
    path = tmp_path / "corridor.py"
    path.write_text(CODE)
    assert read_pool(f"{path}:pool").contexts.tolist() == [[2.0], [3.0]]
    with pytest.raises(ValueError, match=r"number must return a procurl.TaskPool, got int"):
        read_pool(f"{path}:number")


def test_an_environment_without_a_pool_says_what_to_do():
    source = resolve_environment("CartPole-v1")
    with pytest.raises(ValueError, match="CartPole-v1 has no pool of tasks: pass --pool FILE.csv"):
        pool_of(source, None)
    assert len(pool_of(source, "seeds:9")) == 9
    ours = resolve_environment("procurl/PointMass-s-v0")
    assert pool_of(ours, None).fingerprint == make_pool("pointmass-s").fingerprint


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tasks.csv does not exist: a pool is read"):
        read_pool(tmp_path / "tasks.csv")
