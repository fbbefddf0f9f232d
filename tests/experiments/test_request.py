"""A request becomes batches, processes and an experiment."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

from procurl import TaskPool
from procurl.envs import make_pool
from procurl.experiments import comparison as compare_module
from procurl.experiments.batches import Job
from procurl.experiments.comparison import compare, headline
from procurl.experiments.engines.registry import default_engine
from procurl.experiments.engines.setup import setup_of
from procurl.experiments.planning import make_experiment, width_of
from procurl.experiments.request import (
    ComparisonRequest,
    EvaluationOptions,
    ExecutionOptions,
    TrainingOptions,
)
from procurl.experiments.running import ray_backend
from procurl.experiments.running.slots import NAMES
from procurl.records.experiment import Contender, RunPlan, differences
from procurl.records.results import RunId
from procurl.records.store import open_experiment, read_store
from tests.experiments import corridor
from tests.experiments.corridor import Corridor, lengths
from tests.experiments.counting import BATCH, POOL, job


def request(out=Path("nowhere"), seeds=8, env="pointmass-s", strategies=("iid",), **options):
    """A request with options of any group."""
    names = ("engine", "steps", "width", "target_pool")
    training = {name: options.pop(name) for name in names if name in options}
    evaluation = {name: options.pop(name) for name in tuple(options) if name.startswith("eval")}
    return ComparisonRequest(
        env,
        strategies,
        seeds,
        out,
        TrainingOptions(**training),
        EvaluationOptions(**evaluation),
        ExecutionOptions(**options),
    )


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setattr(compare_module, "cores", lambda: 4)
    monkeypatch.setattr(compare_module, "has_gpu", lambda: False)


@pytest.fixture
def trained(monkeypatch):
    """The batches of every comparison on `trained.device`, which get an empty checkpoint only."""

    class Trained(list):
        device = "cpu"

    trained = Trained()

    class Backend:
        device = property(lambda self: trained.device)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def run(self, folder, job, batches, report):
            trained.append([(batch.first_seed, batch.width) for batch in batches])
            for batch in batches:
                (folder / batch.folder).mkdir(parents=True, exist_ok=True)
                (folder / batch.folder / NAMES[0]).touch()

    monkeypatch.setattr(compare_module, "make_backend", lambda *_: Backend())
    monkeypatch.setattr(compare_module, "summarize", lambda *_: "")
    return trained


@pytest.fixture
def workers(monkeypatch):
    """(processes, device, module that they import first) of what is started."""
    monkeypatch.setattr(compare_module, "LocalBackend", lambda *given: given)

    def make(what, n=1):
        contenders = [f"s{i}" for i in range(n)]
        return compare_module.make_backend(replace(what, strategies=contenders))

    return make


@pytest.mark.parametrize(
    ("seeds", "width"),
    [(1, 1), (2, 2), (5, 5), (7, 7), (8, 8), (9, 5), (16, 8), (17, 6), (20, 7), (24, 8), (100, 8)],
)
def test_seeds_are_spread_evenly_over_the_batches_of_a_cpu(seeds, width):
    assert width_of(request(seeds=seeds), "cpu") == width


@pytest.mark.parametrize("seeds", [2, 5, 8, 20])
def test_the_width_does_not_depend_on_the_cores(seeds, trained, tmp_path, monkeypatch):
    for count in (1, 2, 64):
        monkeypatch.setattr(compare_module, "cores", lambda count=count: count)
        monkeypatch.setattr("procurl.internals.hardware.cores", lambda count=count: count)
        compare(request(tmp_path / str(count), seeds))
    assert trained[0] == trained[1] == trained[2]


def test_a_width_is_part_of_the_experiment(trained, tmp_path):
    compare(request(tmp_path, 4, width=2))
    compare(request(tmp_path, 4))
    assert trained == [[(0, 2), (2, 2)]] * 2
    with read_store(tmp_path) as store:
        assert store.experiment.width == 2
    with pytest.raises(ValueError, match="holds runs of width 2, got width 4: omit the width"):
        compare(request(tmp_path, 4, width=4))
    assert len(trained) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be an integer of at least 1, got 0"),
        ({"width": 2, "engine": "sb3"}, "width must be 1 for the engine sb3"),
    ],
)
def test_a_width_that_cannot_be_is_refused(trained, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        compare(request(tmp_path / "out", **options))
    assert not (tmp_path / "out").exists()
    assert width_of(request(width=1, engine="sb3"), "cpu") == 1


def test_a_gpu_trains_many_seeds_side_by_side():
    assert width_of(request(seeds=20), "gpu") == 20
    assert width_of(request(seeds=200), "gpu") == 128
    assert width_of(request(env="antgoal"), "gpu") == 8


@pytest.mark.parametrize(
    ("engine", "env", "device"),
    [
        ("sb3", "pointmass-s", "cpu"),
        ("host", "antgoal", "gpu"),
        ("host", "antgoal", "cpu"),
        ("jax", "antgoal", "cpu"),
    ],
)
def test_runs_that_would_take_turns_are_batches_of_their_own(engine, env, device):
    assert width_of(request(seeds=20, env=env, engine=engine), device) == 1


def test_more_seeds_keep_the_width_of_the_directory(trained, tmp_path):
    compare(request(tmp_path / "a", 8))
    compare(request(tmp_path / "a", 20))
    compare(request(tmp_path / "b", 20))
    compare(request(tmp_path / "b", 8))
    assert trained[0] == [(0, 8)]
    assert trained[1] == [(0, 8), (8, 8), (16, 8)]
    assert trained[2] == trained[3] == [(0, 7), (7, 7), (14, 7)]


def test_the_papers_evaluations_are_the_same_experiment_named_or_not(trained, tmp_path):
    compare(request(tmp_path, eval_every=25_000, eval_episodes=1))
    compare(request(tmp_path))
    with read_store(tmp_path) as store:
        assert (store.experiment.eval_every, store.experiment.eval_episodes) == (None, None)
    with pytest.raises(ValueError, match="eval_every is the default, not 50000"):
        compare(request(tmp_path, eval_every=50_000))


@pytest.mark.parametrize(
    ("device", "engine", "recorded"),
    [
        ("cpu", "jax", "host"),
        ("cpu", "host", "host"),
        ("gpu", "jax", "jax"),
        ("gpu", "host", "host"),
    ],
)
def test_the_store_records_the_engine_that_trains(trained, tmp_path, device, engine, recorded):
    trained.device = device
    compare(request(tmp_path, 2, "antgoal", engine=engine))
    with read_store(tmp_path) as store:
        assert (store.experiment.engine, store.experiment.device) == (recorded, device)
    compare(request(tmp_path, 3, "antgoal", engine=engine))  # the same command continues
    assert len(trained) == 2


def test_another_device_is_another_engine_for_mujoco(trained, tmp_path):
    compare(request(tmp_path, 2, "antgoal"))
    trained.device = "gpu"
    with pytest.raises(ValueError, match="engine is 'host', not 'jax'"):
        compare(request(tmp_path, 2, "antgoal"))


@pytest.mark.parametrize(
    ("what", "count"),
    [
        (request(seeds=20), 3),  # no more than there are batches
        (request(seeds=100), 4),  # nor than there are cores
        (request(seeds=100, workers=2), 2),
        (request(seeds=100, workers=6), 6),  # unless requested
    ],
)
def test_a_cpu_has_a_process_for_every_core(workers, what, count):
    assert workers(what) == (count, "cpu", "procurl.experiments.engines.jax_trainer")


def test_a_gpu_has_one_process_or_as_many_as_requested(workers, monkeypatch):
    monkeypatch.setattr(compare_module, "has_gpu", lambda: True)
    assert workers(request(seeds=20), 5)[:2] == (1, "gpu")
    assert workers(request(seeds=20, workers=3), 5)[:2] == (3, "gpu")
    assert workers(request(seeds=20, workers=9), 5)[:2] == (5, "gpu")
    on_host = request(env="antgoal", engine="host", workers=3)
    assert workers(on_host) == (3, "gpu", "procurl.experiments.engines.host_trainer")
    assert workers(request(engine="sb3"))[:2] == (4, "cpu")


def test_batches_are_those_of_the_directory(workers, tmp_path):
    """With a width of two, it has more batches than eight new seeds would need."""
    with open_experiment(tmp_path, job().experiment, POOL, RunPlan({"iid": 4})) as store:
        store.begin(RunId("iid", "", 0))
    assert width_of(request(tmp_path), "cpu") == 8
    many = request(tmp_path, workers=9)
    assert workers(many)[0] == 2 + 4  # of iid, and of the contender that is new


@pytest.mark.parametrize(("engine", "use_gpus"), [("jax", True), ("host", True), ("sb3", False)])
def test_a_cluster_is_used_as_this_machine_would_be(workers, monkeypatch, engine, use_gpus):
    monkeypatch.setattr(
        ray_backend, "RayBackend", lambda address, use_gpus: SimpleNamespace(gpus=use_gpus)
    )
    made = workers(request(env="antgoal", engine=engine, backend="ray"))
    assert made.gpus is use_gpus


def own(**options):
    """A request for an environment of a user, with its pool."""
    training = TrainingOptions(pool=lengths(), **options)
    env = "tests.experiments.corridor:Corridor"
    return ComparisonRequest(env, (), 2, Path("nowhere"), training)


def labels(what):
    return [contender.label for contender in what.contenders]


def test_the_default_suits_every_algorithm_and_all_tasks(monkeypatch):
    assert labels(request(strategies=())) == ["procurl", "iid"]
    assert labels(own()) == ["procurl", "iid"]
    assert labels(own(algo="DQN")) == ["procurl", "iid"]
    monkeypatch.setattr(Corridor, "seen", lambda self: np.zeros(2, dtype=np.float32))
    assert labels(own()) == ["procurl", "iid"]


@pytest.mark.parametrize(
    ("observations", "actions", "engine"),
    [
        (spaces.Box(0, 1, (3,)), spaces.Discrete(2), "host"),
        (spaces.Box(0, 1, (3,)), spaces.Box(-1, 1, (2,)), "host"),
        (spaces.Box(0, 1, (3,)), spaces.MultiDiscrete([2, 3]), "sb3"),
        (spaces.Box(0, 1, (3,)), spaces.Discrete(2, start=1), "sb3"),
        (spaces.Box(0, 255, (36, 36, 3), dtype=np.uint8), spaces.Discrete(2), "sb3"),
        (spaces.Dict({"a": spaces.Discrete(2)}), spaces.Discrete(2), "sb3"),
    ],
)
def test_our_ppo_trains_environments_of_numbers_if_jax_is_installed(
    observations, actions, engine, monkeypatch
):
    assert default_engine(observations, actions) == engine
    monkeypatch.setattr("procurl.experiments.engines.registry.find_spec", lambda name: None)
    assert default_engine(observations, actions) == "sb3"


def test_evaluations_of_other_environments_follow_from_their_steps():
    assert make_experiment(own(), "cpu").eval_every == 5_000
    assert make_experiment(own(steps=3_000), "cpu").eval_every == 2_048  # one update
    assert make_experiment(own(steps=3_000, algo="DQN"), "cpu").eval_every == 150
    assert make_experiment(own(), "cpu").steps == 100_000
    assert make_experiment(own(), "cpu").env_version is not None


def test_large_pools_are_evaluated_on_a_fixed_part():
    experiment = make_experiment(own(), "cpu")
    line = "our PPO (host engine), 100,000 steps on 5,000 tasks, evaluated on always the same 100"
    assert line in headline(experiment, TaskPool.from_seeds(5_000))
    setup = setup_of(Job(experiment, TaskPool.from_seeds(5_000), None, False), BATCH)
    assert len(setup.evaluation.tasks) == 100


def test_strategies_learn_how_long_training_takes():
    experiment = make_experiment(own(steps=3_000), "cpu")
    contender = Contender.parse("procurl-env-2:spending=early")
    setup = setup_of(Job(experiment, POOL, None, False), BATCH._replace(contender=contender))
    plan = setup.strategy.rollout_plan()
    assert plan is not None
    assert plan.training_steps == 3_000


def test_a_pool_may_be_the_environments_own_or_a_function():
    env = "tests.experiments.corridor:Corridor"
    given = TrainingOptions(pool=f"{corridor.__file__}:lengths")
    (pool,), test_pool = ComparisonRequest(env, (), 1, Path("nowhere"), given).pools
    assert (pool.fingerprint, test_pool) == (lengths().fingerprint, None)
    with pytest.raises(ValueError, match="has no pool of tasks"):
        ComparisonRequest(env, (), 1, Path("nowhere")).pools  # noqa: B018


def test_targets_are_added_to_the_pool_and_are_the_test_pool():
    targets = make_pool("pointmass-s", "target-two-modes", size=5)
    given = request(strategies=["procurl-target", "target"], target_pool=targets)
    given.check_pools()
    (pool,), test_pool = given.pools
    assert pool.features["target"].tolist() == [0.0] * 100 + [1.0] * 5
    assert pool.contexts[100:].tolist() == targets.contexts.tolist()
    assert test_pool is targets
    experiment = make_experiment(given, "cpu")
    assert (experiment.test_hash, experiment.test_name) == (targets.fingerprint, "targets")


def test_a_test_pool_beside_targets_is_kept():
    targets, other = (make_pool("pointmass-s", kind, size=5) for kind in ("hard", "test"))
    given = replace(request(target_pool=targets), evaluation=EvaluationOptions(test_pool=other))
    (pool,), test_pool = given.pools
    assert (len(pool), test_pool) == (105, other)
    assert make_experiment(given, "cpu").test_name == "test"


def test_a_strategy_for_targets_is_refused_without_any(trained, tmp_path):
    with pytest.raises(ValueError, match="targets='target' is not a feature of the pool"):
        compare(request(tmp_path / "out", strategies=["procurl-target"]))
    assert not (tmp_path / "out").exists()


def test_evaluations_as_in_the_preset_are_the_same_experiment():
    plain = make_experiment(request(), "cpu")
    assert make_experiment(request(eval_stochastic=False), "cpu") == plain
    other = make_experiment(request(eval_stochastic=True, eval_tasks=20), "cpu")
    assert (other.eval_stochastic, other.eval_tasks) == (True, 20)
    assert differences(plain, other) == (
        "eval_tasks is the default, not 20; eval_stochastic is the default, not True"
    )
    with pytest.raises(ValueError, match="eval_tasks must be an integer of at least 1, got 0"):
        EvaluationOptions(eval_tasks=0).check()
