"""Processes of this machine: how they share its cores and its GPU."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from procurl.envs.mujoco.threads import THREADS_VARIABLE
from procurl.experiments.batches import RunBatch
from procurl.experiments.running import local, signals
from procurl.experiments.running.batch import Progress
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
    """Start one of `count` processes here, which finds that its driver is gone."""
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    local.serve(theirs, count, device, "json")
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
    """The driver then sees its end, as that of a killed process."""
    monkeypatch.setattr(local, "train_batch", lambda *_: iter(()))
    ours, theirs = multiprocessing.Pipe()
    local.train_and_send(theirs, tmp_path, None, RunBatch(Contender("iid"), 0, 1), lambda: stopped)
    theirs.close()
    heard = []
    while ours.poll():
        try:
            heard.append(ours.recv())
        except EOFError:
            break
    assert heard == said


def test_a_cache_that_jax_cannot_use_is_passed_over_in_silence(environment):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        local.use_compilation_cache()
        for what in ("reading", "writing"):
            text = f"Error {what} persistent compilation cache entry for 'jit_f': ValueError: no"
            warnings.warn(text, UserWarning, stacklevel=1)
        warnings.warn("Error of another kind", UserWarning, stacklevel=1)
    assert [str(warning.message) for warning in seen] == ["Error of another kind"]


def test_small_programs_are_cached_too(environment, tmp_path):
    pytest.importorskip("jax")
    environment.pop("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", None)  # set for the tests
    environment["JAX_COMPILATION_CACHE_DIR"] = str(tmp_path)
    local.use_compilation_cache()
    program = "import jax; jax.jit(lambda x: x + 1)(1.0)"
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert [*tmp_path.glob("jit__lambda*")]


def test_the_words_are_those_of_jax():
    """Otherwise the warnings would come back with another version."""
    compiler = pytest.importorskip("jax._src.compiler")
    text = Path(compiler.__file__).read_text(encoding="utf-8")
    for what in ("reading", "writing"):
        assert f'f"Error {what} persistent compilation cache entry for "' in text


def test_warnings_go_to_the_driver_at_once_and_not_to_the_log(tmp_path, monkeypatch, caplog):
    log = logging.getLogger("procurl.somewhere")

    def train(_job, batch, *_):
        log.info("not worth a word")
        log.warning("before %s", "the start")
        progress = Progress(batch, 10, 1.0, 0.5, evaluations=[[]])
        yield progress
        assert ours.poll()  # the progress
        [start, at_10] = [ours.recv(), ours.recv()]
        assert (start.message, start.about, start.step) == ("before the start",) * 2 + (0,)
        assert at_10 == progress
        log.warning("task %d", 3, extra={"about": "tasks"})
        assert ours.poll()  # though there is no new progress
        warning = ours.recv()
        assert warning == Progress(batch, 10, 1.0, 0.5, message="task 3", about="tasks")

    monkeypatch.setattr(local, "train_batch", train)
    ours, theirs = multiprocessing.Pipe()
    local.train_and_send(theirs, tmp_path, None, RunBatch(Contender("iid"), 0, 1), lambda: False)
    assert ours.recv() is None
    assert not caplog.messages
    log.warning("afterwards")
    assert caplog.messages == ["afterwards"]


def test_ctrl_c_says_at_once_what_it_waits_for(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(local.LocalBackend, "stop", lambda _: shown.append(capsys.readouterr().err))
    with pytest.raises(KeyboardInterrupt), local.LocalBackend(0, "cpu", "json"):
        raise KeyboardInterrupt
    with pytest.raises(OSError, match="lost"), local.LocalBackend(0, "cpu", "json"):
        raise OSError("lost")
    assert shown == ["\nstopping, up to 10 s for last checkpoints…\n", ""]


def save_when_stopped(pipe, count, device, preload):
    """Write the file `preload` in place of a last checkpoint."""

    def save(*_):
        Path(preload).touch()
        sys.exit()

    signal.signal(signal.SIGTERM, save)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.GROUP_SIGNALS)
    pipe.send("progress")
    signal.pause()


@pytest.mark.parametrize(
    ("error", "saved"),
    [
        (ValueError("the reward must be finite"), False),
        (OSError("a training process was killed"), True),
        (KeyboardInterrupt(), True),
    ],
)
def test_a_mistake_in_one_run_leaves_no_last_checkpoint_of_another(
    tmp_path, monkeypatch, error, saved
):
    """It would keep the corrected command, which is another experiment, out of the directory."""

    def report(_):
        raise error

    monkeypatch.setattr(local, "serve", save_when_stopped)
    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(type(error)), local.LocalBackend(1, "cpu", str(checkpoint)) as backend:
        backend.run(tmp_path, None, ["batch"], report)
    assert checkpoint.exists() == saved


def make_worker(target, *arguments):
    """A process that runs `target` in place of training, seen from the driver."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(ours, theirs, *arguments))
    process.start()
    theirs.close()
    return local.WorkerProcess(process, ours)


def end_by(ours, theirs, how):
    ours.close()
    os.kill(os.getpid(), how)


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
def test_only_a_process_that_was_killed_outright_may_have_lacked_memory(environment, code, words):
    assert str(local.process_loss(code)).startswith(
        f"a training process {words}; run the same command"
    )


def test_flags_that_xla_may_have_refused_are_named(environment):
    environment["XLA_FLAGS"] = "--nonsense"
    assert "XLA_FLAGS='--nonsense', correct or unset" in str(local.process_loss(1))
    for code in (-signal.SIGKILL, local.STOPPED, None):
        assert "XLA_FLAGS" not in str(local.process_loss(code))


def test_a_device_that_is_not_there_is_reported_with_the_variable(environment, monkeypatch):
    def devices():
        raise RuntimeError("Unable to initialize backend 'tpu'\nmore")

    environment["JAX_PLATFORMS"] = "tpu"
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(devices=devices))
    with pytest.raises(ValueError, match="JAX_PLATFORMS is 'tpu', which JAX cannot use here"):
        local.check_platform()
    del environment["JAX_PLATFORMS"]
    local.check_platform()


def test_a_full_device_is_reported_and_a_bug_keeps_its_traceback():
    full = local.driver_error(RuntimeError("RESOURCE_EXHAUSTED: Out of memory\nmore"))
    assert str(full).startswith("the device ran out of memory (RESOURCE_EXHAUSTED")
    try:
        raise KeyError("odd")
    except KeyError as error:
        bug = local.driver_error(error)
    assert "Traceback" in str(bug)
    assert isinstance(bug, RuntimeError)


def fail(ours, theirs):
    ours.close()
    theirs.send(ImportError("optax is not installed"))


def test_sending_to_a_process_that_failed_raises_its_error():
    worker = make_worker(fail)
    worker.process.join()
    with pytest.raises(ImportError, match="optax is not installed"):
        worker.send("batch")


def test_the_owner_of_a_directory_removes_what_killed_processes_left(tmp_path):
    gone = multiprocessing.get_context("spawn").Process()
    gone.start()
    gone.join()
    models = tmp_path / "runs" / "iid" / "seeds-00000-00001" / "models"
    models.mkdir(parents=True)
    places = (tmp_path, models.parent, models)
    for place in places:
        (place / f".results.sqlite.{gone.pid}.0123abcd").touch()
        (place / f".results.sqlite.{os.getpid()}.0123abcd").touch()
    with local.sole_user(tmp_path):
        for place in places:
            names = [path.name for path in place.glob(".*")]
            assert names == [f".results.sqlite.{os.getpid()}.0123abcd"]
