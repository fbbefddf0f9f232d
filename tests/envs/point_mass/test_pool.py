"""The pools of PointMass: what they hold, and that they are the same everywhere."""

import numpy as np
import pytest

from procurl import TaskPool
from procurl.envs.point_mass.dynamics import SparsePointMass
from procurl.envs.point_mass.pool import KINDS, point_mass_pool
from procurl.envs.point_mass.rules import CONTEXT_HIGH, CONTEXT_LOW

MANY = [kind for kind in KINDS if kind != "target-task"]  # tasks


@pytest.mark.parametrize("kind", MANY)
def test_every_pool_holds_100_different_playable_tasks(kind):
    pool = point_mass_pool(kind)
    assert len(pool) == 100
    assert pool.names == ("gate_position", "gate_width", "friction")
    assert len(np.unique(pool.contexts, axis=0)) == 100
    np.testing.assert_array_equal(SparsePointMass().contexts_of(pool), pool.contexts)


@pytest.mark.parametrize("kind", MANY)
def test_a_pool_is_decided_by_its_arguments(kind):
    same = point_mass_pool(kind, size=100, seed=7)
    assert point_mass_pool(kind).fingerprint == same.fingerprint
    assert point_mass_pool(kind, seed=1).fingerprint != same.fingerprint


def test_the_default_pool_is_the_one_that_results_were_made_with():
    first = point_mass_pool().contexts[0]
    np.testing.assert_allclose(first, [1.0007637328373358, 7.229103507271816, 3.102742760980774])


@pytest.mark.parametrize("seed", [None, 0, 5])
def test_no_test_task_is_a_training_task(seed):
    train = {tuple(row) for row in point_mass_pool("uniform", seed=seed).contexts}
    test = {tuple(row) for row in point_mass_pool("test", seed=seed).contexts}
    assert not train & test


def test_the_uniform_pool_fills_the_ranges():
    contexts = point_mass_pool("uniform", size=4000).contexts
    low, high = np.array(CONTEXT_LOW), np.array(CONTEXT_HIGH)
    share = (contexts - low) / (high - low)
    np.testing.assert_allclose(share.mean(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(share.std(axis=0), np.sqrt(1 / 12), atol=0.01)


def test_half_of_the_hard_pool_has_narrow_gates_far_from_the_middle():
    contexts = point_mass_pool("hard", size=4000).contexts
    right, left = contexts[2000:3000], contexts[3000:]
    for quarter, middle in ((right, 3.0), (left, -3.0)):
        assert np.median(quarter[:, 0]) == pytest.approx(middle, abs=0.06)
        assert np.median(quarter[:, 1]) == pytest.approx(1.0, abs=0.06)
        assert quarter[:, 2].mean() == pytest.approx(2.0, abs=0.15)
    assert (contexts >= CONTEXT_LOW).all()
    assert (contexts <= CONTEXT_HIGH).all()
    assert (right[:, 1] == 0.5).mean() == pytest.approx(0.159, abs=0.04)  # clipped: 1 σ below


def test_targets_are_narrow_gates_at_the_ends_of_the_wall():
    one = point_mass_pool("target-one-mode", size=4000).contexts
    two = point_mass_pool("target-two-modes", size=4000).contexts
    for contexts in (one, np.abs(two)):
        position, width, friction = contexts.T
        assert np.median(position) == pytest.approx(3.9, abs=0.005)
        assert (position == 4.0).mean() == pytest.approx(0.023, abs=0.01)  # clipped: 2 σ above
        assert (width == 0.5).mean() == pytest.approx(0.5, abs=0.03)  # half of N(0.5, 0.05²)
        assert width[width > 0.5].mean() - 0.5 == pytest.approx(0.05 * np.sqrt(2 / np.pi), abs=2e-3)
        np.testing.assert_allclose([friction.mean(), friction.std()], [2.0, 4 / 12**0.5], atol=0.06)
    assert (one[:, 0] > 3.0).all()
    assert (two[:, 0] < 0.0).mean() == pytest.approx(0.5, abs=0.03)


def test_a_single_task_is_a_target_too():
    pool = point_mass_pool("target-task")
    assert pool.contexts.tolist() == [[0.9, 0.5, 3.5]]
    assert point_mass_pool("target-task", size=1, seed=3).fingerprint == pool.fingerprint


def test_a_pool_smaller_than_four_has_no_hard_quarter():
    assert len(point_mass_pool("hard", size=3)) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "easy"}, "kind must be one of uniform, test, hard, target-.* got 'easy'"),
        ({"kind": "target-task", "size": 2}, "size must be 1 for the kind 'target-task', .* got 2"),
        ({"size": 0}, "size must be an integer of at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        point_mass_pool(**arguments)


def test_columns_in_another_order_are_matched_by_name():
    pool = TaskPool([[0.5, 1.0, -2.0]], names=["friction", "gate_width", "gate_position"])
    assert SparsePointMass().contexts_of(pool).tolist() == [[-2.0, 1.0, 0.5]]


def test_a_pool_with_an_unplayable_task_is_refused_with_its_id():
    with pytest.raises(ValueError, match="task 1 of the pool cannot be played: .*gate_width"):
        SparsePointMass().contexts_of(TaskPool([[0.0, 1.0, 0.0], [0.0, 9.0, 0.0]]))
