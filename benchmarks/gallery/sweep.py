"""Train all runs in a few processes, one file per run, so that a stopped sweep goes on."""

import json
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from gallery.problem import Run


class Job(NamedTuple):
    """One run."""

    problem: str
    strategy: str
    seed: int

    def file(self, folder: Path) -> Path:
        """Where its results are."""
        return folder / self.problem / f"{self.strategy}-{self.seed}.json"


def train_all(jobs: Sequence[Job], folder: Path, workers: int) -> list[str]:
    """Train the `jobs` that have no file yet, show progress, and return what went wrong."""
    left = [job for job in jobs if not job.file(folder).exists()]
    if len(left) < len(jobs):
        print(f"{len(jobs) - len(left)} of {len(jobs)} runs are in {folder} already", flush=True)
    began, errors = time.monotonic(), []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(train, job): job for job in left}
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                job, error = futures[future], future.exception()
                if error is None:
                    run, seconds = future.result()
                    write_run(job.file(folder), run)
                    result = f"{run.performance[-1]:.2f} in {seconds:.0f} s of CPU time"
                else:
                    result = f"failed: {error!r}"
                    errors.append(f"{job}: {error!r}")
                to_go = (time.monotonic() - began) / done * (len(left) - done) / 60
                print(
                    f"[{done}/{len(left)}, {to_go:.0f} min left] {_name(job)}: {result}", flush=True
                )
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return errors


def train(job: Job) -> tuple[Run, float]:
    """One run and the CPU seconds that it took; called in a worker process."""
    import torch

    from gallery.catalog import PROBLEMS

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("procurl").setLevel(logging.ERROR)
    problem = next(problem for problem in PROBLEMS if problem.name == job.problem)
    began = time.process_time()
    run = problem.train(job.strategy, job.seed)
    return run, time.process_time() - began


def write_run(file: Path, run: Run) -> None:
    """Write the results of a run, all or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(run._asdict()) + "\n")
    part.replace(file)


def read_runs(jobs: Sequence[Job], folder: Path) -> Iterator[tuple[Job, Run]]:
    """The runs that are there."""
    for job in jobs:
        if job.file(folder).exists():
            yield job, Run(**json.loads(job.file(folder).read_text()))


def _name(job: Job) -> str:
    return f"{job.problem}, {job.strategy}, seed {job.seed}"
