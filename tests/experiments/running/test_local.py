"""Processes of this machine: how they share its cores and its GPU."""

import multiprocessing
import os
import signal

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


def make_worker(target, *arguments):
    """A process that runs `target` in place of training, seen from the driver."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(ours, theirs, *arguments))
    process.start()
    theirs.close()
    return local.WorkerProcess(process, ours)


def end_by(ours, theirs, how):
    ours.close()
    os.kill(os.getpid(), how)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (signal.SIGKILL, "was killed (SIGKILL), perhaps because the machine ran out of memory; "),
        (signal.SIGTERM, "was killed (SIGTERM); run the same command to resume"),
    ],
)
def test_sending_to_a_process_that_was_killed_says_so(how, message):
    """Not as a broken pipe, which the command line would take for a closed terminal."""
    worker = make_worker(end_by, how)
    worker.process.join()
    for action in (lambda: worker.send("batch"), worker.receive):
        with pytest.raises(OSError, match="a training process") as caught:
            action()
        assert type(caught.value) is OSError
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (local.STOPPED, "was killed (SIGTERM)"),
        (-signal.SIGABRT, "was killed (SIGABRT)"),
        (3, "exited with status 3"),
        (None, "closed its connection"),
    ],
)
def test_only_a_process_that_was_killed_outright_may_have_lacked_memory(code, words):
    assert local._ending(code) == words


def fail(ours, theirs):
    ours.close()
    theirs.send(ImportError("flax is not installed"))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_sending_to_a_process_that_failed_raises_its_error():
    worker = make_worker(fail)
    worker.process.join()
    with pytest.raises(ImportError, match="flax is not installed"):
        worker.send("batch")
