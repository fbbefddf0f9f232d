"""Training pools of a comparison: drawn, given as files, spread over runs, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from procurl import TaskPool
from procurl.envs import EnvSource, make_host_env, make_pool
from procurl.experiments.batches import Job
from procurl.experiments.planning import make_experiment, width_of
from procurl.experiments.request import ComparisonRequest, EvaluationOptions, TrainingOptions
from procurl.experiments.training_pools import read_pools
from procurl.records.experiment import Experiment, pool_index, pools_hash

SOURCE = EnvSource("mine", lambda: None)


def request(env="pointmass-s", seeds=4, **training):
    return ComparisonRequest(env, ("iid",), seeds, Path("nowhere"), TrainingOptions(**training))


@pytest.fixture
def files(tmp_path):
    """Two files of five tasks and one of six."""
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv", "c.csv")]
    for seed, (path, size) in enumerate(zip(paths, (5, 5, 6), strict=True)):
        make_host_env("pointmass-s").write_pool(
            make_pool("pointmass-s", size=size, seed=seed), path
        )
    return paths


def test_pools_are_drawn_with_consecutive_seeds():
    drawn = request(pools=3).pools.training
    expected = [make_pool("pointmass-s", seed=seed) for seed in range(3)]
    assert [pool.fingerprint for pool in drawn] == [pool.fingerprint for pool in expected]


@pytest.mark.parametrize(
    ("names", "others", "message"),
    [
        (["length", "mass"], ["mass", "length"], r"length, mass, got mass, length"),
        (["length", "mass"], ["length", "width"], r"length, mass, got length, width"),
        (["length", "mass"], ["length", "mass", "width"], r"got length, mass, width"),
    ],
)
def test_columns_that_an_environment_would_mix_up_are_refused(names, others, message):
    pool = TaskPool([[1.0, 2.0], [3.0, 4.0]], names=names)
    other = TaskPool([[1.0, 2.0, 5.0][: len(others)]], names=others)
    with pytest.raises(ValueError, match=f"the test pool must have the context columns.*{message}"):
        read_pools("mine", SOURCE, [pool], None, None, other)
    with pytest.raises(ValueError, match=f"every other training pool must have.*{message}"):
        read_pools("mine", SOURCE, [pool, other], None, None, None)


def test_columns_without_names_fit_any():
    pool = TaskPool([[1.0, 2.0], [3.0, 4.0]], names=["length", "mass"])
    other = TaskPool([[5.0, 6.0]])
    pools = read_pools("mine", SOURCE, [pool, TaskPool([[7.0, 8.0]])], None, None, other)
    assert (len(pools.training), pools.test) == (2, other)


def test_targets_are_added_to_every_pool():
    targets = make_pool("pointmass-s", "target-one-mode", size=2)
    drawn = request(pools=2, target_pool=targets).pools.training
    assert [len(pool) for pool in drawn] == [102, 102]


def marked(contexts, targets):
    names = ["gate_position", "gate_width", "friction"]
    return TaskPool(contexts, names=names, features={"target": targets})


def test_targets_that_the_pool_marks_are_the_test_pool(tmp_path):
    path = str(tmp_path / "marked.csv")
    marked([[0, 1, 0], [1, 2, 1], [2, 3, 2]], [0, 1, 1]).to_csv(path)
    given = request(pool=path)
    assert given.pools.test.contexts.tolist() == [[1, 2, 1], [2, 3, 2]]
    experiment = make_experiment(given, "cpu")
    assert (experiment.test_name, experiment.test_pool) == ("targets", None)
    assert experiment.test_hash == given.pools.test.fingerprint


def test_a_test_pool_replaces_the_targets_that_the_pool_marks():
    other = make_pool("pointmass-s", "test", size=2)
    pool = marked([[0, 1, 0], [1, 2, 1]], [0, 1])
    given = replace(request(pool=pool), evaluation=EvaluationOptions(test_pool=other))
    assert given.pools.test is other
    assert make_experiment(given, "cpu").test_name == "test"


def test_several_pools_have_a_test_pool_if_they_mark_the_same_targets():
    a = marked([[0, 1, 0], [1, 2, 1]], [0, 1])
    b = marked([[1, 2, 1], [2, 3, 2]], [1, 0])
    assert request(pool=[a, b]).pools.test.contexts.tolist() == [[1, 2, 1]]
    for targets in ([0, 1], [1, 1], [0, 0]):
        given = request(pool=[a, marked([[1, 2, 1], [2, 3, 2]], targets)])
        assert given.pools.test is None
        assert make_experiment(given, "cpu").test_name == "test"


def test_several_files_are_several_pools(files):
    given = request(pool=files[:2])
    assert [len(pool) for pool in given.pools.training] == [5, 5]
    assert make_experiment(given, "cpu").pool == files[:2]
    assert width_of(given, "cpu") == 4


def test_pools_of_different_sizes_are_trained_one_run_at_a_time(files):
    assert width_of(request(pool=files), "cpu") == 1
    with pytest.raises(ValueError, match="width must be 1 for pools of different sizes, got 4"):
        width_of(request(pool=files, width=4), "cpu")


def test_seeds_take_the_pools_in_turn():
    assert [pool_index(seed, 3) for seed in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    pools = [TaskPool([[float(i)]]) for i in range(3)]
    job = Job(Experiment("corridor", "jax", 10), pools[0], None, False, other_pools=(*pools[1:],))
    assert [job.pool_of(seed) for seed in (0, 4, 8)] == pools


def test_one_pool_has_its_own_hash_and_several_have_one_of_all():
    one, other = (make_pool("pointmass-s", seed=seed) for seed in range(2))
    assert pools_hash([one]) == one.fingerprint
    assert len({pools_hash(pools) for pools in ([one], [one, other], [other, one])}) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (request(pools=0), "pools must be .*1.* got 0"),
        (request(pools=5), "got 4 seeds for 5 pools: .* pass --seeds 5 or more"),
        (request(pool=["a.csv"] * 5), "got 4 seeds for 5 pools"),
        (request(pools=2, pool="a.csv"), r"got pools 2 with pool a\.csv: .* Omit one"),
        (
            request("CartPole-v1", pools=2),
            "got environment 'CartPole-v1', whose pool is fixed: .*--pool A.csv B.csv",
        ),
    ],
)
def test_pools_that_do_not_fit_are_refused_before_anything_is_read(given, message):
    with pytest.raises(ValueError, match=message):
        given.check()


def test_the_same_tasks_twice_are_refused(files):
    with pytest.raises(ValueError, match=r"must differ, got the same tasks twice: .*a.csv and"):
        request(pool=[files[0], files[1], files[0]]).pools  # noqa: B018


def test_a_request_that_fits_is_accepted():
    replace(request(pools=4), strategies=("procurl", "iid")).check()
