"""Batches on a Ray cluster: all are trained, and nothing is lost with a node."""

import os
import sys
from types import SimpleNamespace

import pytest

from procurl.experiments.batches import RunBatch
from procurl.experiments.running import batch as batch_module
from procurl.experiments.running import ray_backend
from procurl.experiments.running.ray_backend import RETRIES, RayBackend
from procurl.records.experiment import Contender
from tests.experiments.counting import CountingTrainer, job

BATCHES = [RunBatch(Contender("iid"), 0, 2), RunBatch(Contender("iid"), 2, 2)]


class RayError(Exception):
    """What Ray raises where a node is lost."""


class RayTaskError(RayError):
    """What Ray raises where a task has raised."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class FakeStream:
    """A task that yields, and may be lost on the way."""

    def __init__(self, values, lost_after):
        self.values, self.left = values, lost_after

    def __next__(self):
        if self.left == 0:
            return RayError("The node died.\nA long story follows.")
        self.left -= 1
        try:
            return next(self.values)
        except StopIteration:
            raise
        except Exception as error:
            return RayTaskError(error)


class FakeRay:
    """Just enough of Ray, in this process.

    Args:
        lost_after: values that come of each task before its node is lost, one entry per task.
        gpus, cpus: of the cluster.
    """

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, lost_after=(), gpus=0, cpus=2):
        self.lost_after, self.gpus, self.cpus = list(lost_after), gpus, cpus
        self.started, self.options, self.down = [], None, False

    def init(self, **how):
        self.how = how

    def shutdown(self):
        self.down = True

    def cluster_resources(self):
        return {"CPU": float(self.cpus)} | ({"GPU": self.gpus} if self.gpus else {})

    def put(self, value):
        return value

    def remote(self, **options):
        self.options = options
        return lambda function: SimpleNamespace(remote=lambda *given: self.begun(function, given))

    def begun(self, function, given):
        self.started.append(given)
        lost_after = self.lost_after.pop(0) if self.lost_after else -1
        return FakeStream(function(*given), lost_after)

    def wait(self, streams, num_returns, timeout):
        return streams[:1], streams[1:]

    def get(self, value):
        if isinstance(value, Exception):
            raise value
        return value


@pytest.fixture
def fake(monkeypatch):
    """Makes a fake cluster, on which a counting trainer trains."""
    monkeypatch.setattr(batch_module, "make_trainer", CountingTrainer)
    monkeypatch.setattr(batch_module, "REPORT_SECONDS", 0.0)
    prepared = []
    monkeypatch.setattr(
        ray_backend,
        "prepare_process",
        lambda one_thread, threads: prepared.append((one_thread, threads)),
    )
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("XLA_PYTHON_CLIENT_MEM_FRACTION", raising=False)

    def make(**settings):
        made = FakeRay(**settings)
        made.prepared = prepared
        monkeypatch.setitem(sys.modules, "ray", made)
        return made

    yield make
    os.environ.pop("XLA_PYTHON_CLIENT_MEM_FRACTION", None)


def trained(folder, batches=BATCHES):
    said = []
    with RayBackend() as cluster:
        cluster.run(folder, job(), batches, said.append)
    return said


def steps(said, batch):
    reports = [progress for progress in said if progress.batch == batch and progress.evaluations]
    return {m.step for progress in reports for m in progress.evaluations[0]}


def test_every_batch_is_trained_and_kept_here(fake, tmp_path):
    ray = fake()
    said = trained(tmp_path)
    for batch in BATCHES:
        assert steps(said, batch) == {30, 60, 90, 100}
        assert [path.name for path in (tmp_path / batch.folder).iterdir()] == [
            "checkpoint-b.safetensors"
        ]
    assert sum(progress.finished is not None for progress in said) == 2
    assert all(progress.checkpoint is None for progress in said)
    assert ray.options == {"max_retries": 0, "num_returns": "streaming", "num_cpus": 1}
    assert ray.down


def test_warnings_of_the_cluster_arrive_here(fake, tmp_path):
    fake()
    said = [progress for progress in trained(tmp_path) if progress.about]
    texts = [f"too short for seed {batch.first_seed}" for batch in BATCHES]
    assert sorted(progress.message for progress in said) == sorted(texts)
    assert {progress.about for progress in said} == {"too short"}


def test_where_there_are_gpus_batches_share_them(fake, tmp_path):
    ray = fake(gpus=1)
    with RayBackend() as cluster:
        assert cluster.device == "gpu"
        cluster.run(tmp_path, job(), BATCHES[:1], lambda _: None)
    assert (ray.options["num_gpus"], ray.options["num_cpus"]) == (0.5, 0)


@pytest.mark.parametrize(
    ("cluster", "prepared"), [({"cpus": 8}, (True, 1)), ({"cpus": 12, "gpus": 2}, (False, 3))]
)
def test_batches_share_the_cores_of_the_cluster(fake, tmp_path, cluster, prepared):
    """One core each, or with two batches on each of two GPUs a quarter of all cores."""
    ray = fake(**cluster)
    trained(tmp_path)
    assert ray.prepared == [prepared] * len(BATCHES)


def test_a_lost_batch_continues_from_the_last_checkpoint_that_arrived(fake, tmp_path):
    """The first task is lost after the evaluation at 30, the third after none at all."""
    ray = fake(lost_after=[5, -1, 0])
    said = trained(tmp_path)
    assert len(ray.started) == 4
    checkpoints = [given[2] for given in ray.started]
    assert checkpoints[:2] == [None, None]
    assert checkpoints[2] is not None
    assert checkpoints[3] == checkpoints[2]
    assert steps(said, BATCHES[0]) == {30, 60, 90, 100}
    assert sum(progress.finished is not None for progress in said) == 2
    messages = [progress.message for progress in said if progress.message]
    assert f"{BATCHES[0].folder}: The node died. Trying again" in messages


def test_a_batch_that_gets_no_further_is_given_up(fake, tmp_path):
    ray = fake(lost_after=[0] * (RETRIES + 1))
    with pytest.raises(OSError, match=f"was lost {RETRIES + 1} times in a row"):
        trained(tmp_path, BATCHES[:1])
    assert len(ray.started) == RETRIES + 1
    assert ray.down


def test_an_error_of_a_task_is_reported_as_it_was(fake, tmp_path, monkeypatch):
    def broken(job, batch):
        raise ValueError("no such setting")

    fake()
    monkeypatch.setattr(batch_module, "make_trainer", broken)
    with pytest.raises(ValueError, match="^no such setting$"):
        trained(tmp_path)


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="pip install 'procurl\\[ray\\]'"):
        RayBackend()
