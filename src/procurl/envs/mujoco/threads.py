"""Threads that step MuJoCo, and how many of them there are."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from procurl.internals.checks import require_integer
from procurl.internals.hardware import cores

THREADS_VARIABLE = "PROCURL_THREADS"  # environment variable with the default number of threads


def thread_count(threads: int | None) -> int:
    """`threads`, or by default PROCURL_THREADS, or one for every core of this process."""
    if threads is not None:
        require_integer("threads", threads, at_least=1)
        return threads
    if value := os.environ.get(THREADS_VARIABLE):
        if not value.isdecimal() or int(value) < 1:
            raise ValueError(
                f"{THREADS_VARIABLE} must be an integer of at least 1, got {value!r}: it is "
                "the number of threads that step MuJoCo"
            )
        return int(value)
    return cores()


class Threads:
    """Threads that share the rows of a batch, each with its own simulation."""

    def __init__(self, threads: int) -> None:
        self.count = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def share(self, rows: int, work: Callable[[int, Iterator[int]], None]) -> None:
        """Call `work(thread, rows)` in every thread; each row goes to the first free thread.

        The calling thread is one of them, so a single row needs no switch between threads.
        """
        left = iter(range(rows))
        waiting = []
        if self._pool is not None:
            others = range(1, min(self.count, rows))
            waiting = [self._pool.submit(work, thread, left) for thread in others]
        work(0, left)
        for one in waiting:
            one.result()
