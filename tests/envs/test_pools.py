"""What the pools and contexts of every registered environment must do."""

import numpy as np
import pytest

from procurl import TaskPool
from procurl.envs import environment_names, make_host_env, make_pool

pytest.importorskip("mujoco")


@pytest.fixture(params=environment_names())
def name(request):
    return request.param


def test_a_pool_has_valid_contexts_and_depends_on_its_arguments_alone(name):
    env, pool = make_host_env(name), make_pool(name, "uniform", size=8, seed=1)
    assert env.contexts_of(pool).shape == (8, len(env.context_names))
    assert make_pool(name, "uniform", size=8, seed=1).fingerprint == pool.fingerprint
    assert make_pool(name, "uniform", size=8, seed=2).fingerprint != pool.fingerprint
    assert make_pool(name, "test", size=8, seed=1).fingerprint != pool.fingerprint


def test_a_pool_survives_a_file(name, tmp_path):
    env, pool = make_host_env(name), make_pool(name, "uniform", size=8, seed=1)
    env.write_pool(pool, tmp_path / "pool.csv")
    again = env.read_pool(tmp_path / "pool.csv")
    assert again.fingerprint == pool.fingerprint
    np.testing.assert_array_equal(env.contexts_of(again), env.contexts_of(pool))
    assert again.features.keys() == pool.features.keys()
    for feature, column in pool.features.items():
        np.testing.assert_array_equal(again.features[feature], column)


def test_contexts_are_checked(name):
    env = make_host_env(name)
    good = env.context_of(env.default_pool()[0])
    env.check_context(good)
    with pytest.raises(ValueError, match=f"{len(good)} numbers"):
        env.check_context(np.append(good, 0.0))
    for column, entry in enumerate(env.context_names):
        for value in (np.nan, np.inf):
            bad = good.copy()
            bad[column] = value
            with pytest.raises(ValueError, match=f"{entry}.* {value}"):
                env.check_context(bad)
        bad = good.copy()
        bad[column] = 1e6
        with pytest.raises(ValueError, match=r"1e\+06|1000000"):
            env.check_context(bad)
    with pytest.raises(ValueError, match="task 1 of the pool cannot be played"):
        env.contexts_of(TaskPool([good.tolist(), bad.tolist()]))


def test_the_columns_of_a_pool_are_matched_by_name(name):
    env = make_host_env(name)
    good = env.context_of(env.default_pool()[0])
    pool = TaskPool([good.tolist()], names=env.context_names)
    other = TaskPool(
        [good[::-1].tolist()], names=[column.title() for column in env.context_names[::-1]]
    )
    assert env.contexts_of(pool).tolist() == [good.tolist()]
    assert env.contexts_of(other).tolist() == [good.tolist()]
    assert env.fit_pool(other).fingerprint == pool.fingerprint
    assert env.fit_pool(pool) is pool
    unnamed = TaskPool([good.tolist()])
    assert env.fit_pool(unnamed) is unnamed
    foreign = TaskPool([good.tolist()], names=["foo", *env.context_names[1:]])
    with pytest.raises(ValueError, match=f"missing: {env.context_names[0]}; unknown: foo"):
        env.contexts_of(foreign)


def test_a_task_that_is_not_a_context_is_refused(name):
    env = make_host_env(name)
    for task in ("first", {"level": 1}, None):
        with pytest.raises(ValueError, match=r"\d numbers|needs the entries"):
            env.check_context(env.context_of(task))
