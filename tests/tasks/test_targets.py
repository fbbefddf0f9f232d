"""Targets are marked in a pool, or added to it."""

import numpy as np
import pytest

from procurl import TaskPool, TaskSpace, add_targets, make_strategy
from procurl.tasks.targets import target_ids


def test_targets_are_the_tasks_whose_feature_is_not_0():
    pool = TaskPool([[0.0], [1.0], [2.0]], features={"target": [0, 1, 0.5], "exam": [1, 0, 0]})
    assert target_ids(pool).tolist() == [1, 2]
    assert target_ids(pool, "exam").tolist() == [0]


def test_the_error_names_the_features_and_the_remedy():
    pool = TaskPool([[0.0]], features={"size": [3], "weight": [1]})
    message = (
        "'goal' is not a feature of the pool .its features: size, weight.. .*--target-pool FILE"
    )
    with pytest.raises(ValueError, match=message):
        target_ids(pool, "goal")


def test_new_targets_come_last_and_known_ones_are_marked_in_place():
    pool = TaskPool([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], names=["x", "y"])
    targets = TaskPool([[9.0, 9.0], [2.0, 3.0], [8.0, 8.0]], names=["x", "y"])
    both = add_targets(pool, targets)
    assert both.names == ("x", "y")
    assert both.contexts[:3].tolist() == pool.contexts.tolist()
    assert both.contexts[3:].tolist() == [[9.0, 9.0], [8.0, 8.0]]
    assert both.features["target"].tolist() == [0, 1, 0, 1, 1]
    assert add_targets(both, targets).fingerprint == both.fingerprint


def test_all_tasks_that_equal_a_target_are_marked():
    marked = add_targets(TaskPool([[1.0], [0.0], [1.0]]), TaskPool([[1.0]]))
    assert marked.features["target"].tolist() == [1, 0, 1]


def test_the_column_is_marked_anew():
    pool = TaskPool([[0.0], [1.0]], features={"target": [1, 0]})
    assert add_targets(pool, TaskPool([[1.0]])).features["target"].tolist() == [0, 1]
    assert add_targets(pool, TaskPool([[1.0]]), "exam").features["exam"].tolist() == [0, 1]


def test_features_of_both_pools_and_labels_are_kept():
    pool = TaskPool([[0.0]], features={"size": [1], "own": [2]}, labels=["first"])
    targets = TaskPool([[1.0], [0.0]], features={"size": [5, 6]}, labels=["a", "b"])
    both = add_targets(pool, targets)
    assert both.features["size"].tolist() == [1, 5]
    assert set(both.features) == {"size", "target"}
    assert both.labels == ("first", "target 0")
    more = add_targets(both, TaskPool([[2.0], [3.0]]), "far")
    assert more.labels == ("first", "target 0", "target 1", "target 2")


def test_a_marked_pool_survives_a_file(tmp_path):
    pool = add_targets(TaskPool([[0.0], [1.0]]), TaskPool([[5.0]]))
    pool.to_csv(tmp_path / "pool.csv")
    np.testing.assert_array_equal(target_ids(TaskPool.from_csv(tmp_path / "pool.csv")), [2])


@pytest.mark.parametrize(
    ("pool", "targets", "message"),
    [
        (TaskPool([[0.0]]), TaskPool.from_seeds(2), "targets must hold contexts, got TaskPool"),
        (TaskPool(["a"]), TaskPool([[0.0]]), "pool must hold contexts"),
        (
            TaskPool([[0.0]], names=["x"]),
            TaskPool([[0.0]], names=["y"]),
            "must have the context columns of the pool in the same order, x, got y",
        ),
    ],
)
def test_pools_that_do_not_fit_are_refused(pool, targets, message):
    with pytest.raises(ValueError, match=message):
        add_targets(pool, targets)


def near(center):
    return lambda rng, size: rng.normal(center, 0.1, (size, 1))


def test_targets_are_drawn_once_by_a_function_with_the_seed():
    pool = TaskPool([[0.0], [1.0]], names=["x"])
    marked = add_targets(pool, near(5.0), size=3, seed=1)
    assert marked.features["target"].tolist() == [0, 0, 1, 1, 1]
    assert marked.names == ("x",)
    expected = np.random.default_rng(1).normal(5.0, 0.1, (3, 1))
    np.testing.assert_array_equal(marked.contexts[2:], expected)
    assert add_targets(pool, near(5.0), size=3, seed=1).fingerprint == marked.fingerprint
    assert add_targets(pool, near(5.0), size=3, seed=2).fingerprint != marked.fingerprint
    assert len(add_targets(pool, near(5.0))) == 402


def test_a_draw_of_another_shape_is_refused():
    pool = TaskPool([[0.0, 1.0]], names=["x", "y"])
    with pytest.raises(ValueError, match=r"shape .4, 2., .* each of x, y, got shape .4, 1."):
        add_targets(pool, near(0.0), size=4)
    with pytest.raises(ValueError, match="size must be an integer of at least 1, got 0"):
        add_targets(pool, near(0.0), size=0)
    with pytest.raises(TypeError, match=r"a TaskPool or a function draw.rng, size. .* got list"):
        add_targets(pool, [[0.0, 1.0]])
    with pytest.raises(ValueError, match="pool must hold contexts"):
        add_targets(TaskPool.from_seeds(2), near(0.0))


@pytest.mark.parametrize("targets", [np.zeros((4, 1)), TaskPool([[1.0]]), [0, 2]])
def test_targets_are_named_not_passed(targets):
    with pytest.raises(TypeError, match=r"name of a feature.*add_targets"):
        make_strategy("procurl-target", targets=targets).bind(TaskPool([[0.0], [1.0]]))


def test_targets_are_not_added_to_a_space():
    space = TaskSpace([0.0], [1.0])
    with pytest.raises(TypeError, match=r"pool must be a TaskPool, got TaskSpace: .*space\.pool"):
        add_targets(space, TaskPool([[1.0]]))
