"""Records as finished work: what is still trained, what stays, and what is refused."""

import dataclasses

import pytest

from procurl.envs import make_pool
from procurl.experiments.analysis.figures import curves as figures
from procurl.experiments.compact_records.files import read_records, write_records
from procurl.experiments.compact_records.joining import shared_settings
from procurl.experiments.compact_records.record import Part, compact
from procurl.experiments.paper import training
from procurl.experiments.paper.build import run
from procurl.experiments.paper.entries import find_entries
from procurl.experiments.paper.sweeps import ONE_MODE, POINT_MASS, POOLED
from procurl.experiments.paper.training import PaperOptions, sweep_settings, train_missing
from procurl.experiments.planning import make_experiment
from procurl.experiments.presets import paper_ppo_settings
from procurl.experiments.request import (
    ComparisonRequest,
    EvaluationOptions,
    ExecutionOptions,
    TrainingOptions,
)
from procurl.internals import extras
from procurl.internals.settings import describe
from tests.experiments.synthetic import synthetic_results

STEPS = 100_000
COMMAND = "procurl paper, here"
CURVES = "curves-pointmass-d"  # plain runs without a test pool
ELSEWHERE = {"command": "procurl paper", "machine": {"processor": "elsewhere"}, "device": "gpu"}


def some(*strategies, steps=STEPS, n_envs=1, **evaluation):
    return PaperOptions(
        strategies=strategies,
        training=TrainingOptions(steps=steps, n_envs=n_envs),
        evaluation=EvaluationOptions(**evaluation),
    )


def record(out, *labels, seeds=2, facts=ELSEWHERE, steps=STEPS, **changed):
    results = synthetic_results(labels, seeds, "pointmass-d", steps, test=False)
    results = dataclasses.replace(results, facts=facts, **changed)
    write_records(compact(results), out / "records" / "pointmass-d")


def train(out, seeds, options):
    train_missing(find_entries([CURVES]), out, options._replace(seeds=seeds), COMMAND)


def read(out):
    return read_records(out / "records" / "pointmass-d")


@pytest.fixture
def requests(monkeypatch):
    """The contenders requested of the runner, which returns all that it has ever trained."""
    requests, held = [], {}

    def train_sweep(sweep, contenders, out, options):
        requests.append(contenders)
        held.update(dict.fromkeys(contenders))
        results = synthetic_results(
            tuple(held), options.seeds, sweep.env, options.training.steps, 25_000, test=sweep.tested
        )
        return dataclasses.replace(
            results, facts={"machine": {"processor": "here"}, "device": "cpu"}
        )

    monkeypatch.setattr(training, "train_sweep", train_sweep)
    return requests


def test_what_is_recorded_is_not_trained(requests, tmp_path, monkeypatch):
    record(tmp_path, "iid", "procurl-val", seeds=3)
    before = read(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)  # no engine is installed
    train(tmp_path, 2, some("iid", "procurl-val"))
    assert requests == []
    assert read(tmp_path).parts == before.parts


def test_only_missing_contenders_are_trained(requests, tmp_path):
    record(tmp_path, "iid", "hard")
    before = read(tmp_path)
    train(tmp_path, 2, some("iid", "procurl-val"))
    assert requests == [["procurl-val"]]
    after = read(tmp_path)
    # In the order of the entry's contenders.
    assert after.results.labels == ("procurl-val", "iid", "hard")
    here = {"command": COMMAND, "machine": {"processor": "here"}, "device": "cpu"}
    assert after.parts == [Part(("iid", "hard"), ELSEWHERE), Part(("procurl-val",), here)]
    for run_id in before.results.runs:
        assert str(after.results.evaluations[run_id]) == str(before.results.evaluations[run_id])
    assert len(after.trends_of(["hard"])) == len(before.trends_of(["hard"])) == 2
    assert len(after.trends_of(["procurl-val"])) == 2


def test_contenders_of_other_entries_come_last(requests, tmp_path):
    record(tmp_path, "procurl-val:beta=5", "iid")
    train(tmp_path, 2, some("procurl-val"))
    assert read(tmp_path).results.labels == ("procurl-val", "iid", "procurl-val:beta=5")


def test_more_seeds_replace_what_was_recorded(requests, tmp_path):
    record(tmp_path, "iid", "procurl-val", seeds=2)
    train(tmp_path, 3, some("iid"))
    assert requests == [["iid"]]
    after = read(tmp_path)
    assert after.finished_seeds("iid") == {0, 1, 2}
    assert after.finished_seeds("procurl-val") == {0, 1}
    assert after.facts_of("iid")["command"] == COMMAND
    assert after.facts_of("procurl-val") == ELSEWHERE


def test_runs_before_their_last_step_are_not_done(requests, tmp_path):
    record(tmp_path, "iid", steps=STEPS // 2)
    found = read(tmp_path)
    longer = dataclasses.replace(found.results, steps=STEPS)
    write_records(dataclasses.replace(found, results=longer), tmp_path / "records" / "pointmass-d")
    train(tmp_path, 1, some("iid"))
    assert requests == [["iid"]]
    assert read(tmp_path).finished_seeds("iid") == {0}


def test_what_was_trained_for_another_entry_stays_with_its_own_command(requests, tmp_path):
    for name in ("iid", "procurl-val"):
        wanted = some(name)._replace(seeds=2)
        train_missing(find_entries([CURVES]), tmp_path, wanted, f"command of {name}")
    assert requests == [["iid"], ["procurl-val"]]
    commands = {part.labels: part.facts["command"] for part in read(tmp_path).parts}
    assert commands == {("iid",): "command of iid", ("procurl-val",): "command of procurl-val"}


@pytest.mark.parametrize(
    ("held", "wanted", "named"),
    [
        ({"n_envs": 4}, some("hard"), "n_envs is 4, not 1"),
        ({"engine": "host"}, some("hard"), "engine is 'host', not 'jax'"),
        ({}, some("hard", steps=50_000), "steps is 100000, not 50000"),
        ({"facts": {"test_hash": "abc"}}, some("hard"), "test_hash is 'abc', not None"),
        ({"facts": {"eval_every": 50_000}}, some("hard"), "eval_every is 50000, not 25000"),
        ({"facts": {"eval_episodes": None}}, some("hard", eval_episodes=3), "is 1, not 3"),
        ({"facts": {"student": {"gamma": 0.5}}}, some("hard"), "PPO's gamma is 0.5, not 0.95"),
    ],
)
def test_records_of_another_experiment_are_refused(requests, tmp_path, held, wanted, named):
    record(tmp_path, "iid", **held)
    before = (tmp_path / "records" / "pointmass-d" / "experiment.json").read_bytes()
    with pytest.raises(ValueError, match=f"another experiment: .*{named}.*another directory"):
        train(tmp_path, 2, wanted)
    assert requests == []
    assert (tmp_path / "records" / "pointmass-d" / "experiment.json").read_bytes() == before


def test_a_sweep_is_the_experiment_that_its_comparison_records(requests, tmp_path):
    student = describe(paper_ppo_settings("pointmass-d", ()))
    facts = {"student": student, "test_hash": None, "eval_every": None, "eval_episodes": 1}
    record(tmp_path, "iid", facts=facts)
    train(tmp_path, 2, some("iid"))
    assert requests == []


def test_a_sweep_with_targets_is_the_experiment_that_its_comparison_records(tmp_path):
    options = PaperOptions(evaluation=EvaluationOptions(eval_every=100_000))
    wanted = sweep_settings(ONE_MODE, options, "jax")
    targets = make_pool("pointmass-s", "target-one-mode")
    request = ComparisonRequest(
        "pointmass-s",
        ["procurl-target"],
        1,
        tmp_path,
        TrainingOptions(
            steps=2_000_000,
            settings=("n_steps=5120", "batch_size=128", "ent_coef=0.01"),
            pool=make_pool("pointmass-s", size=20_000),
            target_pool=targets,
        ),
        EvaluationOptions(eval_every=100_000, eval_tasks=500, eval_stochastic=True),
    )
    made = make_experiment(request, "gpu")
    assert (made.eval_every, made.eval_tasks, made.eval_stochastic) == (100_000, 500, True)
    pool_hash, facts = request.pools.training[0].fingerprint, dataclasses.asdict(made)
    assert wanted == shared_settings("pointmass-s", "jax", 2_000_000, 1, pool_hash, facts)
    assert wanted["test_hash"] == targets.fingerprint


def test_pages_tell_parts_apart_and_what_trained_them(requests, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "DPI", 30)
    a, b = tmp_path / "a", tmp_path / "b"
    facts = {**ELSEWHERE, "command": "procurl a", "eval_episodes": 4, "width": 2}
    record(a, "iid", "procurl-val:beta=5", facts=facts, n_envs=2)
    run([CURVES], seeds=2, out=a, options=some("iid", n_envs=2, eval_episodes=4))
    page = a / CURVES / "README.md"
    alone = page.read_text(encoding="utf-8")
    assert "2 environments per run. Trained in batches of 2 runs for" in alone
    assert "each on one GPU of elsewhere, ? cores." in alone
    assert alone.endswith("Trained by\n\n    procurl a\n")

    other = {**facts, "command": "procurl b", "device": "cpu", "width": 1}
    record(b, "procurl-val", facts=other, n_envs=2)
    run([CURVES], out=a, from_records=[a / "records", b / "records"])
    text = page.read_text(encoding="utf-8")
    assert "2 environments per run.\n\n- iid: trained in batches of 2 runs for" in text
    assert (
        "each on one GPU of elsewhere, ? cores.\n- procurl-val: trained one run at a time for"
        in text
    )
    assert "each on one core of elsewhere, ? cores.\n" in text
    assert text.endswith("Trained by\n\n    procurl a\n    procurl b\n")
    assert "beta=5" not in text  # not part of this page


def test_settings_of_ppo_that_a_sweep_names_are_its_own():
    sweep = dataclasses.replace(POINT_MASS, ppo=("gamma=0.9",))
    settings = training.sweep_settings(sweep, PaperOptions(), "jax")
    assert settings["PPO's gamma"] == 0.9
    assert settings["PPO's gae_lambda"] == 0.95
    assert settings["test_hash"] is not None


def test_all_sweeps_are_checked_before_the_first_is_trained(requests, tmp_path):
    """The interval is enough for an update of PointMass, but not of Karel."""
    wanted = some("iid", eval_every=1024)
    with pytest.raises(ValueError, match="eval_every must be at least the 2048 steps"):
        train_missing(find_entries([CURVES, "curves-basickarel"]), tmp_path, wanted, COMMAND)
    assert requests == []
    assert list(tmp_path.iterdir()) == []


def test_the_host_engine_is_for_the_sweeps_that_it_can_train():
    names = [CURVES, "curves-antgoal", "engines-pointmass-s"]
    wanted = training.contenders_by_sweep(find_entries(names))
    engines = {
        sweep.name: training.sweep_engine(
            sweep, PaperOptions(training=TrainingOptions(engine="host"))
        )
        for sweep in wanted
        if sweep.name != "pointmass-s"
    }
    assert engines == {"pointmass-d": "jax", "antgoal": "host", "pointmass-s-sb3": "sb3"}


@pytest.mark.parametrize(
    ("gpu", "backend", "held", "engine"),
    [
        (False, "local", None, "host"),
        (True, "local", None, "jax"),
        (True, "local", "host", "jax"),  # its records are refused before anything is trained
        (False, "ray", None, "jax"),  # the comparison decides once it knows the cluster
        (False, "ray", "host", "host"),
    ],
)
def test_the_engine_of_mujoco_is_that_of_the_device(monkeypatch, gpu, backend, held, engine):
    monkeypatch.setattr(training, "has_gpu", lambda: gpu)
    (sweep,) = training.contenders_by_sweep(find_entries(["curves-antgoal"]))
    known = None
    if held is not None:
        known = compact(synthetic_results(("iid",), 1, "pointmass-d", STEPS, test=False))
        known = dataclasses.replace(known, results=dataclasses.replace(known.results, engine=held))
    options = PaperOptions(execution=ExecutionOptions(backend=backend))
    assert training.sweep_engine(sweep, options, known) == engine
    assert training.sweep_engine(POINT_MASS, options) == "jax"


@pytest.mark.parametrize("held", ["jax", "host"])
def test_records_of_mujoco_are_done_work_on_any_device(monkeypatch, tmp_path, held):
    """If nothing is missing. More seeds must come from the same engine."""
    monkeypatch.setattr(training, "has_gpu", lambda: held == "host")
    (sweep,) = training.contenders_by_sweep(find_entries(["curves-antgoal"]))
    results = synthetic_results(("iid",), 2, "pointmass-d", sweep.steps, 100_000, test=False)
    pool = training.make_pool("antgoal", sweep.kind)
    known = compact(dataclasses.replace(results, facts={}))
    results = dataclasses.replace(known.results, env="antgoal", engine=held, pool=pool)
    known = dataclasses.replace(known, results=results)
    monkeypatch.setattr(training, "_records_of", lambda *_: known)
    two = PaperOptions(seeds=2, strategies=["iid"])
    assert training.missing_contenders(sweep, ["iid"], tmp_path, two) == []
    with pytest.raises(ValueError, match=f"engine is '{held}', not"):
        training.missing_contenders(sweep, ["iid"], tmp_path, two._replace(seeds=3))


class Captured(Exception):
    """Instead of training."""


def test_a_sweep_over_pools_trains_on_those_that_its_records_are_checked_against(
    tmp_path, monkeypatch
):
    def capture(request):
        raise Captured(request)

    monkeypatch.setattr("procurl.experiments.comparison.compare", capture)
    for sweep in POOLED:
        with pytest.raises(Captured) as captured:
            training.train_sweep(sweep, ["iid"], tmp_path, PaperOptions(seeds=5))
        request = captured.value.args[0]
        trained = [pool.fingerprint for pool in request.pools.training]
        assert trained == [pool.fingerprint for pool in sweep.training_pools()]
        assert trained == [make_pool(sweep.env, seed=i).fingerprint for i in range(5)]
        assert len(set(trained)) == 5
        assert request.training.settings == ()
