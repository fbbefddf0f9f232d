"""Contenders of a benchmark as single-threaded processes on one core, which take turns.

A process takes one turn per line of its input and answers with what the turn took. Only one works
at a time. The first turn warms up and compiles.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple, TextIO, TypeVar

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

Process = subprocess.Popen[str]
Turn = Callable[[], int]  # works for a while and says how many steps
Name = TypeVar("Name")


class Seconds(NamedTuple):
    """How long one turn took."""

    steps: int
    processor: float
    clock: float


def start(
    script: str,
    *arguments: str,
    python: str = sys.executable,
    messages: IO[str] | None = None,
) -> Process:
    """A process of `script` with the option `--child`; its errors go to `messages` or are shown."""
    return subprocess.Popen(
        [python, script, "--child", *arguments],
        env=os.environ | ONE_THREAD,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=messages,
        text=True,
    )


def stay_on_one_core() -> None:
    """Call it in a child before any library makes a thread for every core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def output_to_parent() -> TextIO:
    """Where a child's answers go; what libraries print goes to its errors from here on."""
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stream


def serve(make_turn: Callable[[], Turn]) -> None:
    """Take one turn per input line, after a first one."""
    output = output_to_parent()
    turn = make_turn()
    turn()
    print("ready", file=output, flush=True)
    for _ in sys.stdin:
        clock, processor = time.perf_counter(), time.process_time()
        steps = turn()
        took = Seconds(steps, time.process_time() - processor, time.perf_counter() - clock)
        print(json.dumps(took), file=output, flush=True)


def answer(process: Process) -> str:
    """The next line that a child prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("a contender has failed; its message stands above")
    return line


def take_turns(processes: Mapping[Name, Process], rounds: int) -> dict[Name, list[Seconds]]:
    """All turns of every contender, each once per round; the processes end."""
    took: dict[Name, list[Seconds]] = {name: [] for name in processes}
    for _ in range(rounds):
        for name, process in processes.items():
            assert process.stdin is not None
            process.stdin.write("turn\n")
            process.stdin.flush()
            took[name].append(Seconds(*json.loads(answer(process))))
    for process in processes.values():
        process.communicate()
    return took
