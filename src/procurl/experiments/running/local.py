"""Training batches on this machine, in processes that share its cores or its GPU."""

import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, Self

from procurl.envs.mujoco.threads import THREADS_VARIABLE
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.running.batch import Progress, train_batch
from procurl.experiments.running.forwarding import forward_warnings
from procurl.experiments.running.signals import group_signals_blocked, ignore_group_signals
from procurl.experiments.running.slots import Slots
from procurl.internals.files import remove_leftovers, user_cache, write_bytes
from procurl.internals.hardware import cores
from procurl.internals.locks import lock
from procurl.internals.streams import safe

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
STOPPED = 128 + signal.SIGTERM  # exit status of a process that stopped on request
SIGKILL = 9  # which Windows does not have
STOP_SECONDS = 10.0  # given to a process to write its last checkpoint
# What a user corrects. That makes another experiment, to which no last checkpoint would belong.
MISTAKES = (ValueError, TypeError)
CACHE_WARNING = "Error (reading|writing) persistent compilation cache entry"  # of JAX
EXIT_SECONDS = 5.0  # between the end of a process's messages and its exit


class WorkerProcess(NamedTuple):
    """A process that trains one batch after the other."""

    process: Any
    pipe: Connection  # batches go in; progress, None for done, and exceptions come out

    def send(self, message: Any) -> None:
        """Send a message; raises what the process failed with if it is gone."""
        try:
            self.pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            while True:  # until its last message or its end raises
                self.receive()

    def receive(self) -> Any:
        """The next message; raises if it is an exception or the process is gone."""
        try:
            message = self.pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            self.process.join(EXIT_SECONDS)
            raise process_loss(self.process.exitcode) from error
        if isinstance(message, BaseException):
            raise message
        return message


class LocalBackend:
    """Processes on this machine; see `Backend`.

    They start at once and import while the driver reads its files, because starting is slow.

    Args:
        count: number of processes.
        device: `cpu` or `gpu`.
        preload: module for the processes to import while they wait.
    """

    def __init__(self, count: int, device: str, preload: str) -> None:
        self.device = device
        context = multiprocessing.get_context("spawn")
        self._all: list[WorkerProcess] = []
        # Processes inherit the blocked signals, so that none arrives before they ignore them.
        with group_signals_blocked():
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=serve, args=(theirs, count, device, preload))
                process.start()
                theirs.close()
                self._all.append(WorkerProcess(process, ours))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is KeyboardInterrupt:
            limit = f"up to {STOP_SECONDS:.0f} s"
            print(f"\nstopping, {limit} for last checkpoints…", file=safe(sys.stderr), flush=True)
        elif isinstance(error[1], MISTAKES):
            for worker in self._all:
                worker.process.kill()
        self.stop()

    def run(
        self,
        folder: Path,
        job: Job,
        batches: Sequence[RunBatch],
        report: Callable[[Progress], None],
    ) -> None:
        """Train every batch; see `Backend`."""
        waiting = list(batches)
        busy: dict[Any, WorkerProcess] = {}
        for worker in self._all:
            if waiting:
                worker.send((folder, job))
                worker.send(waiting.pop(0))
                busy[worker.pipe] = worker
        while busy:
            for pipe in wait(list(busy)):
                message = busy[pipe].receive()
                if message is not None:
                    report(message)
                elif waiting:
                    busy[pipe].send(waiting.pop(0))
                else:
                    del busy[pipe]

    def stop(self) -> None:
        """End all processes; those that are training write a last checkpoint first."""
        for worker in self._all:
            worker.process.terminate()
        end = time.monotonic() + STOP_SECONDS
        for worker in self._all:
            worker.process.join(max(0.0, end - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Hold the directory's lock; raises OSError if another process has it.

    Temporary files that killed processes left in the directory are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as file:
        try:
            lock(file)
        except OSError as error:
            raise OSError(
                f"{folder} is in use by another procurl; wait for it or choose another directory"
            ) from error
        for place in (folder, *folder.glob("runs/*/*"), *folder.glob("runs/*/*/models")):
            remove_leftovers(place)
        yield


def use_compilation_cache() -> None:
    """Let JAX cache compiled programs on disk; call this before JAX is imported.

    Small ones as well: there are dozens, and compiling them takes most of a second at every start.
    JAX warns of every program that it can neither read nor write there, such as those of another
    kind of processor in a shared home directory. It then compiles the program, so the warnings are
    silenced.
    """
    warnings.filterwarnings("ignore", CACHE_WARNING, UserWarning)
    folder = user_cache("jax")
    if folder is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def prepare_process(one_thread: bool, threads: int) -> None:
    """Set the environment variables that JAX and MuJoCo's environments read.

    Args:
        one_thread: limit JAX to one thread, so that CPU results do not depend on the cores.
        threads: number that step MuJoCo, unless the user has set PROCURL_THREADS.
    """
    if not os.environ.get(THREADS_VARIABLE):
        os.environ[THREADS_VARIABLE] = str(max(1, threads))
    if one_thread and ONE_THREAD not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()
    use_compilation_cache()


def check_platform() -> None:
    """Raise ValueError if JAX is imported and cannot use the device that JAX_PLATFORMS names."""
    jax, platforms = sys.modules.get("jax"), os.environ.get("JAX_PLATFORMS")
    if jax is None or not platforms:
        return
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0] or "the package for it is not installed"
        raise ValueError(
            f"JAX_PLATFORMS is {platforms!r}, which JAX cannot use here ({reason}). Set it to cpu, "
            "or unset it"
        ) from error


def keep_files(folder: Path, slots: Slots, progress: Progress) -> Progress:
    """Write the checkpoint and the models of a batch, and return the rest of its progress."""
    place = folder / progress.batch.folder
    if progress.checkpoint is not None:
        slots.keep(progress.step, progress.checkpoint)
    if progress.models is not None:
        (place / "models").mkdir(parents=True, exist_ok=True)
        for name, content in progress.models.items():
            write_bytes(place / "models" / name, content)
    if progress.finished is not None:
        slots.drop_older()
    return progress._replace(checkpoint=None, models=None)


def process_loss(code: int | None) -> OSError:
    """The error of a process that has ended with this exit code in the middle of its work."""
    if code is None:
        how = "closed its connection"
    elif code == STOPPED:
        how = "was killed (SIGTERM)"
    elif code >= 0:
        how = f"exited with status {code}"
    else:
        how = f"was killed ({signal.Signals(-code).name})"
    flags = os.environ.get("XLA_FLAGS")
    if code == -SIGKILL:
        how += ", perhaps because the machine ran out of memory"
    elif flags and code in (1, -signal.SIGABRT):  # how XLA ends on flags that it does not know
        how += f"; if its last message is about XLA_FLAGS={flags!r}, correct or unset this variable"
    return OSError(
        f"a training process {how}; run the same command to resume from its last checkpoint"
    )


def serve(pipe: Connection, count: int, device: str, preload: str) -> None:
    """Train batches from the pipe in this process, one of `count`, until it is stopped."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    ignore_group_signals()
    if device == "gpu" and count > 1:  # the first would reserve most of its memory
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    prepare_process(one_thread=device == "cpu", threads=cores() // count)
    try:
        import_module(preload)
        check_platform()
        folder, job = pipe.recv()
        while not stopped:
            batch = pipe.recv()
            before = signal.signal(signal.SIGTERM, stop)
            train_and_send(pipe, folder, job, batch, lambda: stopped)
            signal.signal(signal.SIGTERM, before)
    except (EOFError, BrokenPipeError):  # the driver is gone
        return
    except Exception as error:
        pipe.send(driver_error(error))
        return
    if stopped:
        sys.exit(STOPPED)


def driver_error(error: Exception) -> Exception:
    """The error as the driver should raise it."""
    if isinstance(error, ValueError | TypeError | OSError | ImportError):
        return error
    if "RESOURCE_EXHAUSTED" in str(error):
        reason = str(error).partition("\n")[0]
        return OSError(f"the device ran out of memory ({reason}). Use a smaller --width")
    # A bug: the pipe would lose its traceback.
    return RuntimeError("".join(traceback.format_exception(error)))


def train_and_send(
    pipe: Connection,
    folder: Path,
    job: Job,
    batch: RunBatch,
    stopping: Callable[[], bool],
) -> None:
    slots = Slots(folder / batch.folder)
    damaged: list[str] = []
    checkpoint = slots.newest(damaged.append)
    latest = Progress(batch, 0, 0.0, None)

    def send_warning(text: str, about: str) -> None:
        with suppress(BrokenPipeError):  # the next progress raises it
            pipe.send(latest.with_warning(text, about))

    with forward_warnings(send_warning):
        for progress in train_batch(job, batch, checkpoint, stopping):
            latest = progress
            for message in damaged:
                send_warning(message, message)
            damaged.clear()
            pipe.send(keep_files(folder, slots, progress))
    if not stopping():
        pipe.send(None)
