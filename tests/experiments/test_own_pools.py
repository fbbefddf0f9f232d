"""Pools of ours, recognized by their tasks."""

import pytest

from procurl.envs import make_pool
from procurl.experiments.own_pools import OwnPool, recognize
from procurl.tasks.pool import TaskPool


@pytest.mark.parametrize(
    ("env", "own"),
    [
        ("pointmass-s", OwnPool()),
        ("pointmass-s", OwnPool("hard")),
        ("pointmass-s", OwnPool("uniform", 300, "target-two-modes")),
        ("pointmass-s", OwnPool("uniform", 100, "target-task")),
        ("sgr", OwnPool()),
        ("sgr", OwnPool("uniform", 10_000, "target")),
    ],
)
def test_a_pool_of_ours_is_recognized(env, own):
    assert recognize(env, own.make(env)) == own


def test_other_pools_are_not():
    pool = make_pool("pointmass-s", size=5)
    assert recognize("pointmass-s", pool) is None
    marked = TaskPool(pool.contexts, names=pool.names, features={"target": [1, 0, 0, 0, 1]})
    assert recognize("pointmass-s", marked) is None
    assert recognize("CartPole-v1", make_pool("pointmass-s")) is None
