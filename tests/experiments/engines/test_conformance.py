"""What every engine must do when a sweep drives it, for all registered ones."""

import io
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("mujoco")
pytest.importorskip("stable_baselines3")

import stable_baselines3

from procurl import TaskPool, load_policy
from procurl.envs import make_host_env, make_pool, resolve_environment
from procurl.experiments.algorithms import AlgorithmSettings
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines import sb3_students
from procurl.experiments.engines.registry import ENGINES, make_trainer
from procurl.experiments.running.batch import train_batch
from procurl.internals.settings import describe
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.evaluation import SCALARS, Evaluation, scalar_values
from procurl.records.experiment import Contender, Experiment
from tests.experiments.corridor import SavedCorridor, lengths

ENVIRONMENTS = {"jax": "pointmass-d", "host": "ballcatching", "sb3": "pointmass-d"}
TASKS = 3
STEPS, EVERY = 160, 64
SMALL = PPOSettings(
    n_steps=32, n_epochs=1, batch_size=32, shared_layers=(8,), policy_layers=(8,), value_layers=(8,)
)
# An environment of a user, by engine or algorithm.
OWN_STUDENTS = {
    "host": SMALL,
    "PPO": AlgorithmSettings("PPO", "MlpPolicy", {"n_steps": 8, "batch_size": 32}),
    "A2C": AlgorithmSettings("A2C", "MlpPolicy", {"n_steps": 8}),
    "DQN": AlgorithmSettings("DQN", "MlpPolicy", {"learning_starts": 20, "buffer_size": 100}),
}
BATCH = RunBatch(Contender("procurl-out"), 0, 2)


@cache
def job_of(case):
    """A job of an engine with one of our environments, or of a student with a user's."""
    if case in ENGINES:
        env = ENVIRONMENTS[case]
        pools, source, student, engine = (make_pool(env, size=TASKS),), None, SMALL, case
        pools += (make_pool(env, "test", size=2),)
    else:
        name = case.partition(", ")[2]
        source = resolve_environment("tests.experiments.corridor:SavedCorridor")
        pools = (lengths(), TaskPool([[2.0], [4.0]], names=["length"]))
        env, student = source.name, OWN_STUDENTS[name]
        engine = "host" if name == "host" else "sb3"
    experiment = Experiment(
        env, engine, STEPS, n_envs=4, width=2, student=describe(student), eval_every=EVERY
    )
    return Job(experiment, *pools, keep_models=True, source=source)


@cache
def progress_of(engine):
    """All that a batch reports from its first step to its last."""
    return list(train_batch(job_of(engine), BATCH, None))


@pytest.fixture(params=[*ENGINES, *(f"own environment, {name}" for name in OWN_STUDENTS)])
def engine(request):
    return request.param


def evaluations_of(progress):
    """[w] the evaluations of every run, without the time they took."""
    runs = [[], []]
    for part in progress:
        for run, new in zip(runs, part.evaluations or [[], []], strict=True):
            run += [evaluation._replace(seconds=0.0) for evaluation in new]
    return runs


def equal(one, other):
    """Whether two evaluations are equal bit for bit."""
    pairs = [(one.picks, other.picks), *zip(one.snapshot, other.snapshot, strict=True)]
    arrays = all(np.array_equal(a, b) for a, b in pairs)
    return arrays and scalar_values(one) == scalar_values(other)


def test_runs_are_evaluated_at_every_interval_and_at_the_end(engine):
    runs = evaluations_of(progress_of(engine))
    for run in runs:
        assert [(e.step, e.train_steps) for e in run] == [(64, 64), (128, 128), (160, 160)]
    assert not equal(runs[0][-1], runs[1][-1])  # their seeds differ


def test_the_last_evaluation_stands_for_the_steps_of_the_run(engine):
    """Not for the interval of 64 steps that the last update passes as well."""
    job = job_of(engine)
    job = job._replace(experiment=replace(job.experiment, steps=40))
    for run in evaluations_of(train_batch(job, BATCH, None)):
        assert [e.step for e in run] == [40]
        assert 40 <= run[-1].train_steps <= 64


@pytest.mark.parametrize("name", ["A2C", "DQN"])
def test_an_interval_that_is_longer_than_a_chunk_ends_where_it_is_due(name, monkeypatch):
    monkeypatch.setattr(sb3_students, "CHUNK", 40)
    for run in evaluations_of(train_batch(job_of(f"own environment, {name}"), BATCH, None)):
        assert [(e.step, e.train_steps) for e in run] == [(64, 64), (128, 128), (160, 160)]


@pytest.mark.soak
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_of_one_batch_are_trained_on_the_pools_of_their_seeds(engine):
    """With two pools, the second run is that of a batch on the second pool alone."""
    job = job_of(engine)
    other = make_pool(ENVIRONMENTS[engine], size=TASKS, seed=5)
    both = evaluations_of(train_batch(job._replace(other_pools=(other,)), BATCH, None))
    alone = evaluations_of(train_batch(job._replace(pool=other), BATCH, None))
    assert equal(both[0][-1], evaluations_of(progress_of(engine))[0][-1])
    assert equal(both[1][-1], alone[1][-1])
    assert not equal(alone[1][-1], evaluations_of(progress_of(engine))[1][-1])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_strategy_that_never_got_to_it_says_so_at_the_end(engine, caplog):
    """A trainer that was only made is at an end without a fit; one warning for its two runs."""
    job = job_of(engine)
    pool = TaskPool(job.pool.contexts, names=job.pool.names)  # for which there was no warning
    trainer = make_trainer(job._replace(pool=pool), BATCH._replace(contender=Contender("alp-gmm")))
    if engine == "sb3":
        trainer.advance()  # the curriculum starts with `learn`
    trainer.warn_at_end()
    [message] = [text for text in caplog.messages if "at the end of training" in text]
    assert message.startswith("alp-gmm, at the end of training: no mixture was fitted")


def test_every_evaluation_is_a_complete_record(engine):
    for evaluation in (e for run in evaluations_of(progress_of(engine)) for e in run):
        assert type(evaluation) is Evaluation
        assert evaluation.signal is None  # of language models only
        scalars = zip(SCALARS, scalar_values(evaluation), strict=True)
        for field, value in (pair for pair in scalars if pair[0].name != "signal"):
            assert value is not None, field.name
            assert np.isfinite(value), field.name
        assert evaluation.env_steps >= evaluation.train_steps
        assert 0.0 <= evaluation.mean_success <= 1.0
        assert 0.0 <= evaluation.entropy <= np.log(TASKS) + 1e-6
        assert set(evaluation.picks.tolist()) <= set(range(TASKS))
        snapshot = evaluation.snapshot
        assert snapshot.tasks.tolist() == list(range(TASKS))
        assert snapshot.probabilities.sum() == pytest.approx(1.0, abs=1e-5)
        assert snapshot.success.shape == snapshot.returns.shape == (TASKS,)


def test_a_checkpoint_continues_bit_for_bit(engine):
    whole = progress_of(engine)
    cut = next(part for part in whole if part.checkpoint is not None and part.step == 64)
    rest = list(train_batch(job_of(engine), BATCH, cut.checkpoint))
    assert rest[0].step == 64
    for one, other in zip(evaluations_of(whole), evaluations_of(rest), strict=True):
        assert len(one) == len(other) == 3  # those before the checkpoint are reported again
        assert all(map(equal, one, other))
    ours, theirs = whole[-1].models, rest[-1].models
    assert set(ours) == set(theirs)
    weights = [name for name in ours if name.endswith((".safetensors", ".zip"))]
    assert len(weights) == 4  # the last and the best of two runs
    for name in weights:
        if name.endswith(".zip"):
            assert same_weights(*(sb3_model(engine, models[name]) for models in (ours, theirs)))
        else:
            assert ours[name] == theirs[name]


def sb3_model(case, content):
    """A model of Stable-Baselines3 from the bytes of its file."""
    algorithm = getattr(stable_baselines3, case.partition(", ")[2])
    return algorithm.load(io.BytesIO(content), device="cpu")


def same_weights(one, other):
    ours, theirs = (model.policy.state_dict() for model in (one, other))
    return all(bool((ours[name] == theirs[name]).all()) for name in ours | theirs)


def test_a_finished_run_says_that_nothing_stopped_it_and_its_models_act(engine, tmp_path):
    last = progress_of(engine)[-1]
    assert last.finished == (None, None)
    for name, content in last.models.items():
        (tmp_path / name).write_bytes(content)
    if job_of(engine).experiment.engine == "sb3" and engine not in ENGINES:
        content = last.models["seed-00001-best.zip"]
        action, _ = sb3_model(engine, content).predict(np.zeros(2, dtype=np.float32))
        assert action in (0, 1)
        return
    policy = load_policy(tmp_path / "seed-00001-best")
    if engine not in ENGINES:
        assert policy.act(np.zeros(2, dtype=np.float32)) in (0, 1)
        return
    env = make_host_env(ENVIRONMENTS[engine])
    assert policy.act(np.zeros_like(env.observation_low)).shape == env.action_low.shape


def test_the_identity_is_json_and_tells_batches_apart(engine):
    one, same = (make_trainer(job_of(engine), BATCH).identity for _ in range(2))
    other = make_trainer(job_of(engine), BATCH._replace(first_seed=2)).identity
    assert json.loads(json.dumps(one)) == one == same
    assert other != one


@pytest.mark.parametrize("name", ["host", "PPO"])
def test_an_error_of_an_environment_names_the_task_and_the_line(name, monkeypatch):
    def fail(self, action):
        raise KeyError("no such\nthing")

    monkeypatch.setattr(SavedCorridor, "step", fail)
    message = (
        r"the environment raised KeyError: .*test_conformance.py, line \d+\), in step 1 of task"
    )
    with pytest.raises(ValueError, match=message) as caught:
        list(train_batch(job_of(f"own environment, {name}"), BATCH, None))
    assert "\n" not in str(caught.value)
