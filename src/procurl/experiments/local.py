"""Running batches on this machine: one process per core, or one for a GPU."""

import multiprocessing
import os
import queue
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from procurl.experiments.plans import Batch, Experiment

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_outbox: Any = None


def run_local(
    folder: Path,
    experiment: Experiment,
    batches: Sequence[Batch],
    keep_models: bool,
    report: Callable[[Any], None],
) -> None:
    """Train every batch, telling `report` how far each is; raises what went wrong in one."""
    context = multiprocessing.get_context("spawn")
    inbox: Any = context.Queue()
    workers = 1 if has_gpu() else max(1, min(len(batches), len(os.sched_getaffinity(0))))
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(inbox, not has_gpu())
    ) as pool:
        futures = [pool.submit(_work, folder, experiment, batch, keep_models) for batch in batches]
        try:
            for progress in _arriving(inbox, futures):
                report(progress)
            for future in futures:
                future.result()
        except BrokenProcessPool as error:
            raise OSError(
                "a training process was killed, perhaps for lack of memory; "
                "the same command goes on from its last checkpoint"
            ) from error
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def has_gpu() -> bool:
    """Whether JAX would find an NVIDIA GPU; asked without starting JAX, which would take it."""
    plugin = any(find_spec(name) for name in ("jax_cuda12_plugin", "jax_cuda13_plugin"))
    wanted = os.environ.get("JAX_PLATFORMS", "cuda")
    return plugin and "cuda" in wanted and shutil.which("nvidia-smi") is not None


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Hold the directory's lock; raises where another process has it."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OSError(
                f"{folder} is in use by another procurl; wait for it or name another directory"
            ) from error
        yield


def use_compilation_cache() -> None:
    """Let JAX keep compiled programs between processes; call it before JAX is imported."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(root / "procurl" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


def _start_worker(outbox: Any, one_thread: bool) -> None:
    global _outbox
    _outbox = outbox
    if one_thread:  # the same numbers however many cores there are
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()
    use_compilation_cache()


def _work(folder: Path, experiment: Experiment, batch: Batch, keep_models: bool) -> None:
    from procurl.experiments.batch import run_batch

    run_batch(folder, experiment, batch, keep_models, _outbox.put)


def _arriving(inbox: Any, futures: Sequence[Future[None]]) -> Iterator[Any]:
    """What the workers report, until all are done or one has failed."""
    while True:
        finished = all(future.done() for future in futures)
        failed = any(future.done() and future.exception() for future in futures)
        try:
            yield inbox.get(timeout=0.05 if finished or failed else 0.2)
        except queue.Empty:
            if finished or failed:
                return
