"""A comparison without what only Linux and macOS have, or only Linux."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.soak
# Python runs this file at the start of every process, those of a sweep included.
REMOVE = """
import os, signal, subprocess, sys  # subprocess asks msvcrt which system this is
for name in ("SIGHUP", "SIGKILL", "pthread_sigmask"):
    delattr(signal, name)
del os.sched_getaffinity
sys.modules["fcntl"] = None
class Windows:
    LK_NBLCK = 2
    @staticmethod
    def locking(file, mode, count):
        pass
sys.modules["msvcrt"] = Windows
"""


def test_a_comparison_trains_without_them(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(REMOVE)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    options = ["--strategies", "procurl", "--seeds", "1", "--steps", "4096", "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-m", "procurl", "compare", "pointmass-s", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/report.html").exists()
