"""The pools of SparseGoal: what they hold, and that they are the same everywhere."""

import numpy as np
import pytest

from procurl.envs.sparse_goal.pool import sparse_goal_pool


def in_corridor(contexts):
    beyond = np.abs(contexts[:, :2]).max(axis=1)
    return (beyond >= 5.0) & (beyond <= 7.0)


@pytest.mark.parametrize(("kind", "size"), [("uniform", 10_000), ("test", 10_000), ("target", 100)])
def test_every_pool_holds_different_tasks_by_name(kind, size):
    pool = sparse_goal_pool(kind)
    assert len(pool) == size
    assert pool.names == ("goal_x", "goal_y", "tolerance")
    assert len(np.unique(pool.contexts, axis=0)) == size
    assert sparse_goal_pool(kind, size=size, seed=0).fingerprint == pool.fingerprint
    assert sparse_goal_pool(kind, seed=1).fingerprint != pool.fingerprint


def test_the_last_hundredth_are_targets_and_the_rest_is_uniform():
    contexts = sparse_goal_pool("uniform").contexts
    rest, targets = contexts[:9900], contexts[9900:]
    assert (targets[:, 2] == 0.05).all()
    assert in_corridor(targets).all()
    share = (rest - [-9.0, -9.0, 0.05]) / [18.0, 18.0, 17.95]
    np.testing.assert_allclose(share.mean(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(share.std(axis=0), np.sqrt(1 / 12), atol=0.01)
    assert in_corridor(rest).mean() == pytest.approx(96 / 324, abs=0.02)  # areas
    assert (rest[:, 2] > 0.05).all()
    marks = sparse_goal_pool("uniform").features["target"]
    assert marks.tolist() == [0.0] * 9900 + [1.0] * 100
    assert sparse_goal_pool("target").features["target"].all()


def test_targets_fill_the_corridor_evenly():
    goals = sparse_goal_pool("target", size=20_000).contexts
    assert in_corridor(goals).all()
    assert (goals[:, 2] == 0.05).all()
    x, y = goals[:, 0], goals[:, 1]
    # The area is 96: each corner has 4 of it, each side between them 20.
    for sign_x in (-1, 1):
        for sign_y in (-1, 1):
            corner = (sign_x * x > 5) & (sign_y * y > 5)
            assert corner.mean() == pytest.approx(4 / 96, abs=0.006)
    for along, across in ((x, y), (y, x)):
        for sign in (-1, 1):
            side = (np.abs(along) < 5) & (sign * across > 5)
            assert side.mean() == pytest.approx(20 / 96, abs=0.012)


def test_no_test_task_is_a_training_task():
    train = {tuple(row) for row in sparse_goal_pool("uniform").contexts}
    assert not train & {tuple(row) for row in sparse_goal_pool("test").contexts}
    assert not train & {tuple(row) for row in sparse_goal_pool("target").contexts}


def test_a_small_pool_may_have_no_target():
    assert (sparse_goal_pool("uniform", size=40).contexts[:, 2] > 0.05).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "hard"}, "kind must be one of uniform, test, target, got 'hard'"),
        ({"size": 0}, "size must be an integer of at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparse_goal_pool(**arguments)
