"""A lock on an open file, which the system releases when the file is closed or the process ends."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO


def lock(file: TextIO) -> None:
    """Lock the file; raises OSError if another process has locked it."""
    if find_spec("fcntl") is not None:
        fcntl: Any = import_module("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:  # Windows, which locks bytes: the first one, whether or not it exists
        msvcrt: Any = import_module("msvcrt")
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
