"""Pools by file, number of seeds or function."""

import pytest

pytest.importorskip("gymnasium")

import gymnasium

from procurl import TaskEnv, TaskSpace
from procurl.envs import (
    EnvSource,
    make_pool,
    pool_of,
    read_pool,
    register_environment,
    resolve_environment,
)
from tests.envs.sources.test_resolve import CODE

SPACE = """
import gymnasium
from procurl import TaskEnv, TaskSpace

def space():
    return TaskSpace([0.0], [1.0])

def endless():
    return TaskEnv(gymnasium.make("CartPole-v1"), space())
"""


def test_seeds_are_counted_from_zero():
    assert read_pool("seeds:3").seeds.tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["seeds:", "seeds:0", "seeds:-1", "seeds:many", "seeds:1.5"])
def test_a_number_of_seeds_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="number of seeds must be a positive integer, got 'seeds"):
        read_pool(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("seeds:1e3", "; write seeds:1000"),
        ("seeds:10,000", "; write seeds:10000"),
        ("seeds:0", ""),
        ("seeds:1.5", ""),
        ("seeds:1e99", ""),
        ("seeds:inf", ""),
        ("seeds:nan", ""),
    ],
)
def test_a_number_of_seeds_in_another_notation_is_written_out(text, hint):
    with pytest.raises(ValueError, match="number of seeds must be a positive integer") as error:
        read_pool(text)
    assert str(error.value).endswith(f"got {text!r}{hint}")


def test_a_pool_of_seeds_that_does_not_fit_in_memory_is_refused():
    message = "must be at most 100,000,000, got 'seeds:99999999999999': write fewer, such as seeds:"
    with pytest.raises(ValueError, match=message):
        read_pool("seeds:99999999999999")


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
    with pytest.raises(TypeError, match=r"number must return a TaskPool, got int$"):
        read_pool(f"{path}:number")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "():\n    raise KeyError('levels')",
            r"tasks.py:pool failed: KeyError: 'levels' \(line 2\)",
        ),
        ("(size):\n    return size", r"tasks.py:pool is called without arguments, but needs size:"),
    ],
)
def test_a_function_that_fails_is_named_with_the_line(tmp_path, body, message):
    path = tmp_path / "tasks.py"
    path.write_text(f"def pool{body}\n")
    with pytest.raises(ValueError, match=message):
        read_pool(f"{path}:pool")


def test_spaces_are_refused_with_what_to_do_instead(tmp_path):
    """Wherever a user may name tasks: as a function, in the environment, or in a registered one."""
    path = tmp_path / "corridor.py"
    path.write_text(CODE + SPACE)
    remedy = (
        r"a TaskPool, got TaskSpace\. The tasks must be fixed here: use space\.pool\(\), or train"
    )
    with pytest.raises(TypeError, match=f"space must return {remedy}"):
        read_pool(f"{path}:space")
    source = resolve_environment(f"{path}:endless")
    with pytest.raises(TypeError, match=f"the TaskEnv of corridor.py:endless must play {remedy}"):
        pool_of(source, None)
    assert len(pool_of(source, "seeds:9")) == 9
    with pytest.raises(TypeError, match=f"pool must be None or {remedy}"):
        register_environment("endless", source.make, TaskSpace([0.0], [1.0]))


def test_an_environment_whose_tasks_are_refused_is_closed():
    class Closing(TaskEnv):
        def close(self):
            closed.append(self)
            super().close()

    def make():
        made.append(Closing(gymnasium.make("CartPole-v1"), TaskSpace([0.0], [1.0])))
        return made[0]

    made, closed = [], []
    with pytest.raises(TypeError, match="must play a TaskPool, got TaskSpace"):
        EnvSource("cart", make).own_pool()
    assert closed == made


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
