"""Commands whose output is closed, broken or limited to ASCII, in processes of their own."""

import os
import subprocess
import sys

import pytest

from procurl.records.store import read_store
from tests.experiments.stores import filled

COMPARE = ("compare", "pointmass-s", "--strategies", "iid", "--seeds", "2", "--steps", "2048")


def procurl(*arguments, shell='"$@"', **variables):
    """A finished command; `shell` says what happens to its streams."""
    command = [sys.executable, "-m", "procurl", *map(str, arguments)]
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell, "bash", *command],
        capture_output=True,
        text=True,
        env=os.environ | variables,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("shell", "status", "error"),
    [
        ('"$@" | head -1', 0, ""),
        ('"$@" | true', 0, ""),
        ('"$@" 2>&-', 0, ""),
        ('"$@" >&-', 2, "procurl export: cannot write to standard output: it is closed\n"),
        ('"$@" >/dev/full', 2, "cannot write to standard output: No space left on device\n"),
        ('"$@" >&- 2>&-', 2, ""),
    ],
)
def test_an_export_that_cannot_be_printed_has_the_right_status(tmp_path, shell, status, error):
    filled(tmp_path)
    done = procurl("export", tmp_path, shell=shell)
    assert done.returncode == status
    assert done.stderr.endswith(error)
    assert done.stderr.count("\n") == bool(error)


@pytest.mark.soak
@pytest.mark.parametrize(
    "shell",
    [
        '"$@" 2>&1 | head -1',  # the reader leaves at the first line of progress
        '"$@" 2>/dev/full >/dev/full',
        '"$@" <&- >&- 2>&-',
    ],
)
def test_training_does_not_depend_on_who_reads(tmp_path, shell):
    done = procurl(*COMPARE, "--out", tmp_path, shell=shell)
    assert done.returncode == 0
    assert done.stderr == ""
    assert (tmp_path / "report.html").exists()
    with read_store(tmp_path) as store:
        assert len(store.finished_runs()) == 2


@pytest.mark.parametrize("command", ["envs", "strategies"])
def test_lists_are_printed_in_ascii(command):
    done = procurl(command, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"JAX_PLATFORMS": "tpu"}, "JAX_PLATFORMS is 'tpu', which JAX cannot use here ("),
        pytest.param(
            {"JAX_PLATFORMS": "nonsense"},
            "JAX_PLATFORMS is 'nonsense', which JAX cannot use here (",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            {"XLA_FLAGS": "--nonsense"},
            "XLA_FLAGS='--nonsense', correct or unset this variable;",
            marks=pytest.mark.soak,
        ),
        ({"JAX_ENABLE_X64": "maybe"}, "'JAX_ENABLE_X64'"),
    ],
)
def test_a_variable_that_stops_jax_is_named(tmp_path, variables, message):
    done = procurl(*COMPARE, "--out", tmp_path / "out", **variables)
    assert done.returncode == 2
    *_, error = done.stderr.splitlines()
    assert error.startswith("procurl compare: ")
    assert message in error
    assert "Traceback" not in done.stderr
    assert "memory" not in done.stderr


def test_a_report_needs_no_display(tmp_path):
    filled(tmp_path)
    done = procurl("report", tmp_path, MPLBACKEND="nonsense")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()
