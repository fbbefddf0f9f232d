"""Output that cannot be written never stops what is being done."""

import io
import os
import subprocess
import sys

import pytest

from procurl.internals.streams import SafeStream, expressible, safe, safe_streams


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.5 ± 0.1", "0.5 +/- 0.1"),
        ("seeds 0–7 …", "seeds 0-7 ..."),
        ("a − b", "a - b"),
        ("ü", "\\xfc"),
        ("a\udcff", "a\\udcff"),
        ("plain", "plain"),
    ],
)
def test_ascii_shows_plain_replacements(text, shown):
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    stream = safe(file)
    print(text, file=stream)
    assert file.buffer.getvalue().decode() == f"{shown}\n"
    assert stream.error is None


def test_what_an_encoding_can_express_stays():
    assert expressible("0.5 ± ü", "utf-8") == "0.5 ± ü"
    assert expressible("0.5 ± …", "latin-1") == "0.5 +/- ..."


def broken_pipe():
    """The writing end of a pipe that no one reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def full_disk():
    return open("/dev/full", "w")


@pytest.mark.parametrize(
    ("make", "error"), [(broken_pipe, BrokenPipeError), (full_disk, OSError), (None, OSError)]
)
def test_a_stream_that_fails_falls_silent_and_remembers_why(make, error):
    file = None if make is None else make()
    stream = SafeStream(file)
    for _ in range(3):
        print("line", file=stream, flush=True)
    assert isinstance(stream.error, error)
    assert not stream.isatty()
    if file is not None:
        file.close()  # flushes once more, as Python does when it exits


def test_a_closed_stream_falls_silent():
    file = io.StringIO()
    file.close()
    stream = SafeStream(file)
    print("line", file=stream, flush=True)
    assert "closed" in str(stream.error)


def test_streams_are_made_safe_once_and_given_back():
    before = sys.stdout
    with safe_streams() as (out, _):
        assert sys.stdout is out is safe(sys.stdout)
    assert sys.stdout is before


def test_files_do_not_take_the_place_of_a_closed_stream():
    """A library that writes to standard error would write into them."""
    code = (
        "import os\n"
        "from procurl.internals.streams import safe_streams\n"
        "with safe_streams():\n"
        "    file = os.open(os.devnull, os.O_RDONLY)\n"
        "os._exit(file)"
    )
    script = 'exec "$0" -c "$1" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", script, sys.executable, code])
    assert done.returncode == 3
