"""How many threads step MuJoCo, and the threads themselves."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from procurl.internals.checks import require_whole
from procurl.internals.hardware import cores

THREADS_VARIABLE = "PROCURL_THREADS"  # of the environment: threads where none are asked for


def thread_count(threads: int | None) -> int:
    """`threads`, or what the environment says, or one for every core of this process."""
    if threads is not None:
        require_whole("threads", threads, at_least=1)
        return threads
    if told := os.environ.get(THREADS_VARIABLE):
        if not told.isdecimal() or int(told) < 1:
            raise ValueError(
                f"{THREADS_VARIABLE} must be an integer of at least 1, got {told!r}: it says how "
                "many threads step MuJoCo"
            )
        return int(told)
    return cores()


class Threads:
    """Threads that share the rows of a batch, each with a simulation of its own."""

    def __init__(self, threads: int) -> None:
        self.count = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def share(self, rows: int, work: Callable[[int, Iterator[int]], None]) -> None:
        """Call `work(thread, rows)` in every thread; each row goes to the first that asks for it.

        The calling thread is one of them, so that a single row costs no handing over.
        """
        left = iter(range(rows))
        waiting = []
        if self._pool is not None:
            others = range(1, min(self.count, rows))
            waiting = [self._pool.submit(work, thread, left) for thread in others]
        work(0, left)
        for one in waiting:
            one.result()
