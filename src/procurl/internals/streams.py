"""Standard output and error that never stop a command: closed, broken or limited to ASCII."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

# What an encoding without these characters shows in their place.
PLAIN = str.maketrans(
    {"±": "+/-", "–": "-", "−": "-", "…": "...", "·": "-", "×": "x", "→": "->", "’": "'"}
    | {"━": "-", "╸": "-", "╺": "-", "•": "*"}
    | dict(zip("▁▂▃▄▅▆▇█", "_..--==#", strict=True))
)


class SafeStream:
    """A text stream whose writes never raise.

    The first write that fails silences the stream: whatever follows is discarded. Characters that
    its encoding cannot express are replaced.

    Args:
        stream: such as `sys.stderr`, which is None if the process started with it closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.error: OSError | None = None  # of the first write that failed
        if stream is None:
            self.error = OSError("it is closed")

    @property
    def encoding(self) -> str:
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write what the encoding can express."""
        if self._stream is None:
            return len(text)
        try:
            self._stream.write(expressible(text, self.encoding))
        except (OSError, ValueError) as error:
            self._silence(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self._stream is None:
            return
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._silence(error)

    def isatty(self) -> bool:
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:  # it is closed
            return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _silence(self, error: OSError | ValueError) -> None:
        self.error = error if isinstance(error, OSError) else OSError(str(error))
        stream, self._stream = self._stream, None
        # Python flushes the stream once more when it exits, which must not fail either.
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
            os.close(nowhere)


def expressible(text: str, encoding: str) -> str:
    """The text with plain replacements for characters that `encoding` does not have.

    >>> expressible("0.5 ± 0.1", "ascii")
    '0.5 +/- 0.1'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate(PLAIN)
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text


def safe(stream: Any) -> SafeStream:
    """The stream as a SafeStream, unless it is one already."""
    return stream if isinstance(stream, SafeStream) else SafeStream(stream)


@contextmanager
def safe_streams() -> Iterator[tuple[SafeStream, SafeStream]]:
    """Make standard output and standard error safe while the context is open."""
    _fill_closed()
    before = sys.stdout, sys.stderr
    out, err = safe(sys.stdout), safe(sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = before


def _fill_closed() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next file opened would take their number, and libraries that write to standard
    error would write into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
