"""Warnings that a training process logs, forwarded to the command that has started it.

A command with several processes shows only one of the warnings that are about the same.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PACKAGE = "procurl"  # whose warnings are forwarded


class _Forwarder(logging.Handler):
    """Calls a function with every warning."""

    def __init__(self, send: Callable[[str, str], None]) -> None:
        super().__init__(logging.WARNING)
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._send(text, getattr(record, "about", text))


@contextmanager
def forward_warnings(send: Callable[[str, str], None]) -> Iterator[None]:
    """Pass on the warnings of this process instead of logging them.

    Args:
        send: called with the text of a warning and what it is about.
    """
    log, handler = logging.getLogger(PACKAGE), _Forwarder(send)
    propagate = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
