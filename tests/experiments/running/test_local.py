"""Processes of this machine: how they share its cores and its GPU."""

import multiprocessing
import os

import pytest

from procurl.envs.mujoco.threads import THREADS_VARIABLE
from procurl.experiments.batches import RunBatch
from procurl.experiments.running import local
from procurl.records.experiment import Contender

PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"


@pytest.fixture
def environment(monkeypatch):
    """Variables that a process may set without the others' seeing it."""
    ours = {name: value for name, value in os.environ.items() if "XLA" not in name}
    ours.pop(THREADS_VARIABLE, None)
    monkeypatch.setattr(os, "environ", ours)
    monkeypatch.setattr(local.signal, "signal", lambda *_: None)
    monkeypatch.setattr(local, "cores", lambda: 8)
    return ours


def serve(count, device):
    """Begin one of `count` processes here, which finds that whoever drives is gone."""
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    local._serve(theirs, count, device, "json")
    theirs.close()


@pytest.mark.parametrize(("count", "threads"), [(1, "8"), (3, "2"), (8, "1"), (12, "1")])
def test_processes_share_the_cores_for_mujoco(environment, count, threads):
    serve(count, "cpu")
    assert environment[THREADS_VARIABLE] == threads
    assert local.ONE_THREAD in environment["XLA_FLAGS"]
    assert PREALLOCATE not in environment


def test_threads_that_the_user_has_named_stay(environment):
    environment[THREADS_VARIABLE] = "5"
    serve(2, "cpu")
    assert environment[THREADS_VARIABLE] == "5"


def test_only_a_process_alone_takes_most_of_a_gpu_at_once(environment):
    serve(1, "gpu")
    assert PREALLOCATE not in environment
    serve(2, "gpu")
    assert environment[PREALLOCATE] == "false"
    assert "XLA_FLAGS" not in environment


@pytest.mark.parametrize(("stopped", "said"), [(False, [None]), (True, [])])
def test_a_process_that_was_stopped_does_not_say_that_it_is_done(
    tmp_path, monkeypatch, stopped, said
):
    """Whoever drives then hears its end, as of one that was killed."""
    monkeypatch.setattr(local, "train_batch", lambda *_: iter(()))
    ours, theirs = multiprocessing.Pipe()
    local._train(theirs, tmp_path, None, RunBatch(Contender("iid"), 0, 1), lambda: stopped)
    theirs.close()
    heard = []
    while ours.poll():
        try:
            heard.append(ours.recv())
        except EOFError:
            break
    assert heard == said
